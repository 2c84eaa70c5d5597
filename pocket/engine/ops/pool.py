"""Pooling: maxima, averages, and the average over a whole image."""

from dataclasses import dataclass

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import of
from pocket.engine.ops.conv import Pair, pair


def pooled_size(side: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> int:
    """Windows along one side. With ceil_mode a last one may stick out, but starts inside the image or left border."""
    reach = side + 2 * padding - kernel
    if not ceil_mode:
        return reach // stride + 1
    count = -(-reach // stride) + 1
    return count - 1 if (count - 1) * stride >= side + padding else count


class _Window:
    """What MaxPool2d and AvgPool2d share: a checked window."""

    kernel: Pair
    stride: Pair | None
    padding: Pair

    def __post_init__(self):
        (kernel_h, kernel_w), (pad_h, pad_w) = pair(self.kernel), pair(self.padding)
        if pad_h > kernel_h // 2 or pad_w > kernel_w // 2:
            raise ValueError(
                f"{type(self).__name__} padding {self.padding}; wanted at most half of kernel {self.kernel}"
            )
        if kernel_h * kernel_w > 256:
            raise ValueError(
                f"{type(self).__name__} kernel {self.kernel}; wanted at most 256 places, kept in a byte each"
            )

    def parameter_shapes(self):
        return {}

    def state_shapes(self):
        return {}

    def window(self):
        """(kernel, stride, padding), a pair each."""
        return pair(self.kernel), pair(self.kernel if self.stride is None else self.stride), pair(self.padding)

    def output(self, x, ceil_mode: bool) -> tuple[int, ...]:
        """Rows and columns of windows; ValueError when the image holds none."""
        sides = tuple(
            pooled_size(side, k, s, p, ceil_mode) for side, k, s, p in zip(x.shape[1:3], *self.window(), strict=True)
        )
        if min(sides) < 1:
            raise ValueError(f"{type(self).__name__} {self.kernel} got images {x.shape}; wanted a larger resolution")
        return sides


@dataclass(frozen=True)
class MaxPool2d(_Window):
    """y = the maximum over each window; the first of equal ones, a nan over all. Padding never wins.

    x (N, H, W, C) -> y (N, Ho, Wo, C). dx: each dy to the place of its maximum, added where windows overlap.
    Saves that place, one byte a value, and the shape of x.
    """

    kernel: Pair
    stride: Pair | None = None
    padding: Pair = 0
    ceil_mode: bool = False

    def forward(self, inputs, parameters, state, rng, training):
        x = of(inputs[0]).contiguous(inputs[0])
        y, place = of(x).max_pool(x, *self.window(), self.output(x, self.ceil_mode))
        return y, (place, x.shape)

    def backward(self, dy, saved, parameters, gradients):
        place, shape = saved
        return (of(dy).max_pool_gradient(of(dy).contiguous(dy), place, *self.window(), shape),)


@dataclass(frozen=True)
class AvgPool2d(_Window):
    """y = the average over each window, zeros of the padding counted.

    x (N, H, W, C) -> y (N, Ho, Wo, C). dx: each dy spread evenly over its window. Saves the shape of x.
    """

    kernel: Pair
    stride: Pair | None = None
    padding: Pair = 0

    def forward(self, inputs, parameters, state, rng, training):
        x = of(inputs[0]).contiguous(inputs[0])
        return of(x).average_pool(x, *self.window(), self.output(x, False)), (x.shape,)

    def backward(self, dy, saved, parameters, gradients):
        (shape,) = saved
        return (of(dy).average_pool_gradient(of(dy).contiguous(dy), *self.window(), shape),)


@dataclass(frozen=True)
class GlobalAvgPool:
    """y = mean of x over H and W. x (N, H, W, C) -> y (N, C); dx = dy / (H W) at every place. Saves the shape of x."""

    def parameter_shapes(self):
        return {}

    def state_shapes(self):
        return {}

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        y = memory.empty((x.shape[0], x.shape[3]), x.dtype)
        np.add.reduce(x.reshape(len(x), -1, x.shape[3]), axis=1, out=y)
        np.multiply(y, 1 / (x.shape[1] * x.shape[2]), out=y)
        return y, (x.shape,)

    def backward(self, dy, saved, parameters, gradients):
        (shape,) = saved
        dx = memory.empty(shape, dy.dtype)
        np.multiply(dy[:, None, None, :], 1 / (shape[1] * shape[2]), out=dx)
        return (dx,)
