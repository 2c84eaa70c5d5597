"""The gradient check: an operator's backward against the central difference of its forward, in float64.

    from pocket.engine import gradcheck
    gradcheck.check_elements(MyOperator(), (x,))      # {"input 0": 3e-11, "weight": 8e-12}: every one below 1e-5
    gradcheck.check_direction(MyOperator(), (x,))     # 2e-11, at the cost of two forwards whatever the size

Both compare gradients of L = sum(y dy) for a random dy. The difference is wrong where forward has a kink: keep inputs
of ReLU or of max pooling further than 1e-3 from a tie. Randomness is off: forward gets a fresh generator of the same
seed each time, and running statistics start again from the same values.

Shifting a whole tensor at once, (L(x + h) - L(x - h)) / 2h for all elements together, gives the sum of the gradient's
elements, and so rejects correct gradients: element by element is meant, or one direction for all with the scalar
product.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

STEP = 1e-5  # balances the difference's own error, about STEP^2, with rounding, about 1e-16 / STEP
SMALL = 1e-3  # gradients that are all smaller than this are compared absolutely: rounding would decide otherwise


class Gradients(NamedTuple):
    """What one forward and one backward gave."""

    y: np.ndarray
    inputs: tuple[np.ndarray | None, ...]  # one an input; None where the operator gives none
    parameters: dict[str, np.ndarray]

    def named(self) -> dict[str, np.ndarray]:
        """All gradients that were given, as "input 0", ... and the parameters' own names."""
        of_inputs = {f"input {i}": dx for i, dx in enumerate(self.inputs) if dx is not None}
        return of_inputs | self.parameters


def draw_parameters(operator: Any, rng: np.random.Generator, dtype=np.float64) -> dict[str, np.ndarray]:
    """Parameters of the operator's shapes from a standard normal distribution."""
    return {name: rng.standard_normal(shape).astype(dtype) for name, shape in operator.parameter_shapes().items()}


def draw_state(operator: Any, rng: np.random.Generator, dtype=np.float64) -> dict[str, np.ndarray]:
    """Running statistics of the operator's shapes: means normal, variances from 0.5 to 2, counts 1."""
    state = {}
    for name, shape in operator.state_shapes().items():
        if name.endswith("num_batches_tracked"):
            state[name] = np.ones(shape, dtype=np.int64)
        elif name.endswith("running_var"):
            state[name] = rng.uniform(0.5, 2.0, shape).astype(dtype)
        else:
            state[name] = rng.standard_normal(shape).astype(dtype)
    return state


class Check:
    """One operator at one point: its inputs, parameters, running statistics and upstream gradient dy.

    What is not given is drawn from `seed`, in the floats' type of the inputs, or in `dtype` where they have none. Every
    run starts from copies, since forward moves running statistics and backward may overwrite dy and what was saved.
    """

    def __init__(
        self,
        operator: Any,
        inputs: tuple[np.ndarray, ...],
        parameters: Mapping[str, np.ndarray] | None = None,
        state: Mapping[str, np.ndarray] | None = None,
        training: bool = True,
        seed: int = 0,
        dtype: Any = np.float64,
    ):
        rng = np.random.default_rng(seed)
        dtype = next((x.dtype for x in inputs if x.dtype.kind == "f"), np.dtype(dtype))
        self.operator, self.inputs, self.training, self.seed = operator, inputs, training, seed
        self.parameters = dict(draw_parameters(operator, rng, dtype) if parameters is None else parameters)
        self.state = dict(draw_state(operator, rng, dtype) if state is None else state)
        self.dy = np.asarray(rng.standard_normal(self.forward(inputs, self.parameters)[0].shape)).astype(dtype)

    def forward(self, inputs: tuple[np.ndarray, ...], parameters: Mapping[str, np.ndarray]) -> tuple[np.ndarray, tuple]:
        """y and what was saved."""
        state = {name: array.copy() for name, array in self.state.items()}
        return self.operator.forward(inputs, parameters, state, np.random.default_rng(self.seed), self.training)

    def loss(self, inputs: tuple[np.ndarray, ...], parameters: Mapping[str, np.ndarray]) -> float:
        """L = sum(y dy)."""
        return float(np.sum(self.forward(inputs, parameters)[0] * self.dy))

    def backward(self) -> Gradients:
        """y and the gradients of L, from the operator's own backward."""
        y, saved = self.forward(self.inputs, self.parameters)
        gradients = {name: np.zeros_like(p) for name, p in self.parameters.items()}
        y_kept = y.copy()
        dx = self.operator.backward(self.dy.copy(), saved, self.parameters, gradients)
        return Gradients(y_kept, tuple(dx), gradients)

    def moved(self, directions: Mapping[str, np.ndarray], step: float) -> float:
        """L with every named array moved by step times its direction."""
        inputs = tuple(
            x + step * directions[f"input {i}"] if f"input {i}" in directions else x for i, x in enumerate(self.inputs)
        )
        parameters = {
            name: p + step * directions[name] if name in directions else p for name, p in self.parameters.items()
        }
        return self.loss(inputs, parameters)

    def difference(self, directions: Mapping[str, np.ndarray]) -> float:
        """The central difference (L(+STEP v) - L(-STEP v)) / 2 STEP."""
        return (self.moved(directions, STEP) - self.moved(directions, -STEP)) / (2 * STEP)


def check_elements(operator: Any, inputs: tuple[np.ndarray, ...], **point) -> dict[str, float]:
    """Largest error of each gradient, found element by element, relative to the largest element of that gradient.

    inputs      the operator's inputs; float64 for errors near 1e-10
    point       parameters, state, training, seed, dtype as in Check
    """
    check = Check(operator, inputs, **point)
    errors = {}
    for name, gradient in check.backward().named().items():
        numeric = np.array([check.difference({name: unit}) for unit in _units(gradient.shape)])
        wrong = np.abs(gradient.reshape(-1) - numeric)
        errors[name] = float(wrong.max(initial=0) / max(np.abs(numeric).max(initial=0), SMALL))
    return errors


def _units(shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    unit = np.zeros(shape)
    for index in np.ndindex(*shape):
        unit[index] = 1
        yield unit
        unit[index] = 0


def check_direction(operator: Any, inputs: tuple[np.ndarray, ...], **point) -> float:
    """Relative error of <dx, vx> + <dW, vW> against the central difference along one random (vx, vW).

    Relative to the gradient's norm, which is the product's usual size. Arguments as in check_elements.
    """
    check = Check(operator, inputs, **point)
    gradients = check.backward().named()
    rng = np.random.default_rng([check.seed, 1])
    directions = {name: rng.standard_normal(gradient.shape) for name, gradient in gradients.items()}
    product = sum(float(np.sum(gradient * directions[name])) for name, gradient in gradients.items())
    norm = np.sqrt(sum(float(np.sum(np.square(gradient))) for gradient in gradients.values()))
    difference = check.difference(directions)
    return abs(product - difference) / max(abs(difference), norm, SMALL)
