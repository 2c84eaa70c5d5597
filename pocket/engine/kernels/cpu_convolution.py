"""Convolution by walking register tiles over one padded image at a time; see cpu_tile and cpu_geometry."""

from typing import NamedTuple

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import threads
from pocket.engine.kernels.compile import compiled
from pocket.engine.kernels.cpu_geometry import layout_of, pack, pack_backward, padded_room, whole_tiles
from pocket.engine.kernels.cpu_normalise import (
    channel_sums,
    gradient_sums_of_rows,
    input_gradient_of_rows,
    merge_moments,
    moments_of_rows,
    room_for_moments,
    scale_shift_rows,
)
from pocket.engine.kernels.cpu_normalised_pool import unpool_into
from pocket.engine.kernels.cpu_walk import (
    add_weight_gradient,
    add_weight_parts,
    spill_room,
    walk_image,
    walk_row,
    weight_room,
)


class Normalised(NamedTuple):
    """max(x scale + shift, floor), made image by image where a convolution reads it, never whole; x where not on.

    scale and shift are one period of an image row: (C,), or (W C,) where that many values are worth one loop.
    """

    x: np.ndarray
    scale: np.ndarray
    shift: np.ndarray
    floor: np.floating
    on: bool = True


COPY, NORMALISED, POOLED = 0, 1, 2


class GradientOfNormalised(NamedTuple):
    """scale dz - slope y - offset, dz being `dy` where y scale + shift > 0: made where a convolution reads it.

    POOLED: dy is the gradient of 2x2 maxima, and dz is dy at the first maximum of each window, 0 elsewhere. COPY: dy.
    """

    dy: np.ndarray
    y: np.ndarray
    scale: np.ndarray
    shift: np.ndarray
    slope: np.ndarray
    offset: np.ndarray
    kind: int


def convolve(x, w, bias, stride, padding, residual=None, moments: bool = False):
    """y (N, Ho, Wo, Co) of x (N, H, W, C), an array or Normalised, and w (kernel_h, kernel_w, C, Co); + residual.

    Returns y, and with `moments` mean and biased variance of y by channel, taken while its rows are in the cache.
    """
    source = _source(x)
    layout, T, N = layout_of(source.x, w, stride, padding), threads.count(), len(source.x)
    y = memory.empty((N, *layout.output), w.dtype)
    packed, start = pack(w), memory.zeros(whole_tiles(w.shape[3], w.dtype), w.dtype)
    start[: w.shape[3]] = 0 if bias is None else bias
    padded, spill = padded_room(layout, layout.padded, T, w.dtype), spill_room(w.dtype)
    sums, pilots = room_for_moments(w.shape[3], w.dtype)
    weights, add = (packed, start), y if residual is None else residual

    def images(i, j, t):
        wanted = residual is not None, moments
        convolve_images(i, j, source, layout, weights, padded[t], spill[t], add, pilots[t], sums[t], wanted, y)

    threads.over(N, images)
    return y, merge_moments(sums, pilots) if moments else None


def convolve_gradient(x, dy, w, stride, padding, dw, want_dx: bool = True, mean=None, into=None):
    """Adds to dw; returns dx (N, H, W, C), or None.

    x is an array or Normalised, dy an array or GradientOfNormalised. For Normalised x, dx is the gradient of what was
    read, and with `mean` the sums of gradient_sums are made on the way: returns dx, sum dz, sum dz (x - mean). `into`
    is storage for dx: an array that is read no later than dy is, of at least as many values an image.
    """
    source, gradient = _source(x), _gradient_source(dy)
    layout, T, N = layout_of(source.x, w, stride, padding), threads.count(), len(source.x)
    size = source.x[0].size if N and want_dx else 0
    dx = memory.empty((N, size), w.dtype) if into is None else into.reshape(N, -1)
    packed = pack_backward(w, layout) if want_dx else memory.empty(0, w.dtype)
    weights = packed, memory.zeros(whole_tiles(w.shape[2], w.dtype), w.dtype)
    padded, padded_dy = (padded_room(layout, shape, T, w.dtype) for shape in (layout.padded, layout.padded_dy))
    spill, parts = spill_room(w.dtype), weight_room(layout, w.dtype)
    sums, room = memory.zeros((T, 2, w.shape[2]), np.float64), memory.empty((T, 2, w.shape[2]), w.dtype)
    middle = memory.empty(0, w.dtype) if mean is None else mean

    def images(i, j, t):
        rooms = padded[t], padded_dy[t], spill[t], parts[t]
        gradient_images(i, j, source, gradient, layout, weights, rooms, want_dx, dx, middle, room[t], sums[t])

    threads.over(N, images)
    add_weight_parts(parts, dw.reshape(w.shape[0], -1, w.shape[3]))
    if not want_dx:
        return None
    dx = _close_up(dx, size).reshape(source.x.shape)
    return dx if mean is None else (dx, sums[:, 0].sum(0), sums[:, 1].sum(0))


