"""Pooling: maxima, averages, and the average over a whole image.

A window's places are taken one after the other, each for all windows at once: place (i, j) of every window is one
strided view of the padded image.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pocket.engine import memory
from pocket.engine.operator import Parameterless
from pocket.engine.ops.conv import Pair, check_window, pair


def pooled_size(side: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> int:
    """Windows along one side. With ceil_mode a last one may stick out, but starts inside the image or left border."""
    reach = side + 2 * padding - kernel
    if not ceil_mode:
        return reach // stride + 1
    count = -(-reach // stride) + 1
    return count - 1 if (count - 1) * stride >= side + padding else count


class _Window(Parameterless):
    """What MaxPool2d and AvgPool2d share: a checked window, and its places in a padded image."""

    kernel: Pair
    stride: Pair | None
    padding: Pair
    ceil_mode = False

    def __post_init__(self):
        (kernel_h, kernel_w), (pad_h, pad_w) = pair(self.kernel), pair(self.padding)
        name, kernel = type(self).__name__, self.kernel
        check_window(self, kernel, kernel if self.stride is None else self.stride, self.padding)
        if pad_h > kernel_h // 2 or pad_w > kernel_w // 2:
            raise ValueError(f"{name} padding {self.padding}; wanted at most half of kernel {kernel}")
        if kernel_h * kernel_w > 255:
            raise ValueError(f"{name} kernel {kernel}; wanted fewer than 256 places, which are kept in a byte each")

    def output(self, shape) -> tuple[int, int]:
        """Rows and columns of windows; ValueError when the image holds none."""
        steps = pair(self.kernel if self.stride is None else self.stride)
        sides = zip(shape[1:3], pair(self.kernel), steps, pair(self.padding), strict=True)
        rows, columns = (pooled_size(*side, self.ceil_mode) for side in sides)
        if min(rows, columns) < 1:
            name = type(self).__name__
            raise ValueError(f"{name} {self.kernel} got images {shape}; wanted larger ones; raise the resolution")
        return rows, columns

    def padded(self, shape, fill: float, dtype):
        """(an image batch with its border and what windows that stick out reach, all `fill`; the view without them)."""
        (kernel_h, kernel_w), (pad_h, pad_w) = pair(self.kernel), pair(self.padding)
        N, H, W, C = shape
        padded = memory.empty((N, H + pad_h + kernel_h, W + pad_w + kernel_w, C), dtype)
        padded.fill(fill)
        return padded, padded[:, pad_h : pad_h + H, pad_w : pad_w + W]

    def places(self, padded, size: tuple[int, int]) -> Iterator[np.ndarray]:
        """For each place of the window, row by row, its values in all windows (N, *size, C): a view."""
        s_h, s_w = pair(self.kernel if self.stride is None else self.stride)
        for i, j in np.ndindex(pair(self.kernel)):
            yield padded[:, i : i + size[0] * s_h : s_h, j : j + size[1] * s_w : s_w][:, : size[0], : size[1]]


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
        (x,) = inputs
        padded, inside = self.padded(x.shape, -np.inf, x.dtype)
        np.copyto(inside, x)
        size = self.output(x.shape)
        y, place = (memory.empty((len(x), *size, x.shape[3]), dtype) for dtype in (x.dtype, np.uint8))
        wins, number_there = memory.empty(y.shape, np.bool_), memory.empty(y.shape, np.bool_)
        y.fill(-np.inf)
        place.fill(255)
        for number, values in enumerate(self.places(padded, size)):
            # not "values > y": a nan wins, and nothing wins over it afterwards
            np.less_equal(values, y, out=wins)
            np.logical_not(wins, out=wins)
            np.equal(y, y, out=number_there)
            np.logical_and(wins, number_there, out=wins)
            np.copyto(place, number, where=wins)
            np.maximum(y, values, out=y)
        return y, (place, x.shape)

    def backward(self, dy, saved, parameters, gradients):
        place, shape = saved
        padded, inside = self.padded(shape, 0, dy.dtype)
        here = memory.empty(dy.shape, np.bool_)
        for number, values in enumerate(self.places(padded, dy.shape[1:3])):
            np.equal(place, number, out=here)
            np.add(values, dy, out=values, where=here)
        return (inside,)


@dataclass(frozen=True)
class AvgPool2d(_Window):
    """y = the average over each window, zeros of the padding counted.

    x (N, H, W, C) -> y (N, Ho, Wo, C). dx: each dy spread evenly over its window. Saves the shape of x.
    """

    kernel: Pair
    stride: Pair | None = None
    padding: Pair = 0

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        padded, inside = self.padded(x.shape, 0, x.dtype)
        np.copyto(inside, x)
        size = self.output(x.shape)
        y = memory.zeros((len(x), *size, x.shape[3]), x.dtype)
        for values in self.places(padded, size):
            np.add(y, values, out=y)
        np.multiply(y, 1 / np.prod(pair(self.kernel)).item(), out=y)
        return y, (x.shape,)

    def backward(self, dy, saved, parameters, gradients):
        (shape,) = saved
        padded, inside = self.padded(shape, 0, dy.dtype)
        np.multiply(dy, 1 / np.prod(pair(self.kernel)).item(), out=dy)
        for values in self.places(padded, dy.shape[1:3]):
            np.add(values, dy, out=values)
        return (inside,)


@dataclass(frozen=True)
class GlobalAvgPool(Parameterless):
    """y = mean of x over H and W. x (N, H, W, C) -> y (N, C); dx = dy / (H W) at every place. Saves the shape of x."""

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        y = memory.empty((x.shape[0], x.shape[3]), x.dtype)
        np.add.reduce(x.reshape(len(x), x.shape[1] * x.shape[2], x.shape[3]), axis=1, out=y)
        np.multiply(y, 1 / (x.shape[1] * x.shape[2]), out=y)
        return y, (x.shape,)

    def backward(self, dy, saved, parameters, gradients):
        (shape,) = saved
        dx = memory.empty(shape, dy.dtype)
        np.multiply(dy[:, None, None, :], 1 / (shape[1] * shape[2]), out=dx)
        return (dx,)
