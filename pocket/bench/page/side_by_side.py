"""Two trainers side by side in tables of their own: the first ten losses, and pairs that took turns."""

from collections.abc import Mapping, Sequence
from typing import Any

from pocket.bench.judge.collate import canonical
from pocket.bench.judge.contrast import HOW
from pocket.bench.judge.curve import CURVES, FIRST
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.pairing import Pair
from pocket.bench.page.redo import run_command
from pocket.bench.page.sheet import Sheet, closed, column, number_cell, sheet, text_cell
from pocket.bench.page.telling import interval_text
from pocket.bench.page.unit import TRAINERS, per_cent, setting_value, setting_words, shown

ALLOWED_RATIO = 3  # rounding in another order may part losses by a few times what a change of format does


def first_losses(members: Sequence[Outcome]) -> list[Sheet]:
    """For each thing that both trainers trained, the first ten training losses of one seed and their difference.

    Where PyTorch trained it in both its memory formats, its own difference stands beside: rounding alone parts two runs
    as far as that.
    """
    groups: dict[str, dict[str, Outcome]] = {}
    for one in members:
        if one.kind == "train" and one.ok:
            sides = groups.setdefault(canonical([_what(one), one.run.settings["seed"]]), {})
            sides.setdefault(_side(one), one)
    both = [sides for sides in groups.values() if {"engine", "PyTorch"} <= sides.keys()]
    kept: dict[str, dict[str, Outcome]] = {}
    for sides in both:
        kept.setdefault(canonical(_what(sides["engine"])), sides)
    return [_losses_sheet(sides, list(kept.values())) for sides in kept.values()]


def _what(one: Outcome) -> Mapping[str, object]:
    return {name: value for name, value in one.run.settings.items() if name not in HOW}


def _side(one: Outcome) -> str:
    if one.run.settings["trainer"] == "engine":
        return "engine"
    return "PyTorch, N C H W" if one.run.settings.get("memory_format") == "contiguous" else "PyTorch"


def _losses_sheet(sides: Mapping[str, Outcome], every: Sequence[Mapping[str, Outcome]]) -> Sheet:
    shown_sides = [name for name in ("engine", "PyTorch", "PyTorch, N C H W") if name in sides]
    read = CURVES["first_losses"].axes["update"]
    losses = {name: [loss for _, loss in read(sides[name].record or {})] for name in shown_sides}
    compared = {"engine from PyTorch": ("engine", "PyTorch")}
    if len(shown_sides) == 3:
        compared["PyTorch from itself"] = ("PyTorch, N C H W", "PyTorch")
    rows = []
    for update in range(min(map(len, losses.values()))):
        cells = [number_cell("update", update + 1, str(update + 1))]
        for name in shown_sides:
            loss = losses[name][update]
            cells.append(number_cell(name, loss, "–" if loss is None else f"{loss:.9f}"))
        for name, (first, second) in compared.items():
            difference = _relative(losses[first][update], losses[second][update])
            cells.append(number_cell(name, difference, "–" if difference is None else f"{difference:.1e}"))
        rows.append({"name": str(update + 1), "cells": cells})
    columns = [column(name, True) for name in ("update", *shown_sides, *compared)]
    settings = sides["engine"].run.settings
    own = {n: v for n, v in _what(sides["engine"]).items() if any(_what(s["engine"]).get(n) != v for s in every)}
    where = f", {', '.join(setting_words(own))}" if own else ""
    title = f"The first {FIRST} losses side by side{where}"
    caption = f"Seed {settings['seed']}, FP32, the same weights and batches. Differences: |a - b| / |b|."
    made = sheet(title, columns, rows, caption, title)
    return closed(made, *_judged(losses)) if len(shown_sides) == 3 else made


def _judged(losses: Mapping[str, Sequence[float | None]]) -> tuple[str, bool]:
    """How far the engine parts from PyTorch, against how far PyTorch's two formats part from each other."""
    engine, itself = (_farthest(losses[name], losses["PyTorch"]) for name in ("engine", "PyTorch, N C H W"))
    if engine is None or itself is None:
        return "A loss is not finite, so the differences cannot be compared.", True
    told = f"Largest |engine - PyTorch| {engine:.1e}, largest |PyTorch, N C H W - PyTorch| {itself:.1e}"
    if not itself:
        return f"{told}: no ratio; at most {ALLOWED_RATIO} wanted.", engine > 0
    ratio = engine / itself
    return f"{told}, ratio {ratio:.2f}; at most {ALLOWED_RATIO} wanted.", ratio > ALLOWED_RATIO


