"""Walks of register tiles over a padded image: forward, input gradient and weight gradient of a convolution."""

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import threads
from pocket.engine.kernels.compile import compiled
from pocket.engine.kernels.cpu_geometry import Layout, whole_tiles
from pocket.engine.kernels.cpu_tile import BLOCK_BYTES, TILE, block, tile_of_pixels, tile_of_weights

PIXELS_AT_ONCE = 256  # of dy, read once for each kernel place: a strip that stays in the first cache


def spill_room(dtype) -> np.ndarray:
    """For each thread a tile of results that are not stored where they were computed."""
    return memory.empty((threads.count(), TILE * block(dtype)), dtype)


def weight_room(layout: Layout, dtype) -> np.ndarray:
    """Each thread's weight gradient (threads, blocks, kernel_h, run rounded up to tiles, block)."""
    run = -(-layout.kernel[1] * layout.image[2] // TILE) * TILE
    blocks = whole_tiles(layout.output[2], dtype) // block(dtype)
    return memory.zeros((threads.count(), blocks, layout.kernel[0], run, block(dtype)), dtype)


@compiled
def add_weight_parts(parts, dw):
    """dw (kernel_h, kernel_w * C, Co) += the threads' parts."""
    width = parts.shape[4]
    for part in parts:
        for i in range(dw.shape[0]):
            for k in range(dw.shape[1]):
                for c in range(dw.shape[2]):
                    dw[i, k, c] += part[c // width, i, k, c % width]


@compiled
def walk_row(walk, y, padded, weights, channels, spill, out):
    """Row y of one walk: a tile where it fits, else by way of spill. out is one flat image."""
    _, columns, in_start, in_row, in_pixel, taps, tap_row, run, weight_start, out_start, out_row, out_pixel = walk
    packed, start = weights
    size = padded.itemsize
    width = BLOCK_BYTES // size
    x = padded.ctypes.data + (in_start + y * in_row) * size
    for first in range(0, channels, width):
        w = packed.ctypes.data + (weight_start + first * taps * run) * size
        begin = start.ctypes.data + first * size
        for column in range(0, columns, TILE):
            place = out_start + y * out_row + column * out_pixel + first
            pixels, left = min(TILE, columns - column), min(width, channels - first)
            whole = pixels == TILE and left == width
            target = out.ctypes.data + place * size if whole else spill.ctypes.data
            step = out_pixel if whole else width
            tile_of_pixels(
                padded, x + column * in_pixel * size, in_pixel * size, tap_row * size, size, taps, run,
                w, run * width * size, width * size, begin, 0, target, step * size,
            )  # fmt: skip
            if not whole:
                for p in range(pixels):
                    for c in range(left):
                        out[place + p * out_pixel + c] = spill[p * width + c]


@compiled
def walk_image(walks, padded, weights, channels, spill, out):
    """Every row of every walk. A walk without a kernel place, where the stride skips inputs, leaves zeros."""
    for walk in walks:
        for y in range(walk[0]):
            if walk[5] * walk[7] > 0:
                walk_row(walk, y, padded, weights, channels, spill, out)
            else:
                for x in range(walk[1]):
                    place = walk[9] + y * walk[10] + x * walk[11]
                    out[place : place + channels] = 0


@compiled
def add_weight_gradient(layout, padded, padded_dy, dw):
    """dw += patches^T dy of one image, strip by strip: the strip's sum is made in registers, then added."""
    size = padded.itemsize
    width = BLOCK_BYTES // size
    stride_h, stride_w = layout.stride
    row, pixel = layout.padded[1] * layout.padded[2], layout.padded[2]
    dy_row, dy_pixel = layout.padded_dy[1] * layout.padded_dy[2], layout.padded_dy[2]
    Ho, Wo, _ = layout.output
    begin = padded_dy.ctypes.data + (layout.border[0] * dy_row + layout.border[1] * dy_pixel) * size
    strip = max(1, PIXELS_AT_ONCE // Wo)
    for y in range(0, Ho, strip):
        for b in range(dw.shape[0]):
            for i in range(layout.kernel[0]):
                for k in range(0, layout.kernel[1] * pixel, TILE):
                    to = dw.ctypes.data + ((b * dw.shape[1] + i) * dw.shape[2] + k) * width * size
                    tile_of_weights(
                        padded, padded.ctypes.data + ((y * stride_h + i) * row + k) * size,
                        size, stride_h * row * size, stride_w * pixel * size, min(strip, Ho - y), Wo,
                        begin + (y * dy_row + b * width) * size, dy_row * size, dy_pixel * size,
                        to, width * size, to, width * size,
                    )  # fmt: skip
