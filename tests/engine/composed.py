"""Fused operators spelled out in plain ones, on a tape: what they have to agree with, and where their kinks lie."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pocket.engine import gradcheck
from pocket.engine.ops.activation import ReLU
from pocket.engine.ops.conv import Conv2d, TiledConv2d
from pocket.engine.ops.fused import ConvNormReluPool, NormReluMean, PreActivationBlock
from pocket.engine.ops.norm import BatchNorm
from pocket.engine.ops.pool import GlobalAvgPool, MaxPool2d
from pocket.engine.ops.residual import Add
from pocket.engine.tensor import Tape, Tensor


class Recording(NamedTuple):
    """A tape, and the arrays of its operators by the prefix of their names. In evaluation it records nothing."""

    tape: Tape
    parameters: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]
    state: dict[str, np.ndarray]
    training: bool = True

    def apply(self, operator: Any, *inputs: Tensor, prefix: str = "") -> Tensor:
        def mine(arrays, shapes):
            return {name: arrays[prefix + name] for name in shapes}

        parameters, state = (
            mine(self.parameters, operator.parameter_shapes()),
            mine(self.state, operator.state_shapes()),
        )
        if not self.training:
            return Tensor(operator.forward(tuple(x.data for x in inputs), parameters, state, None, False)[0])
        return self.tape.apply(operator, inputs, parameters, mine(self.gradients, operator.parameter_shapes()), state)


class Parts(NamedTuple):
    """The output, the inputs of every ReLU, and the maps that were pooled."""

    y: Tensor
    before_relu: list[np.ndarray]
    pooled: list[np.ndarray]


def tiled_conv(operator: TiledConv2d, record: Recording, x: Tensor) -> Parts:
    settings = (operator.kernel, operator.stride, operator.padding, operator.bias)
    return Parts(record.apply(Conv2d(operator.inputs, operator.outputs, *settings), x), [], [])


def conv_norm_relu_pool(operator: ConvNormReluPool, record: Recording, x: Tensor) -> Parts:
    conv = Conv2d(operator.inputs, operator.outputs, operator.kernel, padding=operator.kernel // 2)
    norm = BatchNorm(operator.outputs, operator.epsilon, operator.momentum)
    if operator.standardise:
        x = record.apply(replace(operator.standardise, dtype=record.parameters["conv.weight"].dtype.name), x)
    z = record.apply(norm, record.apply(conv, x, prefix="conv."), prefix="norm.")
    a = record.apply(ReLU(), z)
    return Parts(record.apply(MaxPool2d(2), a), [z.data.copy()], [a.data.copy()])


def pre_activation_block(operator: PreActivationBlock, record: Recording, x: Tensor) -> Parts:
    inputs, outputs, stride = operator.inputs, operator.outputs, operator.stride
    z1 = record.apply(BatchNorm(inputs, operator.epsilon, operator.momentum), x, prefix="norm1.")
    a = record.apply(ReLU(), z1)
    u = record.apply(Conv2d(inputs, outputs, 3, stride, 1, bias=False), a, prefix="conv1.")
    z2 = record.apply(BatchNorm(outputs, operator.epsilon, operator.momentum), u, prefix="norm2.")
    v = record.apply(Conv2d(outputs, outputs, 3, 1, 1, bias=False), record.apply(ReLU(), z2), prefix="conv2.")
    around = x
    if operator.changes_shape:
        around = record.apply(Conv2d(inputs, outputs, 1, stride, bias=False), a, prefix="shortcut.")
    return Parts(record.apply(Add(), v, around), [z1.data.copy(), z2.data.copy()], [])


def norm_relu_mean(operator: NormReluMean, record: Recording, x: Tensor) -> Parts:
    z = record.apply(BatchNorm(operator.channels, operator.epsilon, operator.momentum), x)
    return Parts(record.apply(GlobalAvgPool(), record.apply(ReLU(), z)), [z.data.copy()], [])


COMPOSED = {
    TiledConv2d: tiled_conv,
    ConvNormReluPool: conv_norm_relu_pool,
    PreActivationBlock: pre_activation_block,
    NormReluMean: norm_relu_mean,
}


def run(check: gradcheck.Check) -> tuple[gradcheck.Gradients, dict[str, np.ndarray], Parts]:
    """Output and gradients of the plain operators at the point of a check, and the running statistics they leave."""
    x = Tensor(check.inputs[0], wants_gradient=True)
    gradients = {name: np.zeros_like(p) for name, p in check.parameters.items()}
    state = {name: array.copy() for name, array in check.state.items()}
    record = Recording(Tape(), check.parameters, gradients, state)
    parts = COMPOSED[type(check.operator)](check.operator, record, x)
    y = parts.y.data.copy()
    # sum(y dy), whose gradient is dy: the tape starts from a number
    loss = record.tape.apply(_WeightedSum(check.dy), (parts.y,))
    loss.backward()
    return gradcheck.Gradients(y, (x.gradient,), gradients), state, parts


def evaluate(check: gradcheck.Check, state: dict[str, np.ndarray]) -> np.ndarray:
    """The plain operators' output in evaluation, with these running statistics."""
    record = Recording(Tape(), check.parameters, {}, state, training=False)
    return COMPOSED[type(check.operator)](check.operator, record, Tensor(check.inputs[0])).y.data


class _WeightedSum:
    """sum(x dy) for a fixed dy."""

    def __init__(self, dy):
        self.dy = dy

    def forward(self, inputs, parameters, state, rng, training):
        return np.asarray(np.sum(inputs[0] * self.dy)), ()

    def backward(self, dy, saved, parameters, gradients):
        return (dy * self.dy,)


def distance_from_kinks(check: gradcheck.Check) -> float:
    """How far the nearest input of a ReLU is from 0, and of a 2x2 maximum from a tie above 0."""
    _, _, parts = run(check)
    distances = [np.abs(z).min() for z in parts.before_relu]
    for a in parts.pooled:
        N, H, W, C = a.shape
        windows = a[:, : H // 2 * 2, : W // 2 * 2].reshape(N, H // 2, 2, W // 2, 2, C).transpose(0, 1, 3, 5, 2, 4)
        second, first = np.sort(windows.reshape(-1, 4), axis=1)[:, -2:].T
        distances.append((first - second)[first > 0].min())
    return float(min(distances, default=np.inf))
