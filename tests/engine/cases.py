"""The table of cases that drives every operator test: name -> operator, input shapes, bytes saved.

An operator is in the table with every setting that takes another path: strides with and without a remainder, padding,
bias or none, channels above and below a register tile, overlapping windows. Bytes are stated for float32.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from pocket.engine.ops.activation import ReLU, Sigmoid
from pocket.engine.ops.conv import Conv2d, TiledConv2d
from pocket.engine.ops.dropout import Dropout
from pocket.engine.ops.fused import ConvNormReluPool, NormReluMean, PreActivationBlock
from pocket.engine.ops.linear import Flatten, Linear
from pocket.engine.ops.loss import CrossEntropy, MeanSquaredError
from pocket.engine.ops.norm import BatchNorm, Standardise
from pocket.engine.ops.pool import AvgPool2d, GlobalAvgPool, MaxPool2d
from pocket.engine.ops.residual import Add

Shapes = tuple[tuple[int, ...], ...]
Draw = Callable[[np.random.Generator, Shapes, Any], tuple[np.ndarray, ...]]


def normal(rng, shapes, dtype):
    """Standard normal values."""
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


def apart(rng, shapes, dtype):
    """Values at least 0.02 from each other and 0.01 from 0: nothing near a tie or a kink."""
    return tuple(
        ((rng.permutation(prod(shape)) - prod(shape) // 2 + 0.5) * 0.02).reshape(shape).astype(dtype)
        for shape in shapes
    )


def labelled(rng, shapes, dtype):
    """Logits and a label a row."""
    logits, labels = shapes
    return rng.standard_normal(logits).astype(dtype), rng.integers(0, logits[1], labels)


def pixels(rng, shapes, dtype):
    """uint8 images."""
    return tuple(rng.integers(0, 256, shape, dtype=np.uint8) for shape in shapes)


@dataclass(frozen=True)
class Case:
    """One operator at one size. `draw` makes its inputs, the same ones each time."""

    operator: Any
    shapes: Shapes
    saved_bytes: int
    draw: Draw = normal
    training: bool = True
    seed: int = field(default=0, kw_only=True)

    def inputs(self, dtype) -> tuple[np.ndarray, ...]:
        """The operator's inputs; float ones in dtype."""
        return self.draw(np.random.default_rng(self.seed), self.shapes, dtype)

    @property
    def size(self) -> int:
        """Values in all inputs and parameters."""
        return sum(map(prod, (*self.shapes, *self.operator.parameter_shapes().values())))


def of_images(operator, image, n=2, **more) -> Case:
    """A case that saves its input of n images."""
    return Case(operator, ((n, *image),), 4 * n * prod(image), **more)


def convolutions(kind) -> dict[str, Case]:
    """Every path through a convolution, for one of the two that compute it."""
    name = kind.__name__
    return {
        f"{name} 3x3 padded": of_images(kind(3, 4, 3, padding=1), (5, 6, 3)),
        f"{name} 3x3 padded, no bias": of_images(kind(2, 3, 3, padding=1, bias=False), (4, 4, 2), n=3),
        f"{name} 3x3 valid, one channel": of_images(kind(1, 2, 3), (5, 4, 1), n=1),
        f"{name} 3x3 stride 2, no remainder": of_images(kind(2, 3, 3, stride=2), (5, 5, 2)),
        f"{name} 3x3 stride 2, remainder": of_images(kind(2, 3, 3, stride=2), (6, 6, 2)),
        f"{name} 3x3 stride 2 padded, remainder": of_images(kind(3, 2, 3, stride=2, padding=1), (6, 8, 3)),
        f"{name} 7x7 stride 3, pad 2": of_images(kind(1, 1, 7, stride=3, padding=2), (16, 16, 1), n=1),
        f"{name} 1x1": of_images(kind(4, 3, 1), (3, 4, 4)),
        f"{name} 1x1 stride 2": of_images(kind(4, 3, 1, stride=2, bias=False), (5, 4, 4)),
        f"{name} 1x1 stride 3x1, a last strip of one row": of_images(kind(2, 3, 1, stride=(3, 1)), (7, 4, 2)),
        f"{name} 2x2 stride 3 skips inputs": of_images(kind(2, 2, 2, stride=3), (8, 7, 2)),
        f"{name} 2x2 pad 1": of_images(kind(2, 3, 2, padding=1), (4, 3, 2)),
        f"{name} 5x5 pad 2": of_images(kind(2, 2, 5, padding=2), (5, 6, 2)),
        f"{name} 3x1 stride 2x1": of_images(kind(2, 3, (3, 1), stride=(2, 1), padding=(1, 0)), (6, 5, 2)),
        f"{name} 1x3 stride 1x2": of_images(kind(2, 3, (1, 3), stride=(1, 2), padding=(0, 1)), (4, 7, 2)),
        f"{name} many channels": of_images(kind(35, 37, 3, padding=1), (3, 3, 35)),
        f"{name} wide rows": of_images(kind(3, 5, 3, padding=1), (2, 19, 3)),
        f"{name} wide rows, many channels": of_images(kind(17, 18, 3, padding=1), (2, 9, 17), n=1),
        f"{name} many channels, stride 2": of_images(kind(17, 34, 3, stride=2, padding=1), (4, 4, 17)),
        f"{name} many places": of_images(kind(1, 2, 1), (8, 17, 1)),
        f"{name} first layer": of_images(kind(3, 4, 3, padding=1, input_gradient=False), (4, 4, 3)),
    }


