"""Statistics of each channel, and the affine maps of batch normalisation, over (rows, channels) arrays."""

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import threads
from pocket.engine.kernels.compile import compiled

ROWS_AT_ONCE = 64  # rows summed in the arrays' own type before they are added in float64
SMALLEST_SHARE = 1024


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and biased variance of each column of x (rows, channels), in float64."""
    sums, pilots = room_for_moments(x.shape[1], x.dtype)
    threads.over(len(x), lambda i, j, t: moments_of_rows(x[i:j], pilots[t], sums[t]), SMALLEST_SHARE)
    return merge_moments(sums, pilots)


def room_for_moments(channels: int, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Sums (threads, 3, channels): of x - pilot, of its square, and the count; pilots (threads, 3, channels)."""
    return memory.zeros((threads.count(), 3, channels), np.float64), memory.zeros((threads.count(), 3, channels), dtype)


def merge_moments(sums: np.ndarray, pilots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and biased variance from the threads' sums around their own pilots (Chan, Golub, LeVeque 1979)."""
    count = np.maximum(sums[:, 2], 1.0)
    means = pilots[:, 0] + sums[:, 0] / count
    spread = sums[:, 1] - sums[:, 0] ** 2 / count
    total = np.maximum(sums[:, 2].sum(0), 1.0)
    mean = (means * sums[:, 2]).sum(0) / total
    var = (spread + sums[:, 2] * (means - mean) ** 2).sum(0) / total
    return mean, np.maximum(var, 0.0)


@compiled
def moments_of_rows(x, pilot, sums):
    """Adds the rows of x around the pilot to sums. pilot is (3, C): the pilot itself, then room for partial sums.

    The pilot is the mean of the first rows that come: near enough to the mean that no square loses its digits.
    """
    rows, channels = x.shape
    if rows > 0 and sums[2, 0] == 0.0:
        head = min(rows, ROWS_AT_ONCE)
        for r in range(head):
            for c in range(channels):
                pilot[0, c] += x[r, c] / head
    for start in range(0, rows, ROWS_AT_ONCE):
        pilot[1:] = 0
        for r in range(start, min(start + ROWS_AT_ONCE, rows)):
            for c in range(channels):
                d = x[r, c] - pilot[0, c]
                pilot[1, c] += d
                pilot[2, c] += d * d
        for c in range(channels):
            sums[0, c] += pilot[1, c]
            sums[1, c] += pilot[2, c]
    for c in range(channels):
        sums[2, c] += rows


def scale_shift(x: np.ndarray, scale: np.ndarray, shift: np.ndarray, floor: float, out: np.ndarray) -> None:
    """out = max(x * scale + shift, floor), by channel; a nan stays one."""
    affine = scale, shift, scale.dtype.type(floor)
    threads.over(len(x), lambda i, j, t: scale_shift_rows(x[i:j], *affine, out[i:j]), SMALLEST_SHARE)


@compiled
def scale_shift_rows(x, scale, shift, floor, out):
    """out = max(x * scale + shift, floor); x may be of another type."""
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            z = scale.dtype.type(x[r, c]) * scale[c] + shift[c]
            out[r, c] = floor if z <= floor else z


def gradient_sums(x, dy, scale, shift, mean, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Sums of dz and of dz * (x - mean) over the rows, in float64; dz is dy where x * scale + shift > floor, else 0."""
    shape = threads.count(), 2, x.shape[1]
    sums, room = memory.zeros(shape, np.float64), memory.empty(shape, x.dtype)
    affine = scale, shift, mean, x.dtype.type(floor)
    threads.over(
        len(x), lambda i, j, t: gradient_sums_of_rows(x[i:j], dy[i:j], *affine, room[t], sums[t]), SMALLEST_SHARE
    )
    return sums[:, 0].sum(0), sums[:, 1].sum(0)


@compiled
def gradient_sums_of_rows(x, dy, scale, shift, mean, floor, room, sums):
    """Adds the sums over these rows. room is (2, C) for partial sums."""
    rows, channels = x.shape
    zero = x.dtype.type(0)
    for start in range(0, rows, ROWS_AT_ONCE):
        room[:] = 0
        for r in range(start, min(start + ROWS_AT_ONCE, rows)):
            for c in range(channels):
                dz = dy[r, c] if x[r, c] * scale[c] + shift[c] > floor else zero
                room[0, c] += dz
                room[1, c] += dz * (x[r, c] - mean[c])
        for c in range(channels):
            sums[0, c] += room[0, c]
            sums[1, c] += room[1, c]


def input_gradient(x, dy, scale, shift, slope, offset, floor: float) -> None:
    """dy becomes scale dz - slope x - offset, the gradient of the input; dz as in gradient_sums."""
    affine = scale, shift, slope, offset, x.dtype.type(floor)
    threads.over(len(x), lambda i, j, t: turn_gradient_of_rows(x[i:j], dy[i:j], *affine), SMALLEST_SHARE)


@compiled
def turn_gradient_of_rows(x, dy, scale, shift, slope, offset, floor):
    """dy = scale dz - slope x - offset. In place and not by way of the next kernel, which would not be vectorised."""
    zero = x.dtype.type(0)
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            dz = dy[r, c] if x[r, c] * scale[c] + shift[c] > floor else zero
            dy[r, c] = scale[c] * dz - slope[c] * x[r, c] - offset[c]


@compiled
def input_gradient_of_rows(x, dy, scale, shift, slope, offset, floor, out):
    """out = scale dz - slope x - offset."""
    zero = x.dtype.type(0)
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            dz = dy[r, c] if x[r, c] * scale[c] + shift[c] > floor else zero
            out[r, c] = scale[c] * dz - slope[c] * x[r, c] - offset[c]


@compiled
def channel_sums(x, room, sums):
    """sums += the rows of x, some at a time in x's own type."""
    for start in range(0, x.shape[0], ROWS_AT_ONCE):
        room[:] = 0
        for r in range(start, min(start + ROWS_AT_ONCE, x.shape[0])):
            for c in range(x.shape[1]):
                room[c] += x[r, c]
        for c in range(x.shape[1]):
            sums[c] += room[c]
