"""Jobs for the tests: small data in memory, weights drawn by PyTorch itself."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from pocket.baseline.models import model
from pocket.contract import Job, MicroBatch, Step

SETTINGS = {
    "trainer": "torch",
    "device": "cpu",
    "threads": 1,
    "width": 0.25,
    "epochs": 1,
    "optimizer": "sgd",
    "learning_rate": 0.05,
    "momentum": 0.9,
    "schedule": "constant",
    "precision": "fp32",
    "memory_format": "channels_last",
    "divide_loss": True,
    "max_updates": None,
}


def weights(name: str, shape: tuple[int, ...], outputs: int, width: float, seed: int = 0) -> dict[str, np.ndarray]:
    """Initial weights in PyTorch's names and layout."""
    torch.manual_seed(seed)
    return {key: value.numpy() for key, value in model(name, shape, outputs, width).state_dict().items()}


def cut(x: np.ndarray, y: np.ndarray, batch: int, micro: int) -> list[MicroBatch]:
    """The samples in their order, in groups of `batch`, each in micro-batches of `micro`."""
    parts = []
    for group in range(0, len(x), batch):
        end = min(group + batch, len(x))
        for start in range(group, end, micro):
            stop = min(start + micro, end)
            parts.append(MicroBatch(x[start:stop], y[start:stop], end - group, stop == end))
    return parts


def image_job(name: str, parts: int = 10, batch: int = 8, micro: int | None = None, **settings: Any) -> Job:
    """`parts` batches of noise, 8 x 8 pixels in three colours, 4 classes."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 256, (parts * batch, 8, 8, 3), dtype=np.uint8)
    y = rng.integers(0, 4, parts * batch)
    chosen = {**SETTINGS, "model": name, **settings}
    return job_of(chosen, cut(x, y, batch, micro or batch), weights(name, (8, 8, 3), 4, chosen["width"]), (8, 8, 3), 4)


def job_of(
    settings: Mapping[str, Any],
    batches: list[MicroBatch],
    initial: Mapping[str, np.ndarray],
    shape: tuple[int, ...],
    outputs: int,
    task: str = "classification",
) -> Job:
    """A job that serves the same batches every epoch."""

    def serve(epoch: int) -> Iterator[MicroBatch]:
        return iter(batches)

    channels = shape[-1]
    mean, std = np.linspace(0.4, 0.5, channels), np.linspace(0.2, 0.3, channels)
    updates = sum(part.ends_group for part in batches)
    return Job(settings, initial, serve, updates, shape, outputs, task, mean.astype(np.float32), std.astype(np.float32))


def losses(events: Iterator[Any]) -> list[float]:
    """The loss of every update."""
    return [float(event.loss) for event in events if isinstance(event, Step)]
