"""Where a convolution's tiles lie: the walks of its forward and of its input gradient, and the room they need.

Both are the same walk: patches of an image with a border of zeros, times packed weights. The input gradient of a
convolution with stride s is s * s such walks, one for each remainder of the input's position: row q = y + padding of
the padded input was touched by kernel rows a, a + s, ... where a = q mod s, and by output rows q // s, q // s - 1, ...
"""

import functools
from typing import NamedTuple

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels.cpu_patch import output_size
from pocket.engine.kernels.cpu_tile import TILE, block

# One walk is a row of these numbers, in elements of the arrays:
#   rows, columns                            output positions
#   in_start, in_row, in_pixel               first patch; steps from one output row, and pixel, to the next
#   taps, tap_row, run                       kernel rows; step between them; contiguous pixels * channels of each
#   weight_start                             the packed weights
#   out_start, out_row, out_pixel            first output; steps as above


class Layout(NamedTuple):
    """The sizes of one convolution, as kernels take them: pairs of rows and columns, and walks."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    border: tuple[int, int]  # rows above and columns left of dy, so that its first pixels find their neighbours
    image: tuple[int, int, int]  # H, W, C
    output: tuple[int, int, int]  # Ho, Wo, Co
    padded: tuple[int, int, int]  # the image with its border
    padded_dy: tuple[int, int, int]  # the output gradient with its border, channels rounded up to whole tiles
    forward: np.ndarray  # one walk
    backward: np.ndarray  # (phases, numbers)


def layout_of(x: np.ndarray, w: np.ndarray, stride, padding) -> Layout:
    """The layout of a convolution of x (N, H, W, C) with w (kernel_h, kernel_w, C, Co)."""
    return _layout(x.shape[1:], w.shape[:2], w.shape[3], tuple(stride), tuple(padding), w.dtype)


@functools.lru_cache(maxsize=256)
def _layout(image, kernel, outputs, stride, padding, dtype) -> Layout:
    (H, W, C), (pad_h, pad_w) = image, padding
    output = (*output_size(H, W, kernel, stride, padding), outputs)
    padded = (H + 2 * pad_h, W + 2 * pad_w, C)
    border = tuple(-(-k // s) - 1 for k, s in zip(kernel, stride, strict=True))
    reach = [max(output[i], (image[i] - 1 + padding[i]) // stride[i] + 1) for i in (0, 1)]
    padded_dy = (border[0] + reach[0], border[1] + reach[1], whole_tiles(outputs, dtype))
    row = padded[1] * C
    forward = [*output[:2], 0, row * stride[0], C * stride[1], kernel[0], row, kernel[1] * C, 0]
    forward += [0, output[1] * outputs, outputs]
    partial = Layout(kernel, stride, padding, border, image, output, padded, padded_dy, np.array(forward), np.empty(0))
    return partial._replace(backward=_backward_walks(partial, whole_tiles(C, dtype)))


def phases(layout: Layout) -> list[tuple[int, int, int, int]]:
    """(a, b, kernel rows, kernel columns) of each remainder by the stride."""
    (kernel_h, kernel_w), (s_h, s_w) = layout.kernel, layout.stride
    return [(a, b, len(range(a, kernel_h, s_h)), len(range(b, kernel_w, s_w))) for a in range(s_h) for b in range(s_w)]


def _backward_walks(layout: Layout, inputs: int) -> np.ndarray:
    (H, W, C), (_, dy_W, dy_C), (s_h, s_w), border = layout.image, layout.padded_dy, layout.stride, layout.border
    walks, weight_start = [], 0
    for a, b, taps_h, taps_w in phases(layout):
        # input rows y = s i + a - padding, from the first i that makes y >= 0
        i, j = (-(-(p - r) // s) for p, r, s in zip(layout.padding, (a, b), layout.stride, strict=True))
        y, x = i * s_h + a - layout.padding[0], j * s_w + b - layout.padding[1]
        # the flipped kernel starts at output row i - (taps - 1)
        start = ((i - taps_h + 1 + border[0]) * dy_W + j - taps_w + 1 + border[1]) * dy_C
        sizes = [len(range(y, H, s_h)), len(range(x, W, s_w)), start, dy_W * dy_C, dy_C]
        walks.append([*sizes, taps_h, dy_W * dy_C, taps_w * dy_C, weight_start, (y * W + x) * C, s_h * W * C, s_w * C])
        weight_start += taps_h * taps_w * dy_C * inputs
    return np.array(walks)


def whole_tiles(channels: int, dtype) -> int:
    """Channels rounded up to whole tiles."""
    return -(-channels // block(dtype)) * block(dtype)


def padded_room(layout: Layout, shape: tuple[int, int, int], threads: int, dtype) -> np.ndarray:
    """A padded image for each thread, flat, zero, with slack for the pixels that a last tile reads and drops."""
    slack = (TILE * layout.stride[1] + layout.kernel[1]) * shape[2]
    return memory.zeros((threads, shape[0] * shape[1] * shape[2] + slack), dtype)


def pack(w: np.ndarray) -> np.ndarray:
    """Weights of the forward walk, flat: (block of outputs, kernel_h, kernel_w, C, block)."""
    packed = memory.empty(w.shape[0] * w.shape[1] * w.shape[2] * whole_tiles(w.shape[3], w.dtype), w.dtype)
    _pack_blocks(w, w.shape[2], packed)
    return packed


def pack_backward(w: np.ndarray, layout: Layout) -> np.ndarray:
    """Weights of the backward walks, flat: for each phase the flipped kernel, outputs and inputs exchanged."""
    dy_C = layout.padded_dy[2]
    packed = memory.empty(w.shape[0] * w.shape[1] * dy_C * whole_tiles(w.shape[2], w.dtype), w.dtype)
    starts = [*layout.backward[:, 8], packed.size]
    for number, (a, b, _, _) in enumerate(phases(layout)):
        taps = w[a :: layout.stride[0], b :: layout.stride[1]][::-1, ::-1].transpose(0, 1, 3, 2)
        if starts[number + 1] > starts[number]:
            _pack_blocks(taps, dy_C, packed[starts[number] : starts[number + 1]])
    return packed


def _pack_blocks(w: np.ndarray, rows: int, packed: np.ndarray) -> None:
    """w (h, w, K, M) into packed (blocks of M, h, w, rows, block), zero where K < rows or the last block is short."""
    taps_h, taps_w, K, M = w.shape
    width = block(w.dtype)
    blocks = packed.reshape(-1, taps_h, taps_w, rows, width)
    if rows > K or M % width:
        packed.fill(0)
    for number, start in enumerate(range(0, M, width)):
        part = w[..., start : start + width]
        blocks[number, :, :, :K, : part.shape[3]] = part
