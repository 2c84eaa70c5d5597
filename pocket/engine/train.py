"""The training loop: batches, tape, backward, optimizer; what it yields is described in `pocket.contract`."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pocket.contract import BatchReady, Epoch, Event, Job, MicroBatch, Step, Transferred
from pocket.engine import array, memory, weights
from pocket.engine.kernels import threads
from pocket.engine.models import model
from pocket.engine.nn import Net
from pocket.engine.ops.loss import CrossEntropy, MeanSquaredError
from pocket.engine.optim import Optimizer, optimizer
from pocket.engine.schedule import learning_rate
from pocket.engine.tensor import Observer, Tape, Tensor


def build(job: Job) -> Net:
    """The job's net with its initial weights, in the current pool."""
    settings = job.settings
    net = model(
        settings["model"],
        job.input_shape,
        job.outputs,
        settings.get("width", 1.0),
        input_mean=job.input_mean,
        input_std=job.input_std,
        dtype=settings.get("dtype", "float32"),
    )
    weights.load(net, job.weights)
    return net


def build_optimizer(net: Net, settings: Mapping[str, Any]) -> Optimizer:
    """The job's optimizer, bound to the net. Each micro-batch is scaled by its share, so the optimizer divides none."""
    made = optimizer(
        settings.get("optimizer", "sgd"),
        net.parameters,
        settings.get("learning_rate", 0.01),
        momentum=settings.get("momentum", 0.9),
        nesterov=settings.get("nesterov", False),
        weight_decay=settings.get("weight_decay", 0.0),
    )
    net.use_gradients(made.gradients)
    return made


class Trainer:
    """A net, its optimizer and its loss; one micro-batch or one update at a time."""

    def __init__(self, job: Job, observers: list[Observer] | None = None):
        self.net = build(job)
        self.optimizer = build_optimizer(self.net, job.settings)
        self.loss = CrossEntropy() if job.task == "classification" else MeanSquaredError()
        self.observers = observers or []
        self.divide = job.settings.get("divide_loss", True)
        self.batch_size = job.settings.get("batch_size", 64)
        self.rng = np.random.default_rng(job.settings.get("seed", 0))

    def accumulate(self, x, y, group_samples: int) -> float:
        """Forward and backward of one micro-batch. Returns its part of the group's mean loss, nan when it diverged."""
        share = len(x) / group_samples
        tape = Tape(self.observers)
        if y.dtype.kind == "f" and y.dtype != self.net.dtype:
            targets, y = y, memory.empty(y.shape, self.net.dtype, "input")
            np.copyto(y, targets, casting="same_kind")
        with np.errstate(all="ignore"):  # the loss says so when a run diverges
            loss = tape.apply(self.loss, (self.net.forward(tape, x, self.rng), Tensor(y)), name="loss")
            # each loss is a mean over its own samples: the share makes the sum of gradients the large batch's gradient
            loss.backward(share if self.divide else 1.0)
        return float(loss.data) * share

    def update(self) -> None:
        """One step of the optimizer with what was accumulated."""
        self.optimizer.step()
        self.optimizer.zero_grad()

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Outputs in evaluation mode for host inputs, a batch at a time, in memory that no pool owns."""
        batches = [x[i : i + self.batch_size] for i in range(0, len(x), self.batch_size)] or [x]
        with np.errstate(all="ignore"):
            return np.concatenate([array.to_host(self.net.predict(array.to_device(batch))) for batch in batches])


def train(job: Job, pool: memory.Pool | None = None, observers: list[Observer] | None = None) -> Iterator[Event]:
    """Trains and yields the events of the contract. Every array of a step comes from `pool`.

    Epochs count from 0. With `max_updates` training ends after that many, with the Epoch event of the epoch it is in.
    Raises ValueError for precision "amp", which the engine does not have, and PoolExhausted beyond the pool's budget.
    """
    settings = job.settings
    if settings.get("precision", "fp32") != "fp32":
        raise ValueError(f"precision {settings['precision']!r}: the engine computes in fp32 alone; set precision: fp32")
    pool = pool or memory.Pool()
    threads.set_count(settings.get("threads") or threads.count())
    # the engine's own threads split the work; a second set inside BLAS would only get in their way
    with threadpool_limits(1, "blas"):
        with memory.use(pool):
            trainer = Trainer(job, observers)

        def predict(x: np.ndarray) -> np.ndarray:
            with memory.use(pool):
                return trainer.predict(x)

        epochs, limit = settings.get("epochs", 1), settings.get("max_updates")
        for number in range(epochs):
            rate = learning_rate(
                settings.get("schedule", "constant"), settings.get("learning_rate", 0.01), number, epochs
            )
            trainer.optimizer.learning_rate = rate
            yield from _epoch(trainer, pool, job.batches(number), limit)
            yield Epoch(number, predict)
            if limit is not None and trainer.optimizer.updates >= limit:
                return


def _epoch(trainer: Trainer, pool: memory.Pool, batches: Iterator[MicroBatch], limit: int | None) -> Iterator[Event]:
    loss = 0.0
    for batch in batches:
        yield BatchReady()
        with memory.use(pool):
            x, y = array.to_device(batch.x), array.to_device(batch.y)
        yield Transferred()
        with memory.use(pool):
            loss += trainer.accumulate(x, y, batch.group_samples)
            if not batch.ends_group:
                continue
            trainer.update()
        yield Step(loss, batch.group_samples)
        loss = 0.0
        if limit is not None and trainer.optimizer.updates >= limit:
            return


WARM_UP = (("mlp", "sgd", 0.0), ("simple_cnn", "adam", 0.0), ("resnet", "sgd", 0.9))  # each kernel is in one of them


def warm_up(dtype: str = "float32") -> None:
    """Translates every kernel that a run with `dtype` calls and keeps it on disk, so that later runs only load it."""
    shape, mean, std = (8, 8, 3), np.zeros(3), np.ones(3)
    batches = functools.partial(_once, MicroBatch(np.zeros((2, *shape), np.uint8), np.zeros(2, np.int64), 2, True))
    for name, rule, momentum in WARM_UP:
        settings = {"model": name, "width": 0.01, "optimizer": rule, "momentum": momentum, "dtype": dtype}
        with memory.use(memory.Pool(capacity_bytes=1 << 26)):
            zeros = weights.export(model(name, shape, 2, 0.01))
        for _ in train(Job(settings, zeros, batches, 1, shape, 2, "classification", mean, std)):
            pass


def _once(batch: MicroBatch, epoch: int) -> Iterator[MicroBatch]:
    yield batch
