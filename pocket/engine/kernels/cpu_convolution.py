"""Convolution by walking register tiles over one padded image at a time; see cpu_tile and cpu_geometry."""

from typing import NamedTuple

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import threads
from pocket.engine.kernels.compile import compiled
from pocket.engine.kernels.cpu_geometry import geometry_of, padded_channels
from pocket.engine.kernels.cpu_normalise import (
    gradient_sums_of_rows,
    input_gradient_of_rows,
    merge_moments,
    moments_of_rows,
    room_for_moments,
    scale_shift_rows,
)
from pocket.engine.kernels.cpu_normalised_pool import unpool_into
from pocket.engine.kernels.cpu_tile import BLOCK_BYTES, TILE, block, tile_of_pixels, tile_of_weights

PIXELS_AT_ONCE = 256  # of dy, read once for each kernel place: a strip that stays in the first cache


class Normalised(NamedTuple):
    """relu(x scale + shift), made image by image where a convolution reads it, and never whole."""

    x: np.ndarray
    scale: np.ndarray
    shift: np.ndarray


class GradientOfNormalised(NamedTuple):
    """scale dz - slope x - offset, dz being `dy` where x scale + shift > 0: made where a convolution reads it.

    `pooled`: dy is the gradient of 2x2 maxima, and dz is dy at the first maximum of each window, 0 elsewhere.
    """

    dy: np.ndarray
    normalised: Normalised
    slope: np.ndarray
    offset: np.ndarray
    pooled: bool


def convolve(x, w, bias, stride, padding, residual=None, moments: bool = False):
    """y (N, Ho, Wo, Co) of x (N, H, W, C), an array or Normalised, and w (kernel_h, kernel_w, C, Co); + residual.

    With `moments` also mean and biased variance of y by channel, taken while each row of y is still in the cache.
    """
    x, scale, shift, normalised = _source(x)
    g = geometry_of(x, w, stride, padding)
    y = memory.empty((len(x), *g.output), x.dtype)
    packed, start = g.pack(w), padded_bias(bias, g)
    padded, spill = g.room(threads.count(), g.padded), spill_room(x.dtype)
    sums, pilots = room_for_moments(g.outputs, x.dtype)
    add = y if residual is None else residual

    def share(i, j, t):
        convolve_images(
            x[i:j], scale, shift, normalised, g.forward_walk, g.padding, g.padded, packed, start, padded[t], spill[t],
            add[i:j], residual is not None, pilots[t], sums[t], moments, y[i:j],
        )  # fmt: skip

    threads.over(len(x), share)
    return (y, *merge_moments(sums, pilots)) if moments else y


def convolve_gradient(x, dy, w, stride, padding, dw, db, want_dx: bool, mean=None):
    """Adds to dw and db (unless None); returns dx (N, H, W, C) or None.

    x is an array or Normalised, dy an array or GradientOfNormalised. For Normalised x, dx is the gradient of what was
    read, and with `mean` the sums of gradient_sums are made on the way: returns dx, sum dz, sum dz (x - mean).
    """
    x, scale, shift, normalised = _source(x)
    dy, y, dy_scale, dy_shift, slope, offset, kind = _gradient_source(dy)
    g = geometry_of(x, w, stride, padding)
    T, C = threads.count(), g.image[2]
    dx = memory.empty(x.shape if want_dx else (0, *x.shape[1:]), x.dtype)
    packed = g.pack_backward(w) if want_dx else memory.empty(0, x.dtype)
    padded, padded_dy, spill = g.room(T, g.padded), g.room(T, g.padded_dy), spill_room(x.dtype)
    dw_parts, start = weight_room(g), memory.zeros(padded_channels(C, x.dtype), x.dtype)
    sums, room = memory.zeros((T, 2, C), np.float64), memory.empty((T, 2, C), x.dtype)
    middle = memory.empty(0, x.dtype) if mean is None else mean

    def share(i, j, t):
        gradient_images(
            x[i:j], scale, shift, normalised, dy[i:j], y[i:j], dy_scale, dy_shift, slope, offset, kind,
            numbers_of(g), g.padded, g.padded_dy, g.backward_walk, packed, start,
            padded[t], padded_dy[t], spill[t], dw_parts[t], dx[i : j if want_dx else i], middle, room[t], sums[t],
        )  # fmt: skip

    threads.over(len(x), share)
    add_weight_parts(dw_parts, dw)
    if db is not None:
        add_channel_sums(dy.reshape(-1, dy.shape[-1]), db)
    if mean is not None:
        return dx, sums[:, 0].sum(0), sums[:, 1].sum(0)
    return dx if want_dx else None


COPY, NORMALISED, POOLED = 0, 1, 2  # how a kernel makes the output gradient it reads


def _source(x):
    if isinstance(x, Normalised):
        return *x, True
    none = memory.empty(0, x.dtype)
    return x, none, none, False