def pooled_block(inputs, outputs, image, n=2, *, seed, **more) -> Case:
    """Convolution to 2x2 pooling. It saves its input, the convolution's output, and two float64 values a channel."""
    values = n * image[0] * image[1]
    operator = ConvNormReluPool(inputs, outputs, **more)
    of_input, draw = (1, pixels) if operator.standardise else (4, normal)
    saved = values * (of_input * inputs + 4 * outputs) + 16 * outputs
    return Case(operator, ((n, *image, inputs),), saved, draw, seed=seed)


def residual_block(inputs, outputs, image, n=2, *, seed, stride=1) -> Case:
    """A pre-activation block. It saves the two maps that it normalises, and two float64 values a channel of each."""
    values, small = n * image[0] * image[1], n * -(-image[0] // stride) * -(-image[1] // stride)
    saved = 4 * (values * inputs + small * outputs) + 16 * (inputs + outputs)
    return Case(PreActivationBlock(inputs, outputs, stride), ((n, *image, inputs),), saved, seed=seed)


OF_PIXELS = Standardise((0.4, 0.5, 0.6), (0.2, 0.3, 0.25), 255.0)
CASES = {
    "linear": Case(Linear(5, 3), ((4, 5),), 80),
    "linear, no bias": Case(Linear(5, 3, bias=False), ((4, 5),), 80),
    "linear, more outputs than rows": Case(Linear(4, 9), ((2, 4),), 32),
    "linear, one row": Case(Linear(6, 2), ((1, 6),), 24),
    "linear, many outputs": Case(Linear(3, 40), ((5, 3),), 60),
    "linear, first layer": Case(Linear(5, 3, input_gradient=False), ((4, 5),), 80),
    "flatten": Case(Flatten(), ((2, 3, 4, 2),), 0),
    **convolutions(Conv2d),
    "Conv2d depthwise, 24 channels": of_images(Conv2d(24, 24, 3, stride=2, padding=1, groups=24), (6, 6, 24), n=1),
    "Conv2d depthwise, 23 channels": of_images(Conv2d(23, 23, 3, stride=2, padding=1, groups=23), (5, 4, 23)),
    "Conv2d two groups": of_images(Conv2d(4, 6, 3, padding=1, groups=2), (4, 5, 4)),
    **convolutions(TiledConv2d),
    "batch norm 1d": Case(BatchNorm(3), ((6, 3),), 72 + 48),
    "batch norm 1d, two rows": Case(BatchNorm(4, epsilon=1e-2), ((2, 4),), 32 + 64),
    "batch norm 2d": Case(BatchNorm(3), ((2, 3, 4, 3),), 288 + 48),
    "batch norm 2d, plain average": Case(BatchNorm(2, momentum=None), ((3, 3, 3, 2),), 216 + 32),
    "batch norm 2d, many rows": Case(BatchNorm(2), ((2, 9, 9, 2),), 1296 + 32),
    "batch norm in evaluation": Case(BatchNorm(3), ((2, 3, 4, 3),), 288 + 36, training=False),
    "pooled block": pooled_block(3, 4, (4, 6), seed=1),
    "pooled block, odd sides": pooled_block(2, 3, (5, 7), seed=0),
    "pooled block 1x1": pooled_block(4, 3, (4, 4), kernel=1, seed=1),
    "pooled block 5x5, plain average": pooled_block(2, 2, (4, 5), kernel=5, momentum=None, seed=0),
    "pooled block, many channels": pooled_block(17, 35, (4, 4), seed=3),
    "pooled block, wide rows": pooled_block(3, 17, (2, 18), n=3, epsilon=1e-2, seed=7),
    "pooled block, first layer": pooled_block(3, 4, (4, 6), input_gradient=False, seed=1),
    "pooled block, pixels": pooled_block(3, 4, (4, 6), input_gradient=False, standardise=OF_PIXELS, seed=1),
    "pooled block, pixels, many channels, odd sides": pooled_block(
        3, 17, (5, 3), input_gradient=False, standardise=OF_PIXELS, seed=1
    ),
    "residual block": residual_block(3, 3, (4, 5), seed=0),
    "residual block, more channels": residual_block(2, 4, (4, 3), seed=0),
    "residual block, stride 2": residual_block(3, 4, (4, 6), stride=2, seed=0),
    "residual block, stride 2, odd sides": residual_block(3, 3, (5, 7), stride=2, seed=2),
    "residual block, many channels": residual_block(17, 17, (3, 9), seed=8),
    "residual block, many channels, stride 2": residual_block(17, 33, (4, 4), stride=2, seed=0),
    "norm, relu, mean": Case(NormReluMean(3), ((3, 4, 5, 3),), 720 + 48, seed=0),
    "norm, relu, mean, one place": Case(NormReluMean(4, momentum=None), ((5, 1, 1, 4),), 80 + 64, seed=0),
    "relu": Case(ReLU(), ((3, 4, 2),), 96, apart),
    "sigmoid": Case(Sigmoid(), ((3, 4, 2),), 96),
    "max pool 2x2": Case(MaxPool2d(2), ((2, 4, 6, 3),), 36, apart),
    "max pool 2x2, remainder": Case(MaxPool2d(2), ((2, 5, 7, 3),), 36, apart),
    "max pool 3x3 stride 2, overlapping": Case(MaxPool2d(3, stride=2, padding=1), ((2, 4, 6, 2),), 24, apart),
    "max pool 3x3 stride 1": Case(MaxPool2d(3, stride=1), ((2, 5, 4, 2),), 24, apart),
    "max pool 2x2 pad 1, ceil": Case(MaxPool2d(2, padding=1, ceil_mode=True), ((2, 5, 5, 2),), 36, apart),
    "max pool 1x1 stride 2, ceil": Case(MaxPool2d(1, stride=2, ceil_mode=True), ((1, 6, 7, 2),), 24, apart),
    "max pool 3x2 stride 1x2": Case(MaxPool2d((3, 2), stride=(1, 2), padding=(1, 0)), ((2, 4, 5, 2),), 32, apart),
    "average pool 2x2": Case(AvgPool2d(2), ((2, 4, 6, 3),), 0),
    "average pool 3x3 stride 2, padded": Case(AvgPool2d(3, stride=2, padding=1), ((2, 5, 7, 2),), 0),
    "average pool 3x2 stride 1x2": Case(AvgPool2d((3, 2), stride=(1, 2), padding=(1, 0)), ((2, 4, 5, 2),), 0),
    "global average pool": Case(GlobalAvgPool(), ((2, 3, 4, 5),), 0),
    "add": Case(Add(), ((2, 3, 4), (2, 3, 4)), 0),
    "dropout": Case(Dropout(0.4), ((5, 7),), 5),
    "dropout of everything": Case(Dropout(1.0), ((5, 7),), 5),
    "dropout in evaluation": Case(Dropout(0.4), ((5, 7),), 0, training=False),
    "cross-entropy": Case(CrossEntropy(), ((6, 4), (6,)), 96 + 48, labelled),
    "mean squared error": Case(MeanSquaredError(), ((5, 3), (5, 3)), 60),
    "standardise images": Case(OF_PIXELS, ((2, 3, 4, 3),), 0, pixels),
}

# What gets no gradient, on purpose: labels and targets, pixels, and the input of a first layer.
WITHOUT_INPUT_GRADIENT = {
    ("linear, first layer", 0),
    ("Conv2d first layer", 0),
    ("TiledConv2d first layer", 0),
    ("pooled block, first layer", 0),
    ("pooled block, pixels", 0),
    ("pooled block, pixels, many channels, odd sides", 0),
    ("cross-entropy", 1),
    ("mean squared error", 1),
    ("standardise images", 0),
}
