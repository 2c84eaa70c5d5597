"""Convolution by patch matrices (im2col), a few output rows of one image at a time: any stride, padding and groups.

NumPy alone. The patch matrix of a strip is copied out of the padded image and multiplied by the weights; it never
exceeds a cache, let alone the batch. `cpu_convolution` computes the same without copying patches.
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pocket.engine import memory
from pocket.engine.kernels import threads

STRIP_BYTES = 512 * 1024


def output_size(H: int, W: int, kernel, stride, padding) -> tuple[int, int]:
    """Rows and columns of a convolution's output; a remainder of the stride is cut off."""
    return (H + 2 * padding[0] - kernel[0]) // stride[0] + 1, (W + 2 * padding[1] - kernel[1]) // stride[1] + 1


class Strips:
    """One image's padded copy and one strip's patches, for each thread."""

    def __init__(self, x, w, stride, padding):
        self.N, self.H, self.W, self.C = x.shape
        self.kernel, self.stride, self.padding, self.dtype = w.shape[:2], stride, padding, x.dtype
        self.groups = self.C // w.shape[2]
        self.Ho, self.Wo = output_size(self.H, self.W, self.kernel, stride, padding)
        patch = self.kernel[0] * self.kernel[1] * w.shape[2]
        self.rows = max(1, STRIP_BYTES // (self.Wo * patch * x.dtype.itemsize))
        pad_h, pad_w = padding
        T = threads.count()
        self.padded = memory.zeros((T, self.H + 2 * pad_h, self.W + 2 * pad_w, self.C), x.dtype)
        self.patches = memory.empty((T, self.rows * self.Wo, patch), x.dtype)
        self.products = memory.empty((T, self.rows * self.Wo, patch), x.dtype)

    def inside(self, thread: int):
        """The part of the padded image that is the image."""
        (pad_h, pad_w), padded = self.padding, self.padded[thread]
        return padded[pad_h : pad_h + self.H, pad_w : pad_w + self.W]

    def windows(self, thread: int, y0: int, y1: int, group: int):
        """View of the padded image (rows, Wo, kernel_h, kernel_w, C / groups) for output rows y0..y1."""
        padded, (kernel_h, kernel_w), (stride_h, stride_w) = self.padded[thread], self.kernel, self.stride
        C = self.C // self.groups
        h, w, c = padded.strides
        first = padded[y0 * stride_h :, :, group * C :]
        shape = (y1 - y0, self.Wo, kernel_h, kernel_w, C)
        return as_strided(first, shape, (h * stride_h, w * stride_w, h, w, c))

    def fill(self, thread: int, y0: int, y1: int, group: int):
        """The patch matrix of the strip, (rows * Wo, kernel_h * kernel_w * C / groups)."""
        windows = self.windows(thread, y0, y1, group)
        patches = self.patches[thread, : (y1 - y0) * self.Wo]
        np.copyto(patches.reshape(windows.shape), windows)
        return patches

    def __iter__(self):
        for group in range(self.groups):
            for y0 in range(0, self.Ho, self.rows):
                yield group, y0, min(y0 + self.rows, self.Ho)


def patch_convolution(x, w, bias, stride, padding) -> np.ndarray:
    """y (N, Ho, Wo, Co) of x (N, H, W, C) and w (kernel_h, kernel_w, C / groups, Co)."""
    strips = Strips(x, w, stride, padding)
    Co = w.shape[3] // strips.groups
    y = memory.empty((strips.N, strips.Ho, strips.Wo, w.shape[3]), x.dtype)

    def images(first, last, thread):
        for n in range(first, last):
            np.copyto(strips.inside(thread), x[n])
            for group, y0, y1 in strips:
                patches = strips.fill(thread, y0, y1, group)
                mine = slice(group * Co, (group + 1) * Co)
                rows = y[n, y0:y1].reshape(-1, w.shape[3])[:, mine]
                np.matmul(patches, w[..., mine].reshape(-1, Co), out=rows)
            if bias is not None:
                np.add(y[n], bias, out=y[n])

    threads.over(strips.N, images)
    return y


def patch_convolution_gradient(x, dy, w, stride, padding, dw, want_dx: bool):
    """Adds to dw; returns dx (N, H, W, C) or None."""
    strips = Strips(x, w, stride, padding)
    Co = w.shape[3] // strips.groups
    parts = memory.zeros((threads.count(), *w.shape), w.dtype)
    product = memory.empty((threads.count(), parts[0].size // w.shape[3], Co), w.dtype)
    dx = memory.empty(x.shape, x.dtype) if want_dx else None

    def images(first, last, thread):
        for n in range(first, last):
            inside = strips.inside(thread)
            np.copyto(inside, x[n])
            for group, y0, y1 in strips:
                mine = slice(group * Co, (group + 1) * Co)
                patches, rows = strips.fill(thread, y0, y1, group), _rows(dy, n, y0, y1)[:, mine]
                part = parts[thread].reshape(-1, w.shape[3])[:, mine]
                np.matmul(patches.T, rows, out=product[thread])
                np.add(part, product[thread], out=part)
            if dx is None:
                continue
            # forward was patches @ w, so each window of the padded image receives its part of dy @ w.T
            strips.padded[thread].fill(0)
            for group, y0, y1 in strips:
                mine = slice(group * Co, (group + 1) * Co)
                dpatches = strips.products[thread, : (y1 - y0) * strips.Wo]
                np.matmul(_rows(dy, n, y0, y1)[:, mine], w[..., mine].reshape(-1, Co).T, out=dpatches)
                _add_windows(strips.windows(thread, y0, y1, group), dpatches)
            np.copyto(dx[n], inside)
            strips.padded[thread].fill(0)

    threads.over(strips.N, images)
    for part in parts:
        np.add(dw, part, out=dw)
    return dx


def _rows(dy, n, y0, y1):
    return dy[n, y0:y1].reshape(-1, dy.shape[3])


def _add_windows(windows, dpatches) -> None:
    dpatches = dpatches.reshape(windows.shape)
    for i in range(windows.shape[2]):  # windows overlap each other, but not two of one kernel place
        for j in range(windows.shape[3]):
            np.add(windows[:, :, i, j], dpatches[:, :, i, j], out=windows[:, :, i, j])