def _gradient_source(dy):
    if isinstance(dy, GradientOfNormalised):
        y, scale, shift = dy.normalised
        return dy.dy, y, scale, shift, dy.slope, dy.offset, POOLED if dy.pooled else NORMALISED
    none = memory.empty(0, dy.dtype)
    return dy, dy, none, none, none, none, COPY


def numbers_of(g) -> tuple:
    """(kernel_h, run, stride_h, stride_w, pad_h, pad_w, border_h, border_w, Ho, Wo), as kernels take them."""
    return (g.kernel[0], g.kernel[1] * g.image[2], *g.stride, *g.padding, *g.border, *g.output[:2])


def padded_bias(bias, g) -> np.ndarray:
    """The bias, or zeros, for every channel of the last tile."""
    start = memory.zeros(padded_channels(g.outputs, g.dtype), g.dtype)
    if bias is not None:
        start[: g.outputs] = bias
    return start


def spill_room(dtype) -> np.ndarray:
    """For each thread a tile of results that are not stored where they were computed, and a row of zeros."""
    return memory.zeros((threads.count(), (TILE + 1) * block(dtype)), dtype)


def weight_room(g) -> np.ndarray:
    """Each thread's weight gradient (threads, blocks, kernel_h, run rounded up to tiles, block)."""
    run = -(-g.kernel[1] * g.image[2] // TILE) * TILE
    width = block(g.dtype)
    return memory.zeros(
        (threads.count(), padded_channels(g.outputs, g.dtype) // width, g.kernel[0], run, width), g.dtype
    )


def add_weight_parts(parts: np.ndarray, dw: np.ndarray) -> None:
    """dw (kernel_h, kernel_w, C, Co) += the threads' parts."""
    rows = dw.reshape(dw.shape[0], -1, dw.shape[3])
    width = parts.shape[-1]
    for part in parts:
        for number, start in enumerate(range(0, dw.shape[3], width)):
            mine = rows[:, :, start : start + width]
            np.add(mine, part[number, :, : rows.shape[1], : mine.shape[2]], out=mine)


def add_channel_sums(x: np.ndarray, out: np.ndarray) -> None:
    """out += the sum of the rows of x (rows, channels)."""
    T, C = threads.count(), x.shape[1]
    sums, room = memory.zeros((T, C), np.float64), memory.zeros((T, C), x.dtype)
    threads.over(len(x), lambda i, j, t: channel_sums(x[i:j], room[t], sums[t]), 1024)
    np.add(out, sums.sum(0), out=out, casting="same_kind")


@compiled
def channel_sums(x, room, sums):
    """sums += the rows of x, 64 at a time in x's own type."""
    for start in range(0, x.shape[0], 64):
        room[:] = 0
        for r in range(start, min(start + 64, x.shape[0])):
            for c in range(x.shape[1]):
                room[c] += x[r, c]
        for c in range(x.shape[1]):
            sums[c] += room[c]


@compiled
def copy_into(image, padded, row, top, left, pitch):
    """Copies image (H, W, C) into the flat padded image whose rows are `row` and pixels `pitch` elements long."""
    H, W, C = image.shape
    for y in range(H):
        line = padded[(top + y) * row + left * pitch : (top + y) * row + (left + W) * pitch]
        if pitch == C:
            line[:] = image[y].reshape(W * C)
        else:
            for x in range(W):
                for c in range(C):
                    line[x * pitch + c] = image[y, x, c]


@compiled
def walk_row(walk, y, padded, packed, start, channels, spill, out):
    """Row y of one walk: a tile where it fits, else by way of spill. out is one flat image."""
    _, columns, in_start, in_row, in_pixel, taps, tap_row, run, weight_start, out_start, out_row, out_pixel = walk
    size = padded.itemsize
    width = BLOCK_BYTES // size
    x = padded.ctypes.data + (in_start + y * in_row) * size
    for first in range(0, channels, width):
        weights = packed.ctypes.data + (weight_start + first * taps * run) * size
        begin = start.ctypes.data + first * size
        for column in range(0, columns, TILE):
            place = out_start + y * out_row + column * out_pixel + first
            pixels, left = min(TILE, columns - column), min(width, channels - first)
            whole = pixels == TILE and left == width
            target = out.ctypes.data + place * size if whole else spill.ctypes.data
            step = out_pixel if whole else width
            tile_of_pixels(
                padded, x + column * in_pixel * size, in_pixel * size, tap_row * size, size, taps, run,
                weights, run * width * size, width * size, begin, 0, target, step * size,
            )  # fmt: skip
            if not whole:
                for p in range(pixels):
                    for c in range(left):
                        out[place + p * out_pixel + c] = spill[p * width + c]


@compiled
def walk_image(walks, padded, packed, start, channels, spill, out):
    """Every row of every walk. A walk without a kernel place, where the stride skips inputs, leaves zeros."""
    for walk in walks:
        for y in range(walk[0]):
            if walk[5] * walk[7] > 0:
                walk_row(walk, y, padded, packed, start, channels, spill, out)
            else:
                for x in range(walk[1]):
                    place = walk[9] + y * walk[10] + x * walk[11]
                    out[place : place + channels] = 0


@compiled
def add_weight_gradient(numbers, padded, row, pixel, padded_dy, dy_row, dy_pixel, spill, dw):
    """dw += patches^T dy of one image, strip by strip: the strip's sum is made in registers, then added."""
    kernel_h, run, stride_h, stride_w, _, _, border_h, border_w, Ho, Wo = numbers
    size = padded.itemsize
    width = BLOCK_BYTES // size
    zero = spill.ctypes.data + TILE * width * size
    strip = max(1, PIXELS_AT_ONCE // Wo)
    for y in range(0, Ho, strip):
        for b in range(dw.shape[0]):
            dy = padded_dy.ctypes.data + ((border_h + y) * dy_row + border_w * dy_pixel + b * width) * size
            for i in range(kernel_h):
                for k in range(0, run, TILE):
                    x = padded.ctypes.data + ((y * stride_h + i) * row + k) * size
                    tile_of_weights(
                        padded, x, size, stride_h * row * size, stride_w * pixel * size, min(strip, Ho - y), Wo,
                        dy, dy_row * size, dy_pixel * size, zero, 0, spill.ctypes.data, width * size,
                    )  # fmt: skip
                    for p in range(TILE):
                        for c in range(width):
                            dw[b, i, k + p, c] += spill[p * width + c]


@compiled
def normalise_into(image, scale, shift, padded, row, top, left):
    """Copies relu(image scale + shift) into the flat padded image."""
    H, W, C = image.shape
    zero = padded.dtype.type(0)
    for y in range(H):
        line = padded[(top + y) * row + left * C : (top + y) * row + (left + W) * C].reshape(W, C)
        scale_shift_rows(image[y], scale, shift, zero, line)


@compiled
def gradient_into(dy, y, scale, shift, slope, offset, padded, row, top, left, pitch):
    """Copies scale dz - slope y - offset into the flat padded image."""
    H, W = y.shape[:2]
    zero = padded.dtype.type(0)
    for i in range(H):
        first = (top + i) * row + left * pitch
        line = padded[first : first + W * pitch].reshape(W, pitch)
        input_gradient_of_rows(y[i], dy[i], scale, shift, slope, offset, zero, line)


@compiled
def convolve_images(
    x,
    scale,
    shift,
    normalised,
    walks,
    padding,
    shape,
    packed,
    start,
    padded,
    spill,
    residual,
    add,
    pilot,
    sums,
    moments,
    y,
):
    """Convolves each image of x, or relu(x scale + shift), into y; adds the residual; sums the moments of y."""
    row = shape[1] * shape[2]
    for n in range(x.shape[0]):
        if normalised:
            normalise_into(x[n], scale, shift, padded, row, padding[0], padding[1])
        else:
            copy_into(x[n], padded, row, padding[0], padding[1], shape[2])
        image = y[n]
        for r in range(image.shape[0]):
            walk_row(walks[0], r, padded, packed, start, y.shape[3], spill, image.reshape(-1))
            if add:
                line, other = image[r].reshape(-1), residual[n, r].reshape(-1)
                for i in range(line.size):
                    line[i] += other[i]
            if moments:
                moments_of_rows(image[r], pilot, sums)


@compiled
def gradient_images(
    x, scale, shift, normalised, dy, y, dy_scale, dy_shift, slope, offset, kind, numbers, shape, dy_shape, walks,
    packed, start, padded, padded_dy, spill, dw, dx, mean, room, sums,
):  # fmt: skip
    """Adds each image's part to dw; writes dx where it has room; sums dz and dz (x - mean) where mean has values."""
    row, dy_row = shape[1] * shape[2], dy_shape[1] * dy_shape[2]
    zero = padded.dtype.type(0)
    for n in range(x.shape[0]):
        if normalised:
            normalise_into(x[n], scale, shift, padded, row, numbers[4], numbers[5])
        else:
            copy_into(x[n], padded, row, numbers[4], numbers[5], shape[2])
        if kind == NORMALISED:
            gradient_into(
                dy[n], y[n], dy_scale, dy_shift, slope, offset, padded_dy, dy_row, numbers[6], numbers[7], dy_shape[2]
            )
        elif kind == POOLED:
            unpool_into(
                dy[n], y[n], dy_scale, dy_shift, slope, offset, padded_dy, dy_row, numbers[6], numbers[7], dy_shape[2]
            )
        else:
            copy_into(dy[n], padded_dy, dy_row, numbers[6], numbers[7], dy_shape[2])
        add_weight_gradient(numbers, padded, row, shape[2], padded_dy, dy_row, dy_shape[2], spill, dw)
        if dx.shape[0] > 0:
            walk_image(walks, padded_dy, packed, start, x.shape[3], spill, dx[n].reshape(-1))
        if mean.size > 0:
            rows = x.shape[1] * x.shape[2]
            gradient_sums_of_rows(x[n].reshape(rows, -1), dx[n].reshape(rows, -1), scale, shift, mean, zero, room, sums)
