"""Live bytes of PyTorch: on a CPU from the profiler's allocator events, on a GPU from torch's counters."""

import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from pocket.bench.measure.unsupported import Unsupported

MARK = "pocket-harness:"
NO_RESERVE = "PyTorch holds no reserve on a CPU: what the C library keeps shows in the process"
TIMED = "the profiler slows a step: live bytes on a CPU are measured in the untimed memory run"


def ready(device: str, budget_bytes: int | None) -> Callable[[], object] | None:
    """Bring the device up and cap its memory; returns what synchronises it (None: it is synchronous).

    Raises Unsupported where PyTorch finds no such device.
    """
    if device == "cpu":
        return None
    if not torch.cuda.is_available():
        raise Unsupported(f"PyTorch {torch.__version__} finds no usable CUDA device; choose device: cpu")
    torch.cuda.init()
    if budget_bytes is not None:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, budget_bytes / total))
    return torch.cuda.synchronize


def account(device: str) -> dict[str, Any]:
    """PyTorch's counters since `forget`, and what the whole device holds now."""
    if device == "cpu":
        return {
            "live_peak_bytes": None,
            "live_peak_bytes_reason": TIMED,
            "reserved_peak_bytes": None,
            "reserved_peak_bytes_reason": NO_RESERVE,
        }
    return {
        "live_peak_bytes": torch.cuda.max_memory_allocated(),
        "reserved_peak_bytes": torch.cuda.max_memory_reserved(),
        "device_used_bytes": device_used_bytes(device),
    }


def device_used_bytes(device: str) -> int | None:
    """What the whole device holds now; None on a CPU, and after an error that CUDA does not recover from."""
    if device == "cpu":
        return None
    try:
        free, total = torch.cuda.mem_get_info()
    except RuntimeError:
        return None
    return total - free


def forget(device: str) -> None:
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()


def live_bytes(device: str) -> int | None:
    return None if device == "cpu" else torch.cuda.memory_allocated()


def versions() -> dict[str, Any]:
    """CUDA and cuDNN as PyTorch was built with them, and the vector instructions its CPU kernels use."""
    found: dict[str, Any] = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "torch_cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "torch_threads": torch.get_num_threads(),
    }
    if torch.version.cuda is None:
        found["cuda_reason"] = "this build of PyTorch has no CUDA"
    return found


class TorchProbe:
    """Profiles from before the model is built, so that parameters and optimizer state count.

    On a CPU: `live` is the sum of the allocator's events, without the batch of the host (PyTorch uses the harness's
    array in place). With a budget, `CountedStorages` bounds it. On a GPU the peak is torch's own counter.
    """

    def __init__(self, device: str, budget_bytes: int | None):
        self._device = device
        self._counted = CountedStorages(budget_bytes) if budget_bytes is not None and device == "cpu" else None
        activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device != "cpu" else [])
        self._profile = profile(activities=activities, profile_memory=True)
        self._open = ExitStack()

    @property
    def method(self) -> str:
        return "torch.profiler" if self._device == "cpu" else "torch.cuda"

    def __enter__(self) -> "TorchProbe":
        self._open.enter_context(self._profile)
        if self._counted is not None:
            self._open.enter_context(self._counted)
        return self

    def __exit__(self, *problem: object) -> None:
        self._open.close()

    def warm(self) -> None:
        """Warm-up is over: the peak counts from here."""
        forget(self._device)
        if self._counted is not None:
            self._counted.forget()
        self._mark("warm")

    def watch(self) -> None:
        """The next update is the one whose timeline is wanted."""
        self._mark("watch")

    @staticmethod
    def _mark(name: str) -> None:
        with record_function(MARK + name):
            pass

    def numbers(self) -> dict[str, Any]:
        """`live_peak_bytes`, `account_peak_bytes`, `reserved_peak_bytes`, `method`, `timeline` of a memory record."""
        counters = account(self._device)
        self._mark("end")
        self._open.close()
        marks, events = self._events()
        levels = _levels(events)
        found: dict[str, Any] = {"account_peak_bytes": None, "method": self.method}
        found["account_peak_bytes_reason"] = "PyTorch keeps no account of its own on a CPU"
        if self._counted is not None:
            found["account_peak_bytes"] = self._counted.peak_bytes
            del found["account_peak_bytes_reason"]
        found |= {name: value for name, value in counters.items() if name.startswith(("reserved", "device_used"))}
        found["live_peak_bytes"] = counters["live_peak_bytes"]
        if self._device == "cpu":
            found["live_peak_bytes"] = _highest(levels, marks.get("warm"), marks.get("end"))
        begin, end = marks.get("watch", 0), marks.get("end", 0)
        found["timeline"] = [[(at - begin) / 1e9, level] for at, level in levels if begin <= at <= end]
        return found

    def _events(self) -> tuple[dict[str, int], list[tuple[int, int]]]:
        """The marks by name, and (nanoseconds, change in bytes) of every allocation and release, in order."""
        marks, changes = {}, []
        wanted = "CPU" if self._device == "cpu" else "CUDA"
        for event in self._profile.profiler.kineto_results.events():  # type: ignore[union-attr]
            if event.name() == "[memory]" and event.device_type().name == wanted:
                changes.append((event.start_ns(), event.nbytes()))  # type: ignore[union-attr]
            elif event.name().startswith(MARK):
                marks[event.name().removeprefix(MARK)] = event.start_ns()
        return marks, sorted(changes, key=lambda change: change[0])


