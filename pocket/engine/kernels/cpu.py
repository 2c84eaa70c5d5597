"""All kernels for NumPy arrays, under the names that the kernels of every array library have."""

# ruff: noqa: F401 - this module is a list of what others define

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels.cpu_convolution import (
    NORMALISED,
    POOLED,
    GradientOfNormalised,
    Normalised,
    add_channel_sums,
    convolve,
    convolve_gradient,
)  # fmt: skip
from pocket.engine.kernels.cpu_normalise import gradient_sums, input_gradient, moments, scale_shift
from pocket.engine.kernels.cpu_normalised_pool import normalised_pool, normalised_pool_sums
from pocket.engine.kernels.cpu_patch import output_size, patch_convolution, patch_convolution_gradient
from pocket.engine.kernels.cpu_product import add_product, product
from pocket.engine.kernels.cpu_update import adam, sgd, sgd_momentum


def contiguous(x: np.ndarray) -> np.ndarray:
    """x itself where its values lie one after the other, else a copy from the pool."""
    if x.flags.c_contiguous:
        return x
    copy = memory.empty(x.shape, x.dtype)
    np.copyto(copy, x)
    return copy
