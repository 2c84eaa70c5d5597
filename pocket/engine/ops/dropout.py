"""Dropout. The mask is drawn and kept in bits."""

from dataclasses import dataclass

import numpy as np

from pocket.engine import memory

CHUNK = 8192  # values drawn at once: a multiple of 8, and small enough to stay in cache and out of the pool


@dataclass(frozen=True)
class Dropout:
    """y = x m / (1 - p) in training, m = 1 with probability 1 - p and else 0; y = x in evaluation. p = 1 gives 0.

    x (any shape) -> y (the same). The mask is drawn from the run's own generator, so a seed repeats it.
    Saves m, a bit a value. Srivastava et al. 2014, section 4; scaled in training as PyTorch does.
    """

    p: float = 0.5

    def __post_init__(self):
        if not 0 <= self.p <= 1:
            raise ValueError(f"Dropout p is {self.p}; wanted a probability from 0 to 1")

    @property
    def scale(self) -> float:
        return 1 / (1 - self.p) if self.p < 1 else 0.0

    def parameter_shapes(self):
        return {}

    def state_shapes(self):
        return {}

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        if not training:
            return x, ()
        y = memory.empty(x.shape, x.dtype)
        np.copyto(y, x)
        bits = memory.empty(((x.size + 7) // 8,), np.uint8, "saved")
        y_flat = y.reshape(-1)
        for start in range(0, x.size, CHUNK):
            part = y_flat[start : start + CHUNK]
            mask = rng.random(part.size, dtype=np.float32) >= self.p
            bits[start // 8 : (start + CHUNK) // 8] = np.packbits(mask)
            part[~mask] = 0  # before scaling, so that a dropped infinity is 0 and not nan
            np.multiply(part, self.scale, out=part)
        return y, (bits,)

    def backward(self, dy, saved, parameters, gradients):
        if not saved:
            return (dy,)
        (bits,) = saved
        dx = dy
        if not dy.flags.c_contiguous:  # a flat view of it would be a copy, and the mask would be lost
            dx = memory.empty(dy.shape, dy.dtype)
            np.copyto(dx, dy)
        dx_flat = dx.reshape(-1)
        for start in range(0, dx_flat.size, CHUNK):
            part = dx_flat[start : start + CHUNK]
            mask = np.unpackbits(bits[start // 8 : (start + CHUNK) // 8], count=part.size)
            # forward was y = x scale where the mask is set and 0 elsewhere, so dx = dy scale there
            part[mask == 0] = 0
            np.multiply(part, self.scale, out=part)
        return (dx,)
