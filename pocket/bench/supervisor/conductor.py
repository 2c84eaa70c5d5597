"""Kind `pair`, in the supervisor: two trainers on one machine in turns, so that what slows the machine slows both."""

from collections.abc import Iterator, Mapping
from typing import Any

from pocket.bench.supervisor.worker import Worker

ORDER = "abba"  # a drift of the machine that is even in time weighs on both sides alike


def schedule(blocks: int, updates_per_block: int, warmup_updates: int) -> Iterator[tuple[str, int, bool]]:
    """(side, updates, whether it counts) in the order of the turns: one turn of warm-up each, then `blocks` a side."""
    if warmup_updates:
        yield from (("a", warmup_updates, False), ("b", warmup_updates, False))
    for number in range(2 * blocks):
        yield ORDER[number % len(ORDER)], updates_per_block, True


class Conductor:
    """Gives the turns, in the supervisor: one side works, the other one's processes are stopped."""

    def __init__(self, workers: Mapping[str, Worker], settings: Mapping[str, Any], blocks: list[dict[str, Any]]):
        """`blocks` is where finished turns that count are put: {"side", "step_seconds"}."""
        self._workers, self._blocks = workers, blocks
        self._plan = schedule(settings["blocks"], settings["updates_per_block"], settings["warmup_updates"])
        self._ready: set[str] = set()
        self._counts = False

    def hear(self, side: str, message: Mapping[str, Any]) -> None:
        """A message of one side: that it is ready, or the seconds of its turn."""
        self._workers[side].pause()
        self._ready.add(side)
        if self._counts and "turn" in message:
            self._blocks.append({"side": side, "step_seconds": message["turn"]})
        if len(self._ready) == len(self._workers):
            self._next()

    def _next(self) -> None:
        side, count, self._counts = next(self._plan, ("", 0, False))
        if side:
            self._workers[side].go_on()
            self._workers[side].tell(str(count))
            return
        for worker in self._workers.values():
            worker.go_on()
            worker.no_more()
