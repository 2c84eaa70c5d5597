"""One small job of ten updates, run by the engine's trainer and by plain PyTorch from the same weights and batches."""

import numpy as np
import torch
from torch.nn import functional

from pocket import contract
from pocket.engine.initialise import initial_weights
from pocket.engine.train import train

from .pytorch_nets import net

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
    return np.array([float(event.loss) for event in drained(a_job) if isinstance(event, contract.Step)])


def drained(a_job):
    """All events of a training; the score is of no interest to it."""
    return list(train(a_job))


def pytorch_losses(a_job, memory_format=torch.contiguous_format):
    """The loss of each update, in plain PyTorch."""
    settings = a_job.settings
    dtype = getattr(torch, settings["dtype"])
    model = net(settings["model"], a_job.input_shape, a_job.outputs, settings["width"], a_job.weights, dtype)
    model = model.to(memory_format=memory_format)
    mean, std = (torch.tensor(array, dtype=dtype).view(-1, 1, 1) for array in (MEAN, STD))
    optimizer = _optimizer(model, settings)
    losses, gathered = [], 0.0
    for batch in a_job.batches(0):
        pixels = torch.from_numpy(batch.x).permute(0, 3, 1, 2).to(dtype) / 255
        x = ((pixels - mean) / std).contiguous(memory_format=memory_format)
        loss = functional.cross_entropy(model(x), torch.from_numpy(batch.y)) * (len(batch.y) / batch.group_samples)
        loss.backward()
        gathered += loss.item()
        if batch.ends_group:
            optimizer.step()
            optimizer.zero_grad()
            losses.append(gathered)
            gathered = 0.0
    return np.array(losses)


def _optimizer(model, settings):
    shared = {"lr": settings["learning_rate"], "weight_decay": settings["weight_decay"]}
    if settings["optimizer"] == "adam":
        return torch.optim.Adam(model.parameters(), **shared)
    if settings["optimizer"] == "adamw":
        return torch.optim.AdamW(model.parameters(), **shared)
    momentum = {"momentum": settings["momentum"], "nesterov": settings["nesterov"]}
    return torch.optim.SGD(model.parameters(), **shared, **momentum)
