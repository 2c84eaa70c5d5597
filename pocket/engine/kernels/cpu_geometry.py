"""Where a convolution's tiles lie: the walks of its forward and of its input gradient, and the room they need.

Both are the same walk: patches of an image with a border of zeros, times packed weights. The input gradient of a
convolution with stride s is s * s such walks, one for each remainder of the input's position: row q = y + padding of
the padded input was touched by kernel rows a, a + s, ... where a = q mod s, and by output rows q // s, q // s - 1, ...
"""

import functools
from dataclasses import dataclass

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels.cpu_patch import output_size
from pocket.engine.kernels.cpu_tile import TILE, block

# One walk is one row of these numbers, in elements of the arrays:
#   rows, columns                            output positions
#   in_start, in_row, in_pixel               first patch; steps from one output row, and pixel, to the next
#   taps, tap_row, run                       kernel rows; step between them; contiguous pixels * channels of each
#   weight_start                             the packed weights
#   out_start, out_row, out_pixel            first output; steps as above
WALK_NUMBERS = 12


def padded_channels(channels: int, dtype) -> int:
    """Channels rounded up to whole tiles."""
    return -(-channels // block(dtype)) * block(dtype)


@dataclass(frozen=True)
class Geometry:
    """Sizes of one convolution over images (H, W, C) with weights (kernel_h, kernel_w, C, Co)."""

    image: tuple[int, int, int]
    kernel: tuple[int, int]
    outputs: int
    stride: tuple[int, int]
    padding: tuple[int, int]
    dtype: np.dtype

    @functools.cached_property
    def output(self) -> tuple[int, int, int]:
        return (*output_size(*self.image[:2], self.kernel, self.stride, self.padding), self.outputs)

    @functools.cached_property
    def padded(self) -> tuple[int, int, int]:
        """The image with its border."""
        (H, W, C), (pad_h, pad_w) = self.image, self.padding
        return H + 2 * pad_h, W + 2 * pad_w, C

    @functools.cached_property
    def border(self) -> tuple[int, int]:
        """Rows above and columns left of dy, so that its first pixels find their neighbours."""
        return tuple(-(-k // s) - 1 for k, s in zip(self.kernel, self.stride, strict=True))  # type: ignore[return-value]

    @functools.cached_property
    def padded_dy(self) -> tuple[int, int, int]:
        """The output gradient with its border, channels rounded up to whole tiles."""
        sizes = [
            border + max(out, (side - 1 + pad) // stride + 1)
            for border, out, side, pad, stride in zip(
                self.border, self.output[:2], self.image[:2], self.padding, self.stride, strict=True
            )
        ]
        return sizes[0], sizes[1], padded_channels(self.outputs, self.dtype)

    @functools.cached_property
    def forward_walk(self) -> np.ndarray:
        """One walk (1, WALK_NUMBERS)."""
        (_, W, C), (Ho, Wo, Co) = self.padded, self.output
        taps, run = self.kernel[0], self.kernel[1] * C
        steps = (0, W * C * self.stride[0], C * self.stride[1])
        return np.array([[Ho, Wo, *steps, taps, W * C, run, 0, 0, Wo * Co, Co]], np.int64)

    @functools.cached_property
    def phases(self) -> list[tuple[int, int, int, int]]:
        """(a, b, kernel rows, kernel columns) of each remainder that occurs."""
        (kernel_h, kernel_w), (s_h, s_w) = self.kernel, self.stride
        return [
            (a, b, len(range(a, kernel_h, s_h)), len(range(b, kernel_w, s_w))) for a in range(s_h) for b in range(s_w)
        ]

    @functools.cached_property
    def backward_walk(self) -> np.ndarray:
        """The walks of the input gradient over padded_dy, (phases, WALK_NUMBERS)."""
        (H, W, C), (_, dy_W, dy_C) = self.image, self.padded_dy
        walks, weight_start = [], 0
        for a, b, taps_h, taps_w in self.phases:
            # input rows y = s i + a - padding, from the first i that makes y >= 0
            first_h, first_w = (-(-(p - r) // s) for p, r, s in zip(self.padding, (a, b), self.stride, strict=True))
            y0, x0 = first_h * self.stride[0] + a - self.padding[0], first_w * self.stride[1] + b - self.padding[1]
            rows, columns = len(range(y0, H, self.stride[0])), len(range(x0, W, self.stride[1]))
            # the flipped kernel starts at output row i - (taps - 1)
            start = ((first_h - taps_h + 1 + self.border[0]) * dy_W + first_w - taps_w + 1 + self.border[1]) * dy_C
            out_start, out_row, out_pixel = (y0 * W + x0) * C, self.stride[0] * W * C, self.stride[1] * C
            run = taps_w * dy_C
            walks.append([rows, columns, start, dy_W * dy_C, dy_C, taps_h, dy_W * dy_C, run])
            walks[-1] += [weight_start, out_start, out_row, out_pixel]
            weight_start += taps_h * run * padded_channels(C, self.dtype)
        return np.array(walks, np.int64)

    def room(self, threads: int, shape: tuple[int, int, int]) -> np.ndarray:
        """A padded image for each thread, flat, zero, with slack for the pixels that a last tile reads and drops."""
        slack = (TILE * self.stride[1] + self.kernel[1]) * shape[2]
        return memory.zeros((threads, shape[0] * shape[1] * shape[2] + slack), self.dtype)

    def pack(self, w: np.ndarray) -> np.ndarray:
        """Weights of the forward walk, flat: (block of outputs, kernel_h, kernel_w * C, block)."""
        packed = memory.empty(
            self.kernel[0] * self.kernel[1] * self.image[2] * padded_channels(w.shape[3], w.dtype), w.dtype
        )
        _pack_blocks(w, w.shape[2], packed)
        return packed

    def pack_backward(self, w: np.ndarray) -> np.ndarray:
        """Weights of the backward walks, flat: for each phase the flipped kernel, outputs and inputs exchanged."""
        dy_C, inputs = self.padded_dy[2], padded_channels(self.image[2], w.dtype)
        sizes = [taps_h * taps_w * dy_C * inputs for _, _, taps_h, taps_w in self.phases]
        packed, start = memory.empty(sum(sizes), w.dtype), 0
        for (a, b, _, _), size in zip(self.phases, sizes, strict=True):
            taps = w[a :: self.stride[0], b :: self.stride[1]][::-1, ::-1].transpose(0, 1, 3, 2)
            if size:
                _pack_blocks(taps, dy_C, packed[start : start + size])
            start += size
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


@functools.lru_cache(maxsize=256)
def geometry(image, kernel, outputs, stride, padding, dtype) -> Geometry:
    """The one Geometry of these sizes."""
    return Geometry(image, kernel, outputs, stride, padding, np.dtype(dtype))


def geometry_of(x: np.ndarray, w: np.ndarray, stride, padding) -> Geometry:
    """The geometry of a convolution of x (N, H, W, C) with w (kernel_h, kernel_w, C, Co)."""
    return geometry(x.shape[1:], w.shape[:2], w.shape[3], tuple(stride), tuple(padding), w.dtype)
