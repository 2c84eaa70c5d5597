"""The three models, named and sized as their PyTorch counterparts."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pocket.engine.nn import Layer, Net
from pocket.engine.ops.activation import ReLU
from pocket.engine.ops.conv import TiledConv2d
from pocket.engine.ops.fused import ConvNormReluPool, NormReluMean, PreActivationBlock
from pocket.engine.ops.linear import Flatten, Linear
from pocket.engine.ops.norm import Standardise


def scaled(width: float, *counts: int) -> list[int]:
    """Channel and hidden counts times the width, rounded, at least 1."""
    return [max(1, round(count * width)) for count in counts]


def mlp(input_shape: Sequence[int], outputs: int, width: float) -> list[Layer]:
    """fc1 (128 wide), fc2 (64), fc3, with ReLU between."""
    first, second = scaled(width, 128, 64)
    inputs = int(np.prod(input_shape))
    image = _image(input_shape) if len(input_shape) == 3 else None
    return [
        Layer(Flatten()),
        Layer(Linear(inputs, first, input_gradient=False), "fc1", flattened=image),
        Layer(ReLU()),
        Layer(Linear(first, second), "fc2"),
        Layer(ReLU()),
        Layer(Linear(second, outputs), "fc3"),
    ]


def simple_cnn(input_shape: Sequence[int], outputs: int, width: float) -> list[Layer]:
    """Three of convolution, BatchNorm, ReLU and pooling (32, 64, 128 channels), then fc1 (128) and fc2."""
    H, W, before = _image(input_shape)
    *widths, hidden = scaled(width, 32, 64, 128, 128)
    if min(H, W) < 8:
        raise ValueError(
            f"simple_cnn got images of {H} x {W}; it halves them three times, so wanted a resolution of 8 up"
        )
    layers = []
    for number, wide in enumerate(widths, start=1):
        operator = ConvNormReluPool(before, wide, input_gradient=number > 1)
        layers.append(Layer(operator, f"block{number}", {"conv": f"conv{number}", "norm": f"norm{number}"}))
        H, W, before = H // 2, W // 2, wide
    return [
        *layers,
        Layer(Flatten()),
        Layer(Linear(H * W * before, hidden), "fc1", flattened=(H, W, before)),
        Layer(ReLU()),
        Layer(Linear(hidden, outputs), "fc2"),
    ]


def resnet(input_shape: Sequence[int], outputs: int, width: float) -> list[Layer]:
    """Pre-activation residual net: stem, stages of 3, 4 and 3 blocks (64, 128, 256 channels), norm, mean, fc."""
    before = scaled(width, 64)[0]
    layers = [Layer(TiledConv2d(_image(input_shape)[2], before, 3, 1, 1, bias=False, input_gradient=False), "stem")]
    for stage, (wide, blocks) in enumerate(zip(scaled(width, 64, 128, 256), (3, 4, 3), strict=True)):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            layers.append(Layer(PreActivationBlock(before, wide, stride), f"stages.{stage}.{block}"))
            before = wide
    return [*layers, Layer(NormReluMean(before), "norm"), Layer(Linear(before, outputs), "fc")]


MODELS: dict[str, Callable[[Sequence[int], int, float], list[Layer]]] = {
    "mlp": mlp,
    "simple_cnn": simple_cnn,
    "resnet": resnet,
}


def model(
    name: str,
    input_shape: Sequence[int],
    outputs: int,
    width: float = 1.0,
    *,
    input_mean: np.ndarray | None = None,
    input_std: np.ndarray | None = None,
    dtype="float32",
) -> Net:
    """A net of `name`, its weights 0 until loaded. With mean and std its first operator standardises the inputs too.

    input_shape is (H, W, C) of uint8 images, or (F,) of table rows. Raises ValueError for an unknown name.
    """
    if name not in MODELS:
        raise ValueError(f"model {name!r} is not known; wanted one of {', '.join(MODELS)}")
    layers = MODELS[name](input_shape, outputs, width)
    if input_mean is not None and input_std is not None:
        mean, std = (tuple(float(value) for value in values) for values in (input_mean, input_std))
        divisor = 255.0 if len(input_shape) == 3 else 1.0
        layers = _standardised(layers, Standardise(mean, std, divisor, np.dtype(dtype).name))
    return Net(layers, dtype)


def _standardised(layers: list[Layer], standardise: Standardise) -> list[Layer]:
    first = layers[0]
    if not isinstance(first.operator, ConvNormReluPool):
        return [Layer(standardise), *layers]
    return [replace(first, operator=replace(first.operator, standardise=standardise)), *layers[1:]]


def _image(input_shape: Sequence[int]) -> tuple[int, int, int]:
    if len(input_shape) != 3:
        raise ValueError(f"input shape {tuple(input_shape)}; wanted images (H, W, C); table rows train the mlp")
    H, W, C = input_shape
    return H, W, C
