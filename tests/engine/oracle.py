"""What PyTorch computes for each operator, on the engine's layouts: N H W C, weights as the operator holds them.

ORACLES[type](operator, inputs, parameters, state, training) -> y, all torch tensors; running statistics move in place.
Layouts are exchanged inside, so PyTorch's gradients come back in the engine's layout by themselves.
"""

import torch
from torch.nn import functional

from pocket.engine.ops.activation import ReLU, Sigmoid
from pocket.engine.ops.conv import Conv2d, TiledConv2d
from pocket.engine.ops.fused import ConvNormReluPool, NormReluMean, PreActivationBlock
from pocket.engine.ops.linear import Flatten, Linear
from pocket.engine.ops.loss import CrossEntropy, MeanSquaredError
from pocket.engine.ops.norm import BatchNorm, Standardise
from pocket.engine.ops.pool import AvgPool2d, GlobalAvgPool, MaxPool2d
from pocket.engine.ops.residual import Add


def nchw(x):
    """N H W C -> N C H W."""
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    """N C H W -> N H W C."""
    return x.permute(0, 2, 3, 1)


def linear(operator, inputs, parameters, state, training):
    return functional.linear(inputs[0], parameters["weight"], parameters.get("bias"))


def flatten(operator, inputs, parameters, state, training):
    return inputs[0].flatten(1)


def convolution(operator, inputs, parameters, state, training):
    weight = parameters["weight"].permute(3, 2, 0, 1)
    settings = (operator.stride, operator.padding, 1, getattr(operator, "groups", 1))
    return nhwc(functional.conv2d(nchw(inputs[0]), weight, parameters.get("bias"), *settings))


def batch_norm(operator, inputs, parameters, state, training):
    x = inputs[0] if inputs[0].ndim == 2 else nchw(inputs[0])
    state["num_batches_tracked"] += 1
    rate = 1 / float(state["num_batches_tracked"]) if operator.momentum is None else operator.momentum
    running, affine = (state["running_mean"], state["running_var"]), (parameters["weight"], parameters["bias"])
    y = functional.batch_norm(x, *running, *affine, training, rate, operator.epsilon)
    return y if y.ndim == 2 else nhwc(y)


def max_pool(operator, inputs, parameters, state, training):
    window = (operator.kernel, operator.stride, operator.padding, 1, operator.ceil_mode)
    return nhwc(functional.max_pool2d(nchw(inputs[0]), *window))


def average_pool(operator, inputs, parameters, state, training):
    return nhwc(functional.avg_pool2d(nchw(inputs[0]), operator.kernel, operator.stride, operator.padding))


def standardise(operator, inputs, parameters, state, training):
    (x,) = inputs
    return (x.float() / operator.divisor - torch.tensor(operator.mean)) / torch.tensor(operator.std)


def part(values, name):
    """The entries of one part of a fused operator, without its name."""
    return {key.removeprefix(name + "."): value for key, value in values.items() if key.startswith(name + ".")}


def norm_relu(operator, x, parameters, state, training):
    """N C H W, unlike the others."""
    return nchw(batch_norm(operator, (nhwc(x),), parameters, state, training)).relu()


def pooled_block(operator, inputs, parameters, state, training):
    weight, bias = parameters["conv.weight"].permute(3, 2, 0, 1), parameters["conv.bias"]
    x = inputs[0]
    if operator.standardise:
        mean, std = (torch.tensor(v, dtype=weight.dtype) for v in (operator.standardise.mean, operator.standardise.std))
        x = (x.to(weight.dtype) / operator.standardise.divisor - mean) / std
    y = functional.conv2d(nchw(x), weight, bias, padding=operator.kernel // 2)
    a = norm_relu(operator, y, part(parameters, "norm"), part(state, "norm"), training)
    return nhwc(functional.max_pool2d(a, 2))


def residual_block(operator, inputs, parameters, state, training):
    x = nchw(inputs[0])
    weights = {name: value.permute(3, 2, 0, 1) for name, value in parameters.items() if value.ndim == 4}
    a = norm_relu(operator, x, part(parameters, "norm1"), part(state, "norm1"), training)
    u = functional.conv2d(a, weights["conv1.weight"], stride=operator.stride, padding=1)
    b = norm_relu(operator, u, part(parameters, "norm2"), part(state, "norm2"), training)
    around = functional.conv2d(a, weights["shortcut.weight"], stride=operator.stride) if len(weights) == 3 else x
    return nhwc(functional.conv2d(b, weights["conv2.weight"], padding=1) + around)


def norm_relu_mean(operator, inputs, parameters, state, training):
    return norm_relu(operator, nchw(inputs[0]), parameters, state, training).mean((2, 3))


ORACLES = {
    Linear: linear,
    Flatten: flatten,
    Conv2d: convolution,
    TiledConv2d: convolution,
    BatchNorm: batch_norm,
    ConvNormReluPool: pooled_block,
    PreActivationBlock: residual_block,
    NormReluMean: norm_relu_mean,
    ReLU: lambda operator, inputs, parameters, state, training: inputs[0].relu(),
    Sigmoid: lambda operator, inputs, parameters, state, training: inputs[0].sigmoid(),
    MaxPool2d: max_pool,
    AvgPool2d: average_pool,
    GlobalAvgPool: lambda operator, inputs, parameters, state, training: inputs[0].mean((1, 2)),
    Add: lambda operator, inputs, parameters, state, training: inputs[0] + inputs[1],
    CrossEntropy: lambda operator, inputs, parameters, state, training: functional.cross_entropy(*inputs),
    MeanSquaredError: lambda operator, inputs, parameters, state, training: functional.mse_loss(*inputs),
    Standardise: standardise,
}
