"""A layer is an operator with a name and owns no array; a net runs layers one after the other and owns the arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pocket.engine import memory
from pocket.engine.operator import Array, Operator
from pocket.engine.tensor import Tape, Tensor


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


class Net:
    """Layers one after the other, their arrays named as PyTorch names them, in the layout the operators compute with.

    parameters, state   name -> array: weights, and running statistics
    gradients           name -> array; bind with `use_gradients` before training
    """

    def __init__(self, layers: Sequence[Layer], dtype: Any = np.float32):
        self.layers, self.dtype = tuple(layers), np.dtype(dtype)
        self.parameters: dict[str, Array] = {}
        self.state: dict[str, Array] = {}
        self._bound = [self._bind(layer) for layer in self.layers]

    def _bind(self, layer: Layer) -> tuple[dict, dict, dict]:
        parameters, state = {}, {}
        for local, shape in layer.operator.parameter_shapes().items():
            if (name := layer.full_name(local)) in self.parameters:
                raise ValueError(
                    f"two layers have a parameter {name!r}; wanted names of their own: Layer(operator, name)"
                )
            parameters[local] = self.parameters[name] = memory.zeros(shape, self.dtype, "weights")
        for local, shape in layer.operator.state_shapes().items():
            dtype = np.dtype(np.int64) if local.endswith("num_batches_tracked") else self.dtype
            array = memory.zeros(shape, dtype, "weights")
            array.fill(1 if local.endswith("running_var") else 0)
            state[local] = self.state[layer.full_name(local)] = array
        return parameters, {}, state

    def use_gradients(self, gradients: Mapping[str, Array]) -> None:
        """The buffers that backward adds to, one for each parameter; an optimizer owns them."""
        for layer, (parameters, bound, _) in zip(self.layers, self._bound, strict=True):
            bound.update({local: gradients[layer.full_name(local)] for local in parameters})

    def forward(self, tape: Tape, x: Array, rng: Any = None) -> Tensor:
        """The net's output in training mode, recorded on the tape."""
        y = Tensor(x)
        for layer, (parameters, gradients, state) in zip(self.layers, self._bound, strict=True):
            y = tape.apply(layer.operator, (y,), parameters, gradients, state, rng, layer.name)
        return y

    def predict(self, x: Array) -> Array:
        """The net's output in evaluation mode: running statistics, nothing recorded, nothing changed."""
        for layer, (parameters, _, state) in zip(self.layers, self._bound, strict=True):
            x, _ = layer.operator.forward((x,), parameters, state, None, False)
        return x
