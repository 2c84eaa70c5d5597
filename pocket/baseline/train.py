"""Training in PyTorch: the loop one would write by hand, told as events (see `pocket.contract`)."""

from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pocket.baseline.device import autocast, device, is_mixed
from pocket.baseline.network import Input, initial_network
from pocket.baseline.optimizer import optimizer, schedule_factor, set_learning_rate
from pocket.contract import BatchReady, Epoch, Event, Job, MicroBatch, Step, Transferred

Loss = Callable[[Tensor, Tensor], Tensor]


def train(job: Job) -> Generator[Event, Any, None]:
    """Trains the model of `job.settings` from `job.weights`. ValueError for an unsupported device or setting."""
    torch.set_num_threads(int(job.settings["threads"]))
    yield from fit(job, initial_network(job, device(job.settings)))


def fit(job: Job, network: nn.Module) -> Generator[Event, Any, None]:
    """Trains `network`, which lies on its device already, and yields the events of the contract; epochs count from 0.

    With `max_updates` training ends after that many, with the Epoch event of the epoch it is in.
    """
    settings = job.settings
    update = Update(job, network)
    left = settings.get("max_updates") or settings["epochs"] * job.updates_per_epoch
    for epoch in range(settings["epochs"]):
        update.set_epoch(epoch)
        batches = job.batches(epoch)
        for _ in range(min(left, job.updates_per_epoch)):
            yield from update.run(batches)
        left -= min(left, job.updates_per_epoch)
        yield Epoch(epoch, predictor(job, network))
        if left == 0:
            return


class Update:
    """One optimizer update from the micro-batches of its group."""

    def __init__(self, job: Job, network: nn.Module) -> None:
        self.settings = job.settings
        self.network = network
        self.device = device(job.settings)
        self.input = Input(job, self.device)
        self.loss: Loss = F.cross_entropy if job.task == "classification" else F.mse_loss
        self.mixed = is_mixed(job.settings)
        self.optimizer = optimizer(network.parameters(), job.settings)
        # float16 loses gradients below 6e-8, so on a card the loss is scaled; bfloat16 reaches as low as float32
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.mixed and self.device.type == "cuda")
        network.train()

    def set_epoch(self, epoch: int) -> None:
        """The learning rate changes between epochs only."""
        factor = schedule_factor(self.settings.get("schedule", "constant"), epoch, self.settings["epochs"])
        set_learning_rate(self.optimizer, self.settings["learning_rate"] * factor)

    def run(self, batches: Iterator[MicroBatch]) -> Generator[Event, Any, None]:
        """Takes a group of micro-batches, adds up their gradients, updates.

        The loss of the group is the mean over its samples: sum of loss_i * n_i / group_samples, whatever the sizes
        n_i. With divide_loss off, the mistake of the articles is made on purpose: the gradients of the undivided
        means are added.
        """
        total: Tensor | float = 0.0
        self.optimizer.zero_grad(set_to_none=True)
        for batch in batches:
            yield BatchReady()
            x, y = self.input.send(batch.x), self.input.send(batch.y)
            yield Transferred()
            share = len(batch.y) / batch.group_samples
            loss = self.forward(x, y)
            self.scaler.scale(loss * share if self.settings.get("divide_loss", True) else loss).backward()
            total = total + loss.detach() * share
            if batch.ends_group:
                break
        self.scaler.step(self.optimizer)
        self.scaler.update()
        yield Step(total, batch.group_samples)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean loss of one micro-batch."""
        with autocast(self.device, self.mixed):
            outputs = self.network(self.input.normalise(x))
            return self.loss(outputs, y.to(self.input.dtype) if y.is_floating_point() else y)


def predictor(job: Job, network: nn.Module) -> Callable[[np.ndarray], np.ndarray]:
    """A function from host inputs to host outputs (logits or values, float32 or float64), for one batch of any size.

    It works in evaluation mode and keeps no graph; running statistics stay as they are, and training mode returns.
    """
    place = device(job.settings)
    inputs = Input(job, place)
    mixed = is_mixed(job.settings)

    def predict(x: np.ndarray) -> np.ndarray:
        was_training = network.training
        network.eval()
        try:
            with torch.no_grad(), autocast(place, mixed):
                return network(inputs.normalise(inputs.send(x))).to(inputs.dtype).cpu().numpy()
        finally:
            network.train(was_training)

    return predict
