"""Linear, and Flatten before it."""

from dataclasses import dataclass

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import of
from pocket.engine.operator import Parameterless, check_channels


@dataclass(frozen=True)
class Linear:
    """y = x W^T + b.

    x (N, inputs) -> y (N, outputs); weight (outputs, inputs), bias (outputs,).
    dx = dy W, dW += dy^T x, db += sum_n dy. Saves x. `input_gradient` false leaves dx out: a net's first layer.
    """

    inputs: int
    outputs: int
    bias: bool = True
    input_gradient: bool = True

    def parameter_shapes(self):
        shapes = {"weight": (self.outputs, self.inputs)}
        return {**shapes, "bias": (self.outputs,)} if self.bias else shapes

    def state_shapes(self):
        return {}

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        check_channels(self, x, self.inputs)
        y = memory.empty((len(x), self.outputs), x.dtype)
        of(x).product(x, parameters["weight"].T, y)
        if self.bias:
            np.add(y, parameters["bias"], out=y)
        return y, (x,)

    def backward(self, dy, saved, parameters, gradients):
        (x,) = saved
        # forward was y = x W^T + b, so each weight's gradient is the product of its output's dy and its input
        of(dy).add_product(dy.T, x, gradients["weight"])
        if self.bias:
            sums = memory.empty(self.outputs, dy.dtype)
            np.add.reduce(dy, axis=0, out=sums)
            np.add(gradients["bias"], sums, out=gradients["bias"])
        if not self.input_gradient:
            return (None,)
        dx = memory.empty(x.shape, dy.dtype)
        of(dy).product(dy, parameters["weight"], dx)
        return (dx,)


@dataclass(frozen=True)
class Flatten(Parameterless):
    """x (N, ...) -> y (N, product of the rest): a view, in the order H W C. Saves the shape."""

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        return of(x).contiguous(x).reshape(len(x), -1 if x.size else int(np.prod(x.shape[1:]))), (x.shape,)

    def backward(self, dy, saved, parameters, gradients):
        (shape,) = saved
        return (dy.reshape(shape),)
