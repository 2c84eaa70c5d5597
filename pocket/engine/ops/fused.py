"""Convolution, batch normalisation and ReLU as one operator, which keeps only what cannot be computed again cheaply.

Each agrees with the plain operators it replaces. They normalise, and normalise again in backward, where a kernel reads
the map, so that no normalised map is ever stored: only elementwise work is done twice.
"""

from dataclasses import dataclass

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import of
from pocket.engine.operator import check_channels
from pocket.engine.ops.conv import check_window
from pocket.engine.ops.norm import (
    NO_FLOOR,
    Standardise,
    add_and_spread,
    check_count,
    norm_shapes,
    rows_of,
    scale_and_shift,
    statistics,
)


def _only_training(operator, saved: tuple) -> None:
    if not saved:
        name = type(operator).__name__
        raise ValueError(f"{name} ran backward after an evaluation; wanted forward with training=True")


@dataclass(frozen=True)
class ConvNormReluPool:
    """p = the maximum over 2x2 windows of relu(norm(conv(x) + b)); stride 1, output as large as the input.

    x (N, H, W, inputs) -> p (N, H // 2, W // 2, outputs). Parameters conv.weight (kernel, kernel, inputs, outputs),
    conv.bias, norm.weight, norm.bias; statistics norm.*. In training the normalisation takes the mean away again, so
    conv.bias has gradient 0 (in exact arithmetic; it is left out).
    With `standardise` x is what that operator takes, uint8 pixels, standardised where the convolution reads it.
    Saves x, conv(x), and its mean and rstd. Ioffe & Szegedy 2015; fusion as in A6.
    """

    inputs: int
    outputs: int
    kernel: int = 3
    epsilon: float = 1e-5
    momentum: float | None = 0.1
    input_gradient: bool = True
    standardise: Standardise | None = None

    def __post_init__(self):
        check_window(self, self.kernel)
        if self.kernel % 2 == 0:
            raise ValueError(f"ConvNormReluPool kernel {self.kernel}; wanted an odd one, so that the size stays")
        if self.standardise and self.input_gradient:
            raise ValueError("ConvNormReluPool with standardise and input_gradient: pixels have none; set it to False")
        if self.standardise and len(self.standardise.mean) != self.inputs:
            came = len(self.standardise.mean)
            raise ValueError(
                f"ConvNormReluPool standardise of {came} channels; wanted as many as inputs, {self.inputs}"
            )

    def parameter_shapes(self):
        conv = {"conv.weight": (self.kernel, self.kernel, self.inputs, self.outputs), "conv.bias": (self.outputs,)}
        return {**conv, **norm_shapes(self.outputs, "norm.")[0]}

    def state_shapes(self):
        return norm_shapes(self.outputs, "norm.")[1]

    def _source(self, x, dtype):
        if self.standardise is None:
            return x
        scale, shift = self.standardise.affine(x.shape[2], dtype)
        return of(x).Normalised(x, scale, shift, scale.dtype.type(NO_FLOOR))

    def forward(self, inputs, parameters, state, rng, training):
        x, kernels = of(inputs[0]).contiguous(inputs[0]), of(inputs[0])
        check_channels(self, x, self.inputs, images=True)
        padding = (self.kernel // 2, self.kernel // 2)
        w, b = parameters["conv.weight"], parameters["conv.bias"]
        y, moments = kernels.convolve(self._source(x, w.dtype), w, b, (1, 1), padding, moments=training)
        mean, rstd = statistics(self, y.size // self.outputs, moments, state, "norm.")
        scale, shift = scale_and_shift(mean, rstd, parameters, "norm.")
        p = kernels.normalised_pool(y, scale, shift)
        return p, (x, y, mean, rstd) if training else ()

    def backward(self, dy, saved, parameters, gradients):
        _only_training(self, saved)
        x, y, mean, rstd = saved
        kernels, dp = of(x), of(x).contiguous(dy)
        scale, shift = scale_and_shift(mean, rstd, parameters, "norm.")
        sums = kernels.normalised_pool_sums(y, dp, scale, shift, mean.astype(y.dtype))
        slope, offset = add_and_spread(sums, mean, rstd, parameters, gradients, y.size // self.outputs, "norm.")
        dconv = kernels.GradientOfNormalised(dp, y, scale, shift, slope, offset, kernels.POOLED)
        w, dw, padding = parameters["conv.weight"], gradients["conv.weight"], (self.kernel // 2, self.kernel // 2)
        # dx takes the storage of y image by image, each when it has been read
        into = y if self.input_gradient and self.outputs >= self.inputs else None
        source = self._source(x, w.dtype)
        return (kernels.convolve_gradient(source, dconv, w, (1, 1), padding, dw, self.input_gradient, into=into),)


@dataclass(frozen=True)
class PreActivationBlock:
    """y = conv2(relu(norm2(conv1(a)))) + s, a = relu(norm1(x)), s = shortcut(a) where the shape changes, else x.

    x (N, H, W, inputs) -> y (N, Ho, Wo, outputs), Ho = ceil(H / stride). conv1 (3x3, stride), conv2 (3x3), shortcut
    (1x1, stride), all without bias. Saves x, conv1(a) and the mean and rstd of both: the inputs of its normalisations.
    He et al. 2016, "Identity mappings", figure 4e.
    """

    inputs: int
    outputs: int
    stride: int = 1
    epsilon: float = 1e-5
    momentum: float | None = 0.1

    def __post_init__(self):
        check_window(self, 3, self.stride, 1)

    @property
    def changes_shape(self) -> bool:
        return self.stride != 1 or self.inputs != self.outputs

    def parameter_shapes(self):
        norm1, norm2 = norm_shapes(self.inputs, "norm1.")[0], norm_shapes(self.outputs, "norm2.")[0]
        shapes = {**norm1, "conv1.weight": (3, 3, self.inputs, self.outputs)}
        shapes |= {**norm2, "conv2.weight": (3, 3, self.outputs, self.outputs)}
        return shapes | ({"shortcut.weight": (1, 1, self.inputs, self.outputs)} if self.changes_shape else {})

    def state_shapes(self):
        return {**norm_shapes(self.inputs, "norm1.")[1], **norm_shapes(self.outputs, "norm2.")[1]}

    def forward(self, inputs, parameters, state, rng, training):
        x, kernels = of(inputs[0]).contiguous(inputs[0]), of(inputs[0])
        check_channels(self, x, self.inputs, images=True)
        rows, stride = rows_of(x), (self.stride, self.stride)
        if training:  # before norm1 has counted the batch
            check_count(self, len(x) * -(-x.shape[1] // self.stride) * -(-x.shape[2] // self.stride))
        mean1, rstd1 = statistics(self, len(rows), kernels.moments(rows) if training else None, state, "norm1.")
        a = kernels.Normalised(x, *scale_and_shift(mean1, rstd1, parameters, "norm1."), x.dtype.type(0))
        u, moments = kernels.convolve(a, parameters["conv1.weight"], None, stride, (1, 1), moments=training)
        mean2, rstd2 = statistics(self, u.size // self.outputs, moments, state, "norm2.")
        b = kernels.Normalised(u, *scale_and_shift(mean2, rstd2, parameters, "norm2."), x.dtype.type(0))
        s = kernels.convolve(a, parameters["shortcut.weight"], None, stride, (0, 0))[0] if self.changes_shape else x
        y, _ = kernels.convolve(b, parameters["conv2.weight"], None, (1, 1), (1, 1), residual=s)
        return y, (x, mean1, rstd1, u, mean2, rstd2) if training else ()

    def backward(self, dy, saved, parameters, gradients):
        _only_training(self, saved)
        x, mean1, rstd1, u, mean2, rstd2 = saved
        kernels, dy = of(x), of(x).contiguous(dy)
        one, stride = (1, 1), (self.stride, self.stride)
        a = kernels.Normalised(x, *scale_and_shift(mean1, rstd1, parameters, "norm1."), x.dtype.type(0))
        b = kernels.Normalised(u, *scale_and_shift(mean2, rstd2, parameters, "norm2."), x.dtype.type(0))
        # forward was y = conv2(b) + s: dy goes both ways
        w, dw = parameters["conv2.weight"], gradients["conv2.weight"]
        db, *sums = kernels.convolve_gradient(b, dy, w, one, one, dw, mean=mean2.astype(x.dtype))
        spread = add_and_spread(sums, mean2, rstd2, parameters, gradients, u.size // self.outputs, "norm2.")
        du = kernels.GradientOfNormalised(db, b.x, b.scale, b.shift, *spread, kernels.NORMALISED)
        # forward was u = conv1(a)
        w, dw = parameters["conv1.weight"], gradients["conv1.weight"]
        middle = mean1.astype(x.dtype)
        da, *sums = kernels.convolve_gradient(a, du, w, stride, one, dw, mean=middle)
        if self.changes_shape:
            w, dw = parameters["shortcut.weight"], gradients["shortcut.weight"]
            np.add(da, kernels.convolve_gradient(a, dy, w, stride, (0, 0), dw), out=da)
            sums = kernels.gradient_sums(rows_of(x), rows_of(da), a.scale, a.shift, middle, 0.0)
        spread = add_and_spread(sums, mean1, rstd1, parameters, gradients, x.size // self.inputs, "norm1.")
        kernels.input_gradient(rows_of(x), rows_of(da), a.scale, a.shift, *spread, 0.0)
        if not self.changes_shape:
            np.add(da, dy, out=da)
        return (da,)


@dataclass(frozen=True)
class NormReluMean:
    """y = mean over H and W of relu(norm(x)). x (N, H, W, C) -> y (N, C).

    Parameters weight and bias (C,), statistics as BatchNorm's. Saves x, mean and rstd.
    """

    channels: int
    epsilon: float = 1e-5
    momentum: float | None = 0.1

    def parameter_shapes(self):
        return norm_shapes(self.channels)[0]

    def state_shapes(self):
        return norm_shapes(self.channels)[1]

    def forward(self, inputs, parameters, state, rng, training):
        x, kernels = of(inputs[0]).contiguous(inputs[0]), of(inputs[0])
        check_channels(self, x, self.channels, images=True)
        rows = rows_of(x)
        mean, rstd = statistics(self, len(rows), kernels.moments(rows) if training else None, state)
        scale, shift = scale_and_shift(mean, rstd, parameters)
        y = memory.empty((len(x), self.channels), x.dtype)
        normalised = memory.empty(x.shape, x.dtype)
        kernels.scale_shift(rows, scale, shift, 0.0, normalised.reshape(rows.shape))
        np.add.reduce(normalised.reshape(len(x), x.shape[1] * x.shape[2], self.channels), axis=1, out=y)
        np.multiply(y, 1 / (x.shape[1] * x.shape[2]), out=y)
        return y, (x, mean, rstd) if training else ()

    def backward(self, dy, saved, parameters, gradients):
        _only_training(self, saved)
        x, mean, rstd = saved
        kernels, rows = of(x), rows_of(x)
        scale, shift = scale_and_shift(mean, rstd, parameters)
        da = memory.empty(x.shape, dy.dtype)
        np.multiply(dy[:, None, None, :], 1 / (x.shape[1] * x.shape[2]), out=da)
        da = rows_of(da)
        sums = kernels.gradient_sums(rows, da, scale, shift, mean.astype(x.dtype), 0.0)
        spread = add_and_spread(sums, mean, rstd, parameters, gradients, len(rows))
        kernels.input_gradient(rows, da, scale, shift, *spread, 0.0)
        return (da.reshape(x.shape),)
