"""The arithmetic of a run, counted from its settings alone, before anything is measured or even prepared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Data set -> side in pixels (None: rows), channels or features, training samples, test samples, outputs.
# A folder of pictures is not opened to plan a run: what is taken for it is a guess.
_SHAPES: Mapping[str, tuple[int | None, int, int, int, int]] = {
    "digits": (8, 1, 1_437, 360, 10),
    "color_digits": (8, 3, 1_437, 360, 10),
    "fashion_mnist": (28, 1, 60_000, 10_000, 10),
    "cifar10": (32, 3, 50_000, 10_000, 10),
    "tabular": (None, 20, 8_000, 2_000, 1),
    "folder": (64, 3, 8_000, 2_000, 10),
}
_MEMORY_UPDATES = 5


@dataclass(frozen=True)
class Work:
    """What one side of a run computes."""

    updates: int
    sample_passes: float  # samples forward and backward; a scored one counts a third
    flops: float


def work(settings: Mapping[str, Any]) -> Work:
    """The work of one side, from its complete settings. Forward is 2 floating point operations a multiply-add, and
    backward twice as much."""
    train, test = samples(settings)
    batch = min(settings["batch_size"], train)
    if settings["kind"] == "train":
        an_epoch = train // batch if settings["last_batch"] == "drop" else -(-train // batch)
        updates = min(settings["epochs"] * an_epoch, settings["max_updates"] or float("inf"))
        epochs = -(-updates // an_epoch)
        passes = min(updates * batch, epochs * train) + epochs * test / 3
    else:
        blocks = settings["blocks"] * settings["updates_per_block"] if settings["kind"] == "pair" else _MEMORY_UPDATES
        updates = settings["warmup_updates"] + blocks
        passes = updates * batch
    return Work(int(updates), passes, 6.0 * multiply_adds(settings) * passes)


def samples(settings: Mapping[str, Any]) -> tuple[int, int]:
    """How many training and test samples a run has."""
    _, _, train, test, _ = _shape(settings)
    return min(settings["train_samples"] or train, train), min(settings["test_samples"] or test, test)


def multiply_adds(settings: Mapping[str, Any]) -> float:
    """Multiply-adds of one sample's forward pass: convolutions and linear layers, which are nearly all of it."""
    side, channels, _, _, outputs = _shape(settings)
    width = settings["width"]
    if settings["model"] == "mlp":
        inputs = channels * (side * side if side else 1)
        return inputs * 128 * width + 128 * 64 * width**2 + 64 * width * outputs
    assert side is not None  # rows go through an mlp only, which the experiment's check has seen to
    model = _simple_cnn if settings["model"] == "simple_cnn" else _resnet
    return model(side, channels, width)


def _shape(settings: Mapping[str, Any]) -> tuple[int | None, int, int, int, int]:
    side, *rest = _SHAPES[settings["dataset"].partition(":")[0]]
    return (settings["resolution"] or side, *rest) if side else (None, *rest)  # type: ignore[return-value]


def _simple_cnn(side: int, channels: int, width: float) -> float:
    pixels = side * side
    first = 9 * channels * 32 * width * pixels
    others = 9 * (32 * 64 * pixels / 4 + 64 * 128 * pixels / 16) * width**2
    return first + others + 128 * (pixels / 64) * 128 * width**2


def _resnet(side: int, channels: int, width: float) -> float:
    total = 9 * channels * 64 * width * side * side
    into = 64
    for stage, (blocks, out) in enumerate([(3, 64), (4, 128), (3, 256)]):
        pixels = side * side / 4**stage
        shortcut = into * out if into != out else 0
        total += pixels * width**2 * (9 * into * out + shortcut + (2 * blocks - 1) * 9 * out * out)
        into = out
    return total
