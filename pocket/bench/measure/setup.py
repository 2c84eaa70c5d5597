"""What a worker prepares before it trains: data, weights and the job made of them."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pocket.bench.measure.score import score
from pocket.contract import Epoch, Job, MicroBatch
from pocket.data import Batches, Dataset, describe_last_batch, load, smallest_map

Wrap = Callable[[Callable[[int], Iterator[MicroBatch]]], Callable[[int], Iterator[MicroBatch]]]


@dataclass
class Setup:
    """The settings of one side, complete, and its inputs."""

    settings: Mapping[str, Any]
    dataset: Dataset
    weights: dict[str, np.ndarray]
    batches: Batches

    def job(self, wrap: Wrap, updates: int | None = None) -> Job:
        """The job. `wrap` puts something around its batches; `updates` replaces what the settings say of its length."""
        settings = dict(self.settings)
        if updates is not None:
            settings |= {"epochs": math.ceil(updates / self.batches.updates_per_epoch), "max_updates": updates}
        return Job(
            settings=settings,
            weights=self.weights,
            batches=wrap(self.batches),
            updates_per_epoch=self.batches.updates_per_epoch,
            input_shape=self.dataset.input_shape,
            outputs=self.dataset.outputs,
            task=self.dataset.task,
            input_mean=self.dataset.mean,
            input_std=self.dataset.std,
        )

    @property
    def updates(self) -> int:
        """How many updates the settings ask for."""
        whole = int(self.settings["epochs"]) * self.batches.updates_per_epoch
        most = self.settings["max_updates"]
        return whole if most is None else min(whole, int(most))

    def score(self, event: Epoch) -> dict[str, Any]:
        """The test split, graded, as many samples at a time as the trainer is used to."""
        data = self.dataset
        return score(event.predict, data.x_test, data.y_test, data.task, self.batches.micro_batch_size)


def prepare(settings: Mapping[str, Any], data: Path, weights: Path) -> Setup:
    """Map the data, read the weights, cut the batches. Raises Mistake for what cannot be trained on."""
    dataset = load(data)
    batch_size, steps = int(settings["batch_size"]), int(settings["accumulation_steps"])
    positions = smallest_map(settings["model"], dataset.input_shape)
    describe_last_batch(len(dataset.x_train), batch_size, steps, settings["last_batch"], positions)
    batches = Batches(
        dataset, batch_size, steps, int(settings["seed"]), tuple(settings["augmentation"]), settings["last_batch"]
    )
    with np.load(weights) as stored:
        return Setup(settings, dataset, {name: stored[name] for name in stored.files}, batches)
