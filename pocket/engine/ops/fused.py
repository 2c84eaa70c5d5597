"""Convolution, batch normalisation and ReLU as one operator, which keeps only what cannot be computed again cheaply.

Each agrees with the plain operators it replaces. They normalise, and normalise again in backward, where a kernel reads
the map, so that no normalised map is ever stored: only elementwise work is done twice.
"""

from dataclasses import dataclass

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import of
from pocket.engine.ops.norm import add_and_spread, count_batch, rows_of, scale_and_shift


def _only_training(operator, saved: tuple) -> None:
    if not saved:
        raise ValueError(
            f"{type(operator).__name__} ran backward after an evaluation; wanted forward with training=True"
        )


def _prefixed(mapping, prefix: str):
    """The part of a mapping whose names begin with `prefix.`, without it."""
    return {name.removeprefix(prefix + "."): value for name, value in mapping.items() if name.startswith(prefix + ".")}


@dataclass(frozen=True)
class _Norm:
    """The constants of one batch normalisation inside a fused operator, and its statistics."""

    epsilon: float
    momentum: float | None = 0.1

    def affine(self, count: int, moments, parameters, state, training: bool):
        """(mean, rstd, scale, shift) from the batch's moments, counted into the state, or from the running ones."""
        if training and count:
            mean, var = moments
            count_batch(count, self, mean, var, state)
        else:
            mean, var = state["running_mean"].copy(), state["running_var"]
        rstd = 1 / np.sqrt(np.asarray(var, np.float64) + self.epsilon)
        return mean, rstd, *scale_and_shift(mean, rstd, parameters["weight"], parameters["bias"])


def _norm_shapes(name: str, channels: int):
    parameters = {f"{name}.weight": (channels,), f"{name}.bias": (channels,)}
    state = {f"{name}.running_mean": (channels,), f"{name}.running_var": (channels,), f"{name}.num_batches_tracked": ()}
    return parameters, state


