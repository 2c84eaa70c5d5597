"""The contract between a trainer and the harness: what a trainer is given and what it yields.

A trainer is a generator function `train(job)`. It never looks at a clock, never grades itself and never measures its
own memory. It yields one event when it reaches each point below, and the harness, which holds the clock and the score,
decides what to do about it:

    for each epoch:
        for each update:
            for each micro-batch of the update:
                yield BatchReady()      # the host arrays are there
                yield Transferred()     # they are on the device
            yield Step(loss, samples)   # forward, backward and update are queued; nothing was synchronised
        score = yield Epoch(number, predict)
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class MicroBatch(NamedTuple):
    """What is sent to the device at once; one update takes `accumulation_steps` of them (fewer in a last group)."""

    x: np.ndarray  # images: uint8 N H W C; table rows: float32 N F
    y: np.ndarray  # class labels: int64 N; regression targets: float32 N 1
    group_samples: int  # samples in the whole update: mean loss of the group = sum(loss_i * len(x_i) / group_samples)
    ends_group: bool  # the update follows this micro-batch


@dataclass(frozen=True)
class Job:
    """One training run, complete: settings, initial weights, batches. Nothing else enters a trainer."""

    settings: Mapping[str, Any]  # validated run settings, see docs/experiments.md
    weights: Mapping[str, np.ndarray]  # initial weights and buffers, PyTorch's names and layout, float32
    batches: Callable[[int], Iterator[MicroBatch]]  # epoch number -> its micro-batches; alike for every trainer
    updates_per_epoch: int  # optimizer updates in one epoch, a last smaller group included
    input_shape: tuple[int, ...]  # (H, W, C) of an image, (F,) of a table row
    outputs: int  # classes, or regression targets
    task: str  # "classification" or "regression"
    input_mean: np.ndarray  # float32, per channel (of pixels / 255) or per feature, from the training split
    input_std: np.ndarray  # float32, likewise


@dataclass(frozen=True)
class BatchReady:
    """A micro-batch stands ready in host memory."""


@dataclass(frozen=True)
class Transferred:
    """That micro-batch was sent to the device."""


@dataclass(frozen=True)
class Step:
    """One optimizer update has been queued."""

    loss: Any  # float(loss) gives the mean loss of the update's samples, and may synchronise the device
    samples: int


@dataclass(frozen=True)
class Epoch:
    """The end of an epoch, or of training. The harness answers with the score, a mapping of names to numbers."""

    number: int
    predict: Callable[[np.ndarray], np.ndarray]  # host inputs as in MicroBatch.x -> host outputs (logits or values)


Event = BatchReady | Transferred | Step | Epoch
