"""Pooling windows over NHWC images. Padding never takes part in a maximum, and counts as zeros in an average."""

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import threads
from pocket.engine.kernels.compile import compiled


def max_pool(x, kernel, stride, padding, output_hw) -> tuple[np.ndarray, np.ndarray]:
    """The maxima (N, *output_hw, C), and for each its place in the window, row by row, as uint8."""
    shape = (x.shape[0], *output_hw, x.shape[3])
    y, place = memory.empty(shape, x.dtype), memory.empty(shape, np.uint8, "saved")
    threads.over(len(x), lambda i, j, thread: max_pool_images(x[i:j], *kernel, *stride, *padding, y[i:j], place[i:j]))
    return y, place


@compiled
def max_pool_images(x, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, y, place):
    """The first of equal maxima wins; a nan wins over everything, as in PyTorch."""
    N, H, W, C = x.shape
    for n in range(N):
        for oy in range(y.shape[1]):
            for ox in range(y.shape[2]):
                top, left = oy * stride_h - pad_h, ox * stride_w - pad_w
                fresh = True
                for i in range(max(0, -top), min(kernel_h, H - top)):
                    for j in range(max(0, -left), min(kernel_w, W - left)):
                        for c in range(C):
                            v = x[n, top + i, left + j, c]
                            if fresh or v > y[n, oy, ox, c] or v != v:
                                y[n, oy, ox, c] = v
                                place[n, oy, ox, c] = i * kernel_w + j
                        fresh = False


def max_pool_gradient(dy, place, kernel, stride, padding, input_shape) -> np.ndarray:
    """dx: each dy added to the place its maximum came from."""
    dx = memory.zeros(input_shape, dy.dtype)

    def share(i, j, thread):
        max_pool_gradient_images(dy[i:j], place[i:j], kernel[1], *stride, *padding, dx[i:j])

    threads.over(len(dy), share)
    return dx


@compiled
def max_pool_gradient_images(dy, place, kernel_w, stride_h, stride_w, pad_h, pad_w, dx):
    """Windows may overlap, so this adds."""
    N, rows, columns, C = dy.shape
    for n in range(N):
        for oy in range(rows):
            for ox in range(columns):
                for c in range(C):
                    i, j = divmod(np.int64(place[n, oy, ox, c]), kernel_w)
                    dx[n, oy * stride_h - pad_h + i, ox * stride_w - pad_w + j, c] += dy[n, oy, ox, c]


def average_pool(x, kernel, stride, padding, output_hw) -> np.ndarray:
    """The averages (N, *output_hw, C)."""
    y = memory.zeros((x.shape[0], *output_hw, x.shape[3]), x.dtype)
    share = x.dtype.type(1 / (kernel[0] * kernel[1]))
    threads.over(len(x), lambda i, j, thread: average_images(x[i:j], *kernel, *stride, *padding, share, y[i:j]))
    return y


@compiled
def average_images(x, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, share, y):
    """y += share * x over each window."""
    N, H, W, C = x.shape
    for n in range(N):
        for oy in range(y.shape[1]):
            for ox in range(y.shape[2]):
                top, left = oy * stride_h - pad_h, ox * stride_w - pad_w
                for i in range(max(0, -top), min(kernel_h, H - top)):
                    for j in range(max(0, -left), min(kernel_w, W - left)):
                        for c in range(C):
                            y[n, oy, ox, c] += share * x[n, top + i, left + j, c]


def average_pool_gradient(dy, kernel, stride, padding, input_shape) -> np.ndarray:
    """dx: each dy spread evenly over its window."""
    dx = memory.zeros(input_shape, dy.dtype)
    share = dy.dtype.type(1 / (kernel[0] * kernel[1]))
    threads.over(
        len(dy), lambda i, j, thread: average_gradient_images(dy[i:j], *kernel, *stride, *padding, share, dx[i:j])
    )
    return dx


@compiled
def average_gradient_images(dy, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, share, dx):
    """dx += share * dy over each window."""
    N, H, W, C = dx.shape
    for n in range(N):
        for oy in range(dy.shape[1]):
            for ox in range(dy.shape[2]):
                top, left = oy * stride_h - pad_h, ox * stride_w - pad_w
                for i in range(max(0, -top), min(kernel_h, H - top)):
                    for j in range(max(0, -left), min(kernel_w, W - left)):
                        for c in range(C):
                            dx[n, top + i, left + j, c] += share * dy[n, oy, ox, c]
