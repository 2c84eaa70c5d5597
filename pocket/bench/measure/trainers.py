"""The only door to the trainers: what the harness may ask of one, and the two there are. Neither is imported early."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from pocket.bench.plan.value import size_bytes

if TYPE_CHECKING:  # NumPy stands behind the contract, and a supervisor must start without it
    import numpy as np

    from pocket.contract import Event, Job


class LiveProbe(Protocol):
    """Measures live bytes of a run that nobody times, from before its model is built."""

    def warm(self) -> None:
        """Warm-up is over: the peak counts from here."""

    def watch(self) -> None:
        """The next update is the one whose timeline is wanted."""

    def numbers(self) -> dict[str, Any]:
        """`live_peak_bytes`, `account_peak_bytes`, `reserved_peak_bytes`, `method`, `timeline` of a memory record."""


class Trainer(Protocol):
    """One trainer as the harness sees it, in a worker that serves one run of `settings`."""

    synchronise: Callable[[], object] | None  # brings the device to rest; None where it always is

    def prepare(self, settings: Mapping[str, Any]) -> None:
        """Import what the run needs, and cap its memory where `memory_budget` asks for it."""

    def start(self, job: "Job") -> "Iterator[Event]":
        """The generator of events, with nothing done yet."""

    def account(self) -> dict[str, Any]:
        """`live_peak_bytes`, `reserved_peak_bytes` since `forget`: None, with a `_reason`, where nobody knows."""

    def forget(self) -> None:
        """Let the peaks start again from what is held now."""

    def live_bytes(self) -> int | None:
        """What is live now, by the allocator's own account; for the report of a shortage."""

    def device_used_bytes(self) -> int | None:
        """What the whole GPU holds now, whoever took it; None on a CPU, or where it does not answer."""

    def probe(self, settings: Mapping[str, Any]) -> AbstractContextManager[LiveProbe]:
        """The untimed measurement of live bytes; made before `start`."""

    def touch(self, size_bytes: int) -> Any:
        """An array of the trainer's library, on the run's device, of that many bytes, every page of it written."""

    def versions(self) -> dict[str, Any]:
        """What only the loaded libraries know, for the record's `machine`."""


class EngineTrainer:
    """`pocket.engine` on the CPU."""

    def __init__(self) -> None:
        self.synchronise: Callable[[], object] | None = None
        self._pool: Any = None
        self._backing = "arena"

    def prepare(self, settings: Mapping[str, Any]) -> None:
        self._train = importlib.import_module("pocket.engine.train").train
        self._memory = importlib.import_module("pocket.engine.memory")
        self._budget = budget_bytes(settings)
        self._threads = int(settings["threads"])
        importlib.import_module("numba")  # else the first kernel would, in the first update

    def start(self, job: "Job") -> "Iterator[Event]":
        self._pool = self._memory.Pool(self._budget, backing=self._backing)
        return self._train(job, self._pool)

    def account(self) -> dict[str, Any]:
        reason = "a timed run trusts no trainer's own account: see the untimed memory run"
        return {
            "live_peak_bytes": None,
            "live_peak_bytes_reason": reason,
            "reserved_peak_bytes": self._pool.reserved_bytes,
        }

    def forget(self) -> None:
        self._pool.reset_peak()

    def live_bytes(self) -> int | None:
        return self._pool.live_bytes if self._pool is not None else None

    def device_used_bytes(self) -> int | None:
        return None

    def probe(self, settings: Mapping[str, Any]) -> AbstractContextManager[LiveProbe]:
        from pocket.bench.measure.probe_pool import PoolProbe

        self._backing = "system"
        return PoolProbe(lambda: self._pool)

    def touch(self, size_bytes: int) -> Any:
        return importlib.import_module("numpy").ones(size_bytes, "uint8")

    def versions(self) -> dict[str, Any]:
        return {}


class TorchTrainer:
    """`pocket.baseline`, PyTorch on the CPU or a GPU."""

    def __init__(self) -> None:
        self.synchronise: Callable[[], object] | None = None

    def prepare(self, settings: Mapping[str, Any]) -> None:
        self._probe = importlib.import_module("pocket.bench.measure.probe_torch")
        self._train = importlib.import_module("pocket.baseline.train").train
        if settings["kind"] != "allocation":
            importlib.import_module("torch._dynamo")  # two seconds: else the first optimizer would, inside training
        self._device = settings["device"]
        self._budget = budget_bytes(settings)
        self.synchronise = self._probe.ready(self._device, self._budget)

    def start(self, job: "Job") -> "Iterator[Event]":
        return self._train(job)

    def account(self) -> dict[str, Any]:
        return self._probe.account(self._device)

    def forget(self) -> None:
        self._probe.forget(self._device)

    def live_bytes(self) -> int | None:
        return self._probe.live_bytes(self._device)

    def device_used_bytes(self) -> int | None:
        return self._probe.device_used_bytes(self._device)

    def probe(self, settings: Mapping[str, Any]) -> AbstractContextManager[LiveProbe]:
        return self._probe.TorchProbe(self._device, self._budget)

    def touch(self, size_bytes: int) -> Any:
        return self._probe.touched(size_bytes, self._device)

    def versions(self) -> dict[str, Any]:
        return self._probe.versions()


TRAINERS: dict[str, Callable[[], Trainer]] = {"engine": EngineTrainer, "torch": TorchTrainer}


def get(name: str) -> Trainer:
    """A fresh trainer of that name; ValueError lists the known ones."""
    if name not in TRAINERS:
        raise ValueError(f"trainer {name!r}; wanted one of {', '.join(TRAINERS)}")
    return TRAINERS[name]()


def unsupported(settings: Mapping[str, Any]) -> str | None:
    """Why no trainer can do this run, in one line, or None. Settings are complete. Imports nothing."""
    trainer, device, kind = settings["trainer"], settings["device"], settings["kind"]
    if trainer == "engine" and device == "cuda":
        return "the engine has no CUDA kernels yet: its runs need device: cpu"
    if trainer == "engine" and settings["precision"] == "amp":
        return "the engine has no mixed precision yet: precision: amp needs trainer: torch"
    if trainer == "torch" and device == "cpu" and kind in ("train", "pair") and settings["memory_budget"]:
        return "PyTorch's memory on a CPU is bounded by counting in untimed runs only: a budget needs kind: memory"
    return None


def initial_weights(
    model: str, input_shape: tuple[int, ...], outputs: int, width: float, initialisation: str, seed: int
) -> "dict[str, np.ndarray]":
    """The weights that both trainers begin with, in PyTorch's names and layout, drawn by the engine's rule."""
    draw = importlib.import_module("pocket.engine.initialise").initial_weights
    return draw(model, input_shape, outputs, width, initialisation, seed)


def translate_kernels() -> None:
    """Have every kernel of the engine translated and kept, so that no run waits for it."""
    importlib.import_module("pocket.engine.train").warm_up()


def budget_bytes(settings: Mapping[str, Any]) -> int | None:
    """The run's `memory_budget` in bytes, None without one."""
    budget = settings.get("memory_budget")
    return None if budget is None else size_bytes(budget)