def add_channel_sums(x: np.ndarray, out: np.ndarray) -> None:
    """out += the sum of x (..., channels) over everything but the channels."""
    x = x.reshape(-1, x.shape[-1])
    sums, room = (
        memory.zeros((threads.count(), len(out)), np.float64),
        memory.empty((threads.count(), len(out)), x.dtype),
    )
    threads.over(len(x), lambda i, j, t: channel_sums(x[i:j], room[t], sums[t]), 1024)
    np.add(out, sums.sum(0), out=out, casting="same_kind")


def _source(x) -> Normalised:
    none = memory.empty(0, x.scale.dtype if isinstance(x, Normalised) else x.dtype)
    return x if isinstance(x, Normalised) else Normalised(x, none, none, x.dtype.type(0), False)


def _gradient_source(dy) -> GradientOfNormalised:
    none = memory.empty(0, dy.dy.dtype if isinstance(dy, GradientOfNormalised) else dy.dtype)
    return dy if isinstance(dy, GradientOfNormalised) else GradientOfNormalised(dy, dy, none, none, none, none, COPY)


def _close_up(rows: np.ndarray, size: int) -> np.ndarray:
    """The first `size` values of each row, moved together to the front of the storage of rows (N, at least size)."""
    flat = rows.reshape(-1)
    if rows.shape[1] > size:
        for n in range(1, len(rows)):
            flat[n * size : (n + 1) * size] = rows[n, :size]
    return flat[: len(rows) * size]


@compiled
def copy_into(image, padded, top, left, shape):
    """Copies image (H, W, C) into the flat padded image of `shape`, which may have more channels."""
    H, W, C = image.shape
    row, pitch = shape[1] * shape[2], shape[2]
    for y in range(H):
        line = padded[(top + y) * row + left * pitch : (top + y) * row + (left + W) * pitch]
        if pitch == C:
            line[:] = image[y].reshape(W * C)
        else:
            for x in range(W):
                for c in range(C):
                    line[x * pitch + c] = image[y, x, c]


@compiled
def fill(source, n, padded, layout):
    """Writes image n of the source into the padded image."""
    image, (top, left), (_, W, C) = source.x[n], layout.padding, layout.padded
    if not source.on:
        copy_into(image, padded, top, left, layout.padded)
        return
    length, period = image.shape[1] * C, source.scale.size
    for y in range(image.shape[0]):
        first = ((top + y) * W + left) * C
        line = padded[first : first + length].reshape(length // period, period)
        scale_shift_rows(image[y].reshape(line.shape), source.scale, source.shift, source.floor, line)


@compiled
def fill_dy(gradient, n, padded, layout):
    """Writes image n of the output gradient into its padded image."""
    dy, y, scale, shift, slope, offset, kind = gradient
    (top, left), (_, W, C) = layout.border, layout.padded_dy
    if kind == COPY:
        copy_into(dy[n], padded, top, left, layout.padded_dy)
    elif kind == POOLED:
        unpool_into(dy[n], y[n], scale, shift, slope, offset, padded, W * C, top, left, C)
    else:
        zero = padded.dtype.type(0)
        for i in range(y.shape[1]):
            first = ((top + i) * W + left) * C
            line = padded[first : first + y.shape[2] * C].reshape(y.shape[2], C)
            input_gradient_of_rows(y[n, i], dy[n, i], scale, shift, slope, offset, zero, line)


@compiled
def convolve_images(first, last, source, layout, weights, padded, spill, residual, pilot, sums, wanted, y):
    """Convolves images first..last into y; adds the residual and sums the moments of y where wanted."""
    add, moments = wanted
    for n in range(first, last):
        fill(source, n, padded, layout)
        image = y[n]
        for r in range(image.shape[0]):
            walk_row(layout.forward, r, padded, weights, y.shape[3], spill, image.reshape(-1))
            if add:
                line, other = image[r].reshape(-1), residual[n, r].reshape(-1)
                for i in range(line.size):
                    line[i] += other[i]
            if moments:
                moments_of_rows(image[r], pilot, sums)


@compiled
def gradient_images(first, last, source, gradient, layout, weights, rooms, want_dx, dx, mean, room, sums):
    """Adds the part of images first..last to dw; writes dx; sums dz and dz (x - mean) where mean has values."""
    padded, padded_dy, spill, dw = rooms
    H, W, C = layout.image
    for n in range(first, last):
        fill(source, n, padded, layout)
        fill_dy(gradient, n, padded_dy, layout)
        add_weight_gradient(layout, padded, padded_dy, dw)
        if want_dx:
            walk_image(layout.backward, padded_dy, weights, C, spill, dx[n])
        if mean.size > 0:
            x, dz = source.x[n].reshape(H * W, C), dx[n][: H * W * C].reshape(H * W, C)
            gradient_sums_of_rows(x, dz, source.scale, source.shift, mean, padded.dtype.type(0), room, sums)