def _farthest(first: Sequence[float | None], second: Sequence[float | None]) -> float | None:
    differences = [None if a is None or b is None else abs(a - b) for a, b in zip(first, second, strict=False)]
    return None if not differences or None in differences else max(d for d in differences if d is not None)


def _relative(a: float | None, b: float | None) -> float | None:
    return abs(a - b) / abs(b) if a is not None and b else None


def pair_sheet(measured: Sequence[Pair], name: str, every: Sequence[Pair]) -> Sheet:
    """Each pair: both sides, their median step, the ratio with its interval. `every` pair of the plan holds a trainer
    against itself, whose ratio says how far two processes of the same code part."""
    names = {(_name(one.a), _name(one.b)) for one in measured}
    whose = " / ".join(*names) if len(names) == 1 and len(set(*names)) == 2 else "first / opponent"
    columns = [
        column("first"),
        column("opponent"),
        column("first's step", True, "ms", "median of its steps"),
        column("opponent's step", True, "ms", "median of its steps"),
        column(whose, True, "×", "ratio of step times: below 1 the first is faster"),
        column("interval", True),
        column("quads", True),
    ]
    rows = [{"name": pair.outcome.run.id, "cells": _pair_cells(pair)} for pair in measured]
    title = "Taken in turns (A B B A)"
    caption = "Median over quads of blocks; the opponent's faster allocator setting is the one that counts."
    if not all(pair.itself for pair in measured):
        caption += "".join(_parting(pair) for pair in every if pair.itself)
    return sheet(f"pairs {name}", columns, rows, caption, title)


def _name(side: Mapping[str, Any]) -> str:
    return TRAINERS.get(side["trainer"], side["trainer"])


def _parting(itself: Pair) -> str:
    interval = interval_text(itself.ratio, "ratio")
    told = f" ({interval})" if interval else ""
    return f" {_name(itself.a)} against itself on this machine: {shown(itself.ratio.value, 'ratio')[0]}{told}."


def _pair_cells(pair: Pair) -> list[Sheet]:
    different = {name: pair.b[name] for name in pair.b if name != "opponent" and pair.b[name] != pair.a[name]}
    told = {name: pair.b[name] for name in ("trainer", "malloc")} | different
    opponent = ", ".join(setting_words(told))
    first = ", ".join(setting_words({name: pair.a[name] for name in ("trainer", "malloc")}))
    ratio = pair.ratio
    return [
        text_cell("first", first, trainer=pair.a["trainer"]),
        text_cell("opponent", "itself" if pair.itself else opponent, trainer=pair.b["trainer"]),
        number_cell("first ms", pair.a_seconds, shown(pair.a_seconds, "s")[0]),
        number_cell("opponent ms", pair.b_seconds, shown(pair.b_seconds, "s")[0]),
        number_cell("ratio", ratio.value, shown(ratio.value, "ratio")[0], title=repr(ratio.value)),
        number_cell("interval", ratio.low, interval_text(ratio, "ratio") or "–", detail=per_cent(pair.level)),
        number_cell("quads", ratio.n, str(ratio.n)),
    ]


def runs_sheet(members: Sequence[Outcome], name: str, told: str) -> Sheet:
    """Every run with its state, what it took, and the command that does it again."""
    columns = [column("command"), column("status"), column("total", True, "s"), column("seed", True)]
    rows = []
    for one in members:
        seconds = one.record["seconds"]["total"] if one.record else None
        seed = one.run.settings.get("seed")
        state = "stale" if one.stale and one.ok else one.status
        chips = [(state, None)] + ([("stale", None)] if one.stale and not one.ok else [])
        cells = [
            text_cell("command", run_command(one.run.id, told), code=True),
            text_cell("status", "", chips=chips, title=one.reason) | {"sort": state},
            number_cell("total", seconds, "–" if seconds is None else f"{seconds:.1f}"),
            number_cell("seed", seed, "" if seed is None else setting_value("seed", seed)),
        ]
        rows.append({"name": one.run.id, "cells": cells})
    return sheet(f"runs {name}", columns, rows)