@dataclass(frozen=True)
class ConvNormReluPool:
    """p = the maximum over 2x2 windows of relu(norm(conv(x) + b)); stride 1, output as large as the input.

    x (N, H, W, inputs) -> p (N, H // 2, W // 2, outputs). Parameters conv.weight (kernel, kernel, inputs, outputs),
    conv.bias, norm.weight, norm.bias; statistics norm.*. In training the normalisation takes the mean away again, so
    conv.bias has gradient 0 (in exact arithmetic; it is left out).
    Saves x, conv(x), and its mean and rstd. Ioffe & Szegedy 2015; fusion as in A6.
    """

    inputs: int
    outputs: int
    kernel: int = 3
    epsilon: float = 1e-5
    momentum: float | None = 0.1
    input_gradient: bool = True

    def __post_init__(self):
        if self.kernel % 2 == 0:
            raise ValueError(f"ConvNormReluPool kernel {self.kernel}; wanted an odd one, so that the size stays")

    def parameter_shapes(self):
        conv = {"conv.weight": (self.kernel, self.kernel, self.inputs, self.outputs), "conv.bias": (self.outputs,)}
        return {**conv, **_norm_shapes("norm", self.outputs)[0]}

    def state_shapes(self):
        return _norm_shapes("norm", self.outputs)[1]

    def forward(self, inputs, parameters, state, rng, training):
        x, kernels = of(inputs[0]).contiguous(inputs[0]), of(inputs[0])
        padding = (self.kernel // 2, self.kernel // 2)
        w, b = parameters["conv.weight"], parameters["conv.bias"]
        y, moments = kernels.convolve(x, w, b, (1, 1), padding, moments=training)
        norm = _Norm(self.epsilon, self.momentum)
        count = y.size // self.outputs
        weight_bias, statistics = _prefixed(parameters, "norm"), _prefixed(state, "norm")
        mean, rstd, scale, shift = norm.affine(count, moments, weight_bias, statistics, training)
        p = kernels.normalised_pool(y, scale, shift)
        return p, (x, y, mean, rstd) if training else ()

    def backward(self, dy, saved, parameters, gradients):
        _only_training(self, saved)
        x, y, mean, rstd = saved
        kernels, dp = of(x), of(x).contiguous(dy)
        gamma, beta = parameters["norm.weight"], parameters["norm.bias"]
        scale, shift = scale_and_shift(mean, rstd, gamma, beta)
        sums = kernels.normalised_pool_sums(y, dp, scale, shift, mean.astype(x.dtype))
        names = ("norm.weight", "norm.bias")
        slope, offset = add_and_spread(sums, mean, rstd, parameters, gradients, y.size // self.outputs, names)
        dconv = kernels.GradientOfNormalised(dp, y, scale, shift, slope, offset, kernels.POOLED)
        w, dw, padding = parameters["conv.weight"], gradients["conv.weight"], (self.kernel // 2, self.kernel // 2)
        # dx takes the storage of y image by image, each when it has been read
        into = y if self.input_gradient and self.outputs >= self.inputs else None
        return (kernels.convolve_gradient(x, dconv, w, (1, 1), padding, dw, self.input_gradient, into=into),)


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

    @property
    def changes_shape(self) -> bool:
        return self.stride != 1 or self.inputs != self.outputs

    def parameter_shapes(self):
        norm1, norm2 = _norm_shapes("norm1", self.inputs)[0], _norm_shapes("norm2", self.outputs)[0]
        shapes = {**norm1, "conv1.weight": (3, 3, self.inputs, self.outputs)}
        shapes |= {**norm2, "conv2.weight": (3, 3, self.outputs, self.outputs)}
        return shapes | ({"shortcut.weight": (1, 1, self.inputs, self.outputs)} if self.changes_shape else {})

    def state_shapes(self):
        return {**_norm_shapes("norm1", self.inputs)[1], **_norm_shapes("norm2", self.outputs)[1]}

    def forward(self, inputs, parameters, state, rng, training):
        x, kernels = of(inputs[0]).contiguous(inputs[0]), of(inputs[0])
        stride, norm = (self.stride, self.stride), _Norm(self.epsilon, self.momentum)
        rows = rows_of(x)
        moments = kernels.moments(rows) if training else None
        weight_bias, statistics = _prefixed(parameters, "norm1"), _prefixed(state, "norm1")
        mean1, rstd1, *affine1 = norm.affine(len(rows), moments, weight_bias, statistics, training)
        a = kernels.Normalised(x, *affine1)
        u, moments = kernels.convolve(a, parameters["conv1.weight"], None, stride, (1, 1), moments=training)
        weight_bias, statistics = _prefixed(parameters, "norm2"), _prefixed(state, "norm2")
        mean2, rstd2, *affine2 = norm.affine(u.size // self.outputs, moments, weight_bias, statistics, training)
        s = kernels.convolve(a, parameters["shortcut.weight"], None, stride, (0, 0))[0] if self.changes_shape else x
        b = kernels.Normalised(u, *affine2)
        y, _ = kernels.convolve(b, parameters["conv2.weight"], None, (1, 1), (1, 1), residual=s)
        return y, (x, mean1, rstd1, u, mean2, rstd2) if training else ()

    def backward(self, dy, saved, parameters, gradients):
        _only_training(self, saved)
        x, mean1, rstd1, u, mean2, rstd2 = saved
        kernels, dy = of(x), of(x).contiguous(dy)
        one, stride = (1, 1), (self.stride, self.stride)
        a = kernels.Normalised(x, *scale_and_shift(mean1, rstd1, *_affine(parameters, "norm1")))
        b = kernels.Normalised(u, *scale_and_shift(mean2, rstd2, *_affine(parameters, "norm2")))
        # forward was y = conv2(b) + s: dy goes both ways
        w, dw = parameters["conv2.weight"], gradients["conv2.weight"]
        db, *sums = kernels.convolve_gradient(b, dy, w, one, one, dw, mean=mean2.astype(x.dtype))
        names = ("norm2.weight", "norm2.bias")
        spread = add_and_spread(sums, mean2, rstd2, parameters, gradients, u.size // self.outputs, names)
        du = kernels.GradientOfNormalised(db, b.x, b.scale, b.shift, *spread, kernels.NORMALISED)
        # forward was u = conv1(a)
        w, dw = parameters["conv1.weight"], gradients["conv1.weight"]
        middle = mean1.astype(x.dtype)
        da, *sums = kernels.convolve_gradient(a, du, w, stride, one, dw, mean=middle)
        if self.changes_shape:
            w, dw = parameters["shortcut.weight"], gradients["shortcut.weight"]
            np.add(da, kernels.convolve_gradient(a, dy, w, stride, (0, 0), dw), out=da)
            sums = kernels.gradient_sums(rows_of(x), rows_of(da), a.scale, a.shift, middle, 0.0)
        names = ("norm1.weight", "norm1.bias")
        spread = add_and_spread(sums, mean1, rstd1, parameters, gradients, x.size // self.inputs, names)
        kernels.input_gradient(rows_of(x), rows_of(da), a.scale, a.shift, *spread, 0.0)
        if not self.changes_shape:
            np.add(da, dy, out=da)
        return (da,)


def _affine(parameters, norm: str):
    return parameters[f"{norm}.weight"], parameters[f"{norm}.bias"]


@dataclass(frozen=True)
class NormReluMean:
    """y = mean over H and W of relu(norm(x)). x (N, H, W, C) -> y (N, C).

    Parameters weight and bias (C,), statistics as BatchNorm's. Saves x, mean and rstd.
    """

    channels: int
    epsilon: float = 1e-5
    momentum: float | None = 0.1

    def parameter_shapes(self):
        return {"weight": (self.channels,), "bias": (self.channels,)}

    def state_shapes(self):
        return {"running_mean": (self.channels,), "running_var": (self.channels,), "num_batches_tracked": ()}

    def forward(self, inputs, parameters, state, rng, training):
        x, kernels = of(inputs[0]).contiguous(inputs[0]), of(inputs[0])
        rows = rows_of(x)
        moments = kernels.moments(rows) if training else None
        norm = _Norm(self.epsilon, self.momentum)
        mean, rstd, scale, shift = norm.affine(len(rows), moments, parameters, state, training)
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
        scale, shift = scale_and_shift(mean, rstd, parameters["weight"], parameters["bias"])
        da = memory.empty(x.shape, dy.dtype)
        np.multiply(dy[:, None, None, :], 1 / (x.shape[1] * x.shape[2]), out=da)
        da = rows_of(da)
        sums = kernels.gradient_sums(rows, da, scale, shift, mean.astype(x.dtype), 0.0)
        spread = add_and_spread(sums, mean, rstd, parameters, gradients, len(rows))
        kernels.input_gradient(rows, da, scale, shift, *spread, 0.0)
        return (da.reshape(x.shape),)
