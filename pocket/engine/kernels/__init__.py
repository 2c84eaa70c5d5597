"""Kernels: the loops under the operators. One module of them for each array library, with the same function names."""

import importlib
from types import ModuleType

import numpy as np


def of(x) -> ModuleType:
    """The kernels for the array library that `x` belongs to."""
    if isinstance(x, np.ndarray):
        return importlib.import_module("pocket.engine.kernels.cpu")
    raise ValueError(f"no kernels for {type(x).__module__}.{type(x).__name__}; wanted a numpy array")
