"""Bricks: a layer is an operator with a name, a chain runs layers one after the other, a residual adds a way around.

A brick says how arrays flow and owns none. `Net` binds a brick to its weights, gradients and running statistics.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pocket.engine import memory
from pocket.engine.operator import Array, Operator
from pocket.engine.ops.residual import Add
from pocket.engine.tensor import NOTHING, Tape, Tensor


@dataclass(frozen=True)
class Layer:
    """An operator under the name of the PyTorch module it stands for.

    `parts` renames the parts of a fused operator: {"conv": "conv1"} makes "conv.weight" the parameter "conv1.weight".
    `flattened` is the (H, W, C) that was flattened before a linear layer; PyTorch flattens C H W, see `weights`.
    """

    operator: Operator
    name: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    flattened: tuple[int, int, int] | None = None

    def full_name(self, local: str) -> str:
        """The name in the net of one of the operator's parameters or statistics."""
        part, dot, rest = local.partition(".")
        if dot and part in self.parts:
            return f"{self.parts[part]}.{rest}"
        return f"{self.name}.{local}" if self.name else local


@dataclass(frozen=True)
class Chain:
    """Bricks one after the other."""

    bricks: tuple["Brick", ...]


@dataclass(frozen=True)
class Residual:
    """trunk(x) + shortcut(x); an empty chain passes x itself."""

    trunk: "Brick"
    shortcut: "Brick"


Brick = Layer | Chain | Residual


def layers(brick: Brick) -> Iterator[Layer]:
    """Every layer of a brick, in order."""
    if isinstance(brick, Layer):
        yield brick
        return
    for part in brick.bricks if isinstance(brick, Chain) else (brick.trunk, brick.shortcut):
        yield from layers(part)


class Net:
    """A brick with its arrays, named as PyTorch names them, in the layout the operators compute with.

    parameters, state   name -> array: weights, and running statistics
    gradients           name -> array; bind with `use_gradients` before training
    """

    def __init__(self, brick: Brick, dtype: Any = np.float32):
        self.brick, self.dtype = brick, np.dtype(dtype)
        self.parameters: dict[str, Array] = {}
        self.state: dict[str, Array] = {}
        self._bound: dict[int, tuple[dict, dict, dict]] = {}
        for layer in layers(brick):
            self._bind(layer)

    def _bind(self, layer: Layer) -> None:
        parameters, state = {}, {}
        for local, shape in layer.operator.parameter_shapes().items():
            parameters[local] = self.parameters[layer.full_name(local)] = memory.zeros(shape, self.dtype, "weights")
        for local, shape in layer.operator.state_shapes().items():
            dtype = np.dtype(np.int64) if local.endswith("num_batches_tracked") else self.dtype
            array = memory.zeros(shape, dtype, "weights")
            array.fill(1 if local.endswith("running_var") else 0)
            state[local] = self.state[layer.full_name(local)] = array
        self._bound[id(layer)] = parameters, {}, state

    def use_gradients(self, gradients: Mapping[str, Array]) -> None:
        """The buffers that backward adds to, one for each parameter; an optimizer owns them."""
        for layer in layers(self.brick):
            parameters, bound, _ = self._bound[id(layer)]
            bound.update({local: gradients[layer.full_name(local)] for local in parameters})

    def forward(self, tape: Tape, x: Array, rng: Any = None) -> Tensor:
        """The net's output in training mode, recorded on the tape."""
        return self._record(self.brick, tape, Tensor(x), rng)

    def _record(self, brick: Brick, tape: Tape, x: Tensor, rng: Any) -> Tensor:
        if isinstance(brick, Layer):
            parameters, gradients, state = self._bound[id(brick)]
            return tape.apply(brick.operator, (x,), parameters, gradients, state, rng, brick.name)
        if isinstance(brick, Chain):
            for part in brick.bricks:
                x = self._record(part, tape, x, rng)
            return x
        both = self._record(brick.trunk, tape, x, rng), self._record(brick.shortcut, tape, x, rng)
        return tape.apply(Add(), both)

    def predict(self, x: Array) -> Array:
        """The net's output in evaluation mode: running statistics, nothing recorded, nothing changed."""
        return self._evaluate(self.brick, x)

    def _evaluate(self, brick: Brick, x: Array) -> Array:
        if isinstance(brick, Layer):
            parameters, _, state = self._bound[id(brick)]
            return brick.operator.forward((x,), parameters, state, None, False)[0]
        if isinstance(brick, Chain):
            for part in brick.bricks:
                x = self._evaluate(part, x)
            return x
        inputs = self._evaluate(brick.trunk, x), self._evaluate(brick.shortcut, x)
        return Add().forward(inputs, NOTHING, NOTHING, None, False)[0]
