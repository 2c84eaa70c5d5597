"""Small jobs of ten updates an epoch, for the engine's trainer and for the baseline's."""

from dataclasses import replace

import numpy as np
import torch

from pocket import contract
from pocket.baseline import train as baseline
from pocket.engine.initialise import initial_weights
from pocket.engine.train import train

OPTIMIZERS = {
    "sgd": {"optimizer": "sgd", "momentum": 0.0},
    "momentum": {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 1e-3},
    "nesterov": {"optimizer": "sgd", "momentum": 0.9, "nesterov": True},
    "adam": {"optimizer": "adam", "learning_rate": 1e-3},
    "adamw": {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01},
}
SHAPES = {"mlp": (8, 6, 3), "simple_cnn": (16, 16, 3), "resnet": (8, 8, 3)}
WIDTHS = {"mlp": 0.5, "simple_cnn": 0.25, "resnet": 0.125}
MEAN, STD = np.array([0.4, 0.5, 0.6], np.float32), np.array([0.2, 0.25, 0.3], np.float32)
CLASSES = 7
UPDATES = 10


def table_job(optimizer="sgd", dtype="float64", batch=12, seed=3, **more):
    """A regression on table rows: three features, one target."""
    made = job("mlp", optimizer, dtype, batch, seed, **{"learning_rate": 1e-3, **more})
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((UPDATES, batch, 3), dtype=np.float32)
    y = x.sum(axis=2, keepdims=True) ** 2

    def batches(epoch):
        for rows, targets in zip(x, y, strict=True):
            yield contract.MicroBatch(rows, targets, batch, True)

    weights = initial_weights("mlp", (3,), 1, WIDTHS["mlp"], "xavier", seed)
    return replace(made, weights=weights, batches=batches, input_shape=(3,), outputs=1, task="regression")


def job(model, optimizer="sgd", dtype="float64", batch=12, seed=3, images=None, micro_batches=1, **more):
    """Ten updates of `batch` random images each, in micro-batches of equal size."""
    settings = {
        "kind": "train",
        "trainer": "engine",
        "device": "cpu",
        "model": model,
        "width": WIDTHS[model],
        "batch_size": batch,
        "accumulation_steps": micro_batches,
        "divide_loss": True,
        "epochs": 1,
        "max_updates": None,
        "learning_rate": 0.05,
        "momentum": 0.0,
        "nesterov": False,
        "weight_decay": 0.0,
        "schedule": "constant",
        "precision": "fp32",
        "threads": 2,
        "memory_budget": None,
        "seed": seed,
        "dtype": dtype,
        **OPTIMIZERS[optimizer],
        **more,
    }
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (UPDATES, batch, *SHAPES[model]), dtype=np.uint8) if images is None else images
    y = rng.integers(0, CLASSES, (UPDATES, batch))

    def batches(epoch):
        for images_of_update, labels_of_update in zip(x, y, strict=True):
            parts = zip(
                np.split(images_of_update, micro_batches), np.split(labels_of_update, micro_batches), strict=True
            )
            for index, (some, labels) in enumerate(parts):
                yield contract.MicroBatch(some, labels, batch, index == micro_batches - 1)

    return contract.Job(
        settings=settings,
        weights=initial_weights(model, SHAPES[model], CLASSES, WIDTHS[model], "he", seed),
        batches=batches,
        updates_per_epoch=UPDATES,
        input_shape=SHAPES[model],
        outputs=CLASSES,
        task="classification",
        input_mean=MEAN,
        input_std=STD,
    )


def engine_losses(a_job):
    """The loss of each update."""
    return np.array([float(event.loss) for event in train(a_job) if isinstance(event, contract.Step)])


def baseline_losses(a_job, memory_format="contiguous"):
    """The same of the baseline. On one thread: nets this small only wait for a second one."""
    threads = torch.get_num_threads()
    settings = {**a_job.settings, "threads": 1, "memory_format": memory_format}
    try:
        events = list(baseline.train(replace(a_job, settings=settings)))
    finally:
        torch.set_num_threads(threads)
    return np.array([float(event.loss) for event in events if isinstance(event, contract.Step)])
