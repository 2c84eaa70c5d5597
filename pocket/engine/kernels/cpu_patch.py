"""Convolution by patch matrices (im2col), a few output rows of one image at a time, with NumPy alone.

The patch matrix of a strip is copied out of the padded image and multiplied by the weights; it is never that of a whole
batch. `cpu_convolution` computes the same without copying patches.
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pocket.engine import memory

STRIP_BYTES = 512 * 1024


def output_size(H: int, W: int, kernel, stride, padding) -> tuple[int, int]:
    """Rows and columns of a convolution's output; a remainder of the stride is cut off."""
    return (H + 2 * padding[0] - kernel[0]) // stride[0] + 1, (W + 2 * padding[1] - kernel[1]) // stride[1] + 1


def _rows_of_a_strip(Wo: int, w: np.ndarray, itemsize: int) -> int:
    return max(1, STRIP_BYTES // (Wo * w.shape[0] * w.shape[1] * w.shape[2] * itemsize))


class Strips:
    """The padded image and, one after the other, its patches for groups of channels and strips of output rows."""

    def __init__(self, x, w, stride, padding):
        (_, H, W, C), (kernel_h, kernel_w, self.inputs, outputs) = x.shape, w.shape
        self.Ho, self.Wo = output_size(H, W, w.shape[:2], stride, padding)
        self.groups = C // self.inputs
        self.outputs = outputs // self.groups
        self.rows = _rows_of_a_strip(self.Wo, w, x.itemsize)
        self.padded = memory.zeros((H + 2 * padding[0], W + 2 * padding[1], C), x.dtype)
        self.image = self.padded[padding[0] : padding[0] + H, padding[1] : padding[1] + W]
        h, v, c = self.padded.strides
        shape = (self.Ho, self.Wo, kernel_h, kernel_w, C)
        self.windows = as_strided(self.padded, shape, (h * stride[0], v * stride[1], h, v, c))
        self.room = memory.empty((self.rows * self.Wo, kernel_h * kernel_w * self.inputs), x.dtype)

    def __iter__(self):
        """(windows, patches to fill or read, output rows, output channels) of each strip."""
        for group in range(self.groups):
            inputs = slice(group * self.inputs, (group + 1) * self.inputs)
            for y in range(0, self.Ho, self.rows):
                rows = slice(y, min(y + self.rows, self.Ho))
                windows = self.windows[rows, ..., inputs]
                patches = self.room[: windows.shape[0] * self.Wo]
                yield windows, patches, rows, slice(group * self.outputs, (group + 1) * self.outputs)


def patch_convolution(x, w, bias, stride, padding) -> np.ndarray:
    """y (N, Ho, Wo, Co) of x (N, H, W, C) and w (kernel_h, kernel_w, C / groups, Co)."""
    strips = Strips(x, w, stride, padding)
    y = memory.empty((len(x), strips.Ho, strips.Wo, w.shape[3]), x.dtype)
    for n in range(len(x)):
        np.copyto(strips.image, x[n])
        for windows, patches, rows, outputs in strips:
            np.copyto(patches.reshape(windows.shape), windows)
            product = y[n, rows].reshape(-1, w.shape[3])[:, outputs]
            np.matmul(patches, w[..., outputs].reshape(-1, strips.outputs), out=product)
    if bias is not None:
        np.add(y, bias, out=y)
    return y


def patch_convolution_gradient(x, dy, w, stride, padding, dw, want_dx: bool):
    """Adds to dw; returns dx (N, H, W, C) or None."""
    strips = Strips(x, w, stride, padding)
    part = memory.empty((strips.room.shape[1], strips.outputs), w.dtype)
    dx = memory.empty(x.shape, x.dtype) if want_dx else None
    for n in range(len(x)):
        np.copyto(strips.image, x[n])
        for windows, patches, rows, outputs in strips:
            np.copyto(patches.reshape(windows.shape), windows)
            np.matmul(patches.T, dy[n, rows].reshape(-1, w.shape[3])[:, outputs], out=part)
            mine = dw[..., outputs]
            np.add(mine, part.reshape(mine.shape), out=mine)
        if dx is None:
            continue
        # forward was patches @ w, so each window of the padded image receives its part of dy @ w.T
        strips.padded.fill(0)
        for windows, patches, rows, outputs in strips:
            dy_rows = dy[n, rows].reshape(-1, w.shape[3])[:, outputs]
            np.matmul(dy_rows, w[..., outputs].reshape(-1, strips.outputs).T, out=patches)
            for i, j in np.ndindex(w.shape[:2]):  # windows overlap each other, but not at one place of the kernel
                np.add(windows[:, :, i, j], patches.reshape(windows.shape)[:, :, i, j], out=windows[:, :, i, j])
        np.copyto(dx[n], strips.image)
        strips.padded.fill(0)
    return dx
