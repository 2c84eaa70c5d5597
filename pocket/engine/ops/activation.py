"""Activations. Each saves its own output."""

from dataclasses import dataclass

import numpy as np

from pocket.engine import memory
from pocket.engine.operator import Parameterless


@dataclass(frozen=True)
class ReLU(Parameterless):
    """y = max(x, 0); dx = dy where y > 0, else 0. Saves y, which the next layer saves anyway."""

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        y = memory.empty(x.shape, x.dtype)
        np.maximum(x, 0, out=y)
        return y, (y,)

    def backward(self, dy, saved, parameters, gradients):
        (y,) = saved
        alive = memory.empty(y.shape, np.bool_)
        np.greater(y, 0, out=alive)
        dx = memory.zeros(dy.shape, dy.dtype)
        np.copyto(dx, dy, where=alive)
        return (dx,)


@dataclass(frozen=True)
class Sigmoid(Parameterless):
    """y = 1 / (1 + exp(-x)), finite at any x; dx = dy y (1 - y). Saves y."""

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        y = memory.empty(x.shape, x.dtype)
        # (1 + tanh(x / 2)) / 2 is the same function, and cannot overflow
        np.multiply(x, 0.5, out=y)
        np.tanh(y, out=y)
        np.add(y, 1, out=y)
        np.multiply(y, 0.5, out=y)
        return y, (y,)

    def backward(self, dy, saved, parameters, gradients):
        (y,) = saved
        dx = memory.empty(y.shape, y.dtype)
        np.subtract(1, y, out=dx)
        np.multiply(dx, y, out=dx)
        np.multiply(dx, dy, out=dx)
        return (dx,)