def _levels(changes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    live, levels = 0, []
    for at, change in changes:
        live += change
        levels.append((at, live))
    return levels


def _highest(levels: list[tuple[int, int]], begin: int | None, end: int | None) -> int | None:
    if begin is None or end is None:
        return None
    before = [level for at, level in levels if at < begin][-1:] or [0]
    return max(before + [level for at, level in levels if begin <= at <= end])


class BudgetExceeded(MemoryError):
    """The imitated card is full. `asked_bytes` and `live_bytes` tell by how much."""

    def __init__(self, asked_bytes: int, live_bytes: int, budget_bytes: int):
        self.asked_bytes, self.live_bytes = asked_bytes, live_bytes
        super().__init__(
            f"{asked_bytes:,} bytes asked for, {live_bytes:,} live of a budget of {budget_bytes:,} (imitated: storages "
            f"are counted, workspace inside an operator is not). Lower batch_size or raise memory_budget."
        )


class CountedStorages(TorchDispatchMode):
    """Counts the storage behind every tensor that an operator returns, and raises BudgetExceeded beyond the budget.

    It imitates a smaller card for PyTorch on a CPU. A storage counts until its last tensor is gone. The memory that an
    operator takes and gives back before it returns is not seen.
    """

    def __init__(self, budget_bytes: int):
        super().__init__()
        self.budget_bytes = budget_bytes
        self.live_bytes = self.peak_bytes = 0
        self._known: dict[int, weakref.ref] = {}

    def forget(self) -> None:
        """The peak starts again from what is live."""
        self.peak_bytes = self.live_bytes

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = {id(storage) for storage in _storages((args, kwargs))}
        result = func(*args, **(kwargs or {}))
        for storage in _storages(result):
            if id(storage) not in given and id(storage) not in self._known:
                self._count(storage)
        return result

    def _count(self, storage: torch.UntypedStorage) -> None:
        size, key = storage.nbytes(), id(storage)
        if self.live_bytes + size > self.budget_bytes:
            raise BudgetExceeded(size, self.live_bytes, self.budget_bytes)
        self.live_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)

        def gone(_: weakref.ref) -> None:
            self.live_bytes -= size
            del self._known[key]

        self._known[key] = weakref.ref(storage, gone)


def _storages(values: Any) -> list[torch.UntypedStorage]:
    return [value.untyped_storage() for value in tree_iter(values) if isinstance(value, torch.Tensor)]


def touched(size_bytes: int, device: str) -> torch.Tensor:
    """A tensor of that many bytes on `device`, every page of it written."""
    made = torch.ones(size_bytes, dtype=torch.uint8, device=device)
    if device != "cpu":
        torch.cuda.synchronize()
    return made
