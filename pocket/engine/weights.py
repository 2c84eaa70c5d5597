"""Weights to and from PyTorch's layout, and in files.

PyTorch                                        engine
convolution (outputs, inputs, height, width)   (height, width, inputs, outputs)
linear after flattening C H W                  the same rows, columns in the order H W C
everything else                                the same
"""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pocket.engine.nn import Layer, Net


def load(net: Net, weights: Mapping[str, np.ndarray]) -> None:
    """Fills parameters and running statistics from arrays in PyTorch's names and layout.

    Raises ValueError, before anything is changed, for a name that is missing or too many, or a shape that differs.
    """
    wanted = export(net)
    if set(weights) != set(wanted):
        missing, extra = sorted(set(wanted) - set(weights)), sorted(set(weights) - set(wanted))
        raise ValueError(f"weights lack {missing} and have {extra} too many; wanted those of this model and width")
    for name, array in wanted.items():
        if np.shape(weights[name]) != array.shape:
            came = np.shape(weights[name])
            raise ValueError(f"weight {name} has shape {came}; wanted {array.shape}; check width, inputs and outputs")
    for layer in net.layers:
        for local in layer.operator.parameter_shapes():
            name = layer.full_name(local)
            net.parameters[name][...] = _to_engine(layer, np.asarray(weights[name]))
        for local in layer.operator.state_shapes():
            net.state[layer.full_name(local)][...] = weights[layer.full_name(local)]


def export(net: Net) -> dict[str, np.ndarray]:
    """Copies of parameters and running statistics in PyTorch's names and layout."""
    arrays = {}
    for layer in net.layers:
        for local in layer.operator.parameter_shapes():
            name = layer.full_name(local)
            arrays[name] = np.array(_to_pytorch(layer, net.parameters[name]))
        for local in layer.operator.state_shapes():
            arrays[layer.full_name(local)] = np.array(net.state[layer.full_name(local)])
    return arrays


def _to_engine(layer: Layer, w: np.ndarray) -> np.ndarray:
    if w.ndim == 4:
        return w.transpose(2, 3, 1, 0)
    if w.ndim == 2 and layer.flattened:
        H, W, C = layer.flattened
        return w.reshape(-1, C, H, W).transpose(0, 2, 3, 1).reshape(w.shape)
    return w


def _to_pytorch(layer: Layer, w: np.ndarray) -> np.ndarray:
    if w.ndim == 4:
        return np.ascontiguousarray(w.transpose(3, 2, 0, 1))
    if w.ndim == 2 and layer.flattened:
        H, W, C = layer.flattened
        return w.reshape(-1, H, W, C).transpose(0, 3, 1, 2).reshape(w.shape)
    return w


def save(net: Net, path: str | Path) -> None:
    """Writes the weights to an .npz file, which is complete under its name or not there at all."""
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(unfinished, "wb") as file:
            np.savez(file, allow_pickle=False, **export(net))
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def restore(net: Net, path: str | Path) -> None:
    """Loads what `save` wrote. The file holds plain arrays: reading it never runs code."""
    with np.load(path, allow_pickle=False) as file:
        load(net, dict(file))
