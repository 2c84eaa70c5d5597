"""Initial weights, drawn once for each model and seed, in PyTorch's names and layout: both trainers read them."""

import zlib
from collections.abc import Callable, Sequence
from math import prod, sqrt

import numpy as np

from pocket.engine import memory
from pocket.engine.models import model as model_of
from pocket.engine.weights import export

GAUSSIAN_STD = 0.01  # the fixed width that deep sigmoid nets fail with, whatever a layer's size


def he(fan_in: int, fan_out: int) -> float:
    """sqrt(2 / fan_in): keeps the variance through ReLU. He et al. 2015, equation 10."""
    return sqrt(2 / fan_in)


def xavier(fan_in: int, fan_out: int) -> float:
    """sqrt(2 / (fan_in + fan_out)): between forward and backward. Glorot & Bengio 2010, equation 12."""
    return sqrt(2 / (fan_in + fan_out))


def gaussian(fan_in: int, fan_out: int) -> float:
    """0.01 for every layer."""
    return GAUSSIAN_STD


INITIALISATIONS: dict[str, Callable[[int, int], float]] = {"he": he, "xavier": xavier, "gaussian": gaussian}


def initial_weights(
    model: str, input_shape: Sequence[int], outputs: int, width: float, initialisation: str, seed: int
) -> dict[str, np.ndarray]:
    """Name -> float32 array: every parameter and running statistic of a model, as PyTorch's `state_dict` names them.

    Convolutions (outputs, inputs, h, w) and linear layers (outputs, inputs) are normal with mean 0 and the standard
    deviation of `initialisation`; fan_in = inputs h w, fan_out = outputs h w. Biases are 0; BatchNorm starts with
    weight 1, running mean 0, variance 1, and 0 batches (int64). Each array is drawn from its own stream, made of seed
    and name, so it does not depend on what else a model has. Raises ValueError for an unknown name.
    """
    if initialisation not in INITIALISATIONS:
        raise ValueError(f"initialisation {initialisation!r} is not known; wanted one of {', '.join(INITIALISATIONS)}")
    with memory.use(memory.Pool()):
        shapes = {name: array.shape for name, array in export(model_of(model, input_shape, outputs, width)).items()}
    return {name: _initial(name, shape, INITIALISATIONS[initialisation], seed) for name, shape in shapes.items()}


def _initial(name: str, shape: tuple[int, ...], deviation: Callable[[int, int], float], seed: int) -> np.ndarray:
    if name.endswith("num_batches_tracked"):
        return np.zeros(shape, np.int64)
    if len(shape) < 2:
        starts_at_one = name.endswith(("running_var", ".weight"))  # a BatchNorm's: other weights have more axes
        return np.full(shape, 1.0 if starts_at_one else 0.0, np.float32)
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    places = prod(shape[2:])
    drawn = rng.standard_normal(shape, dtype=np.float32)
    drawn *= deviation(shape[1] * places, shape[0] * places)
    return drawn
