"""Two trainers side by side in tables of their own: the first ten losses, and pairs that took turns."""

from collections.abc import Mapping, Sequence

from pocket.bench.judge.collate import canonical
from pocket.bench.judge.contrast import HOW
from pocket.bench.judge.curve import CURVES, FIRST
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.pairing import Pair
from pocket.bench.page.redo import run_command
from pocket.bench.page.sheet import Sheet, column, number_cell, sheet, text_cell
from pocket.bench.page.telling import interval_text
from pocket.bench.page.unit import per_cent, setting_value, setting_words, shown


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
    return sheet(title, columns, rows, caption, title)


def _relative(a: float | None, b: float | None) -> float | None:
    return abs(a - b) / abs(b) if a is not None and b else None


def pair_sheet(measured: Sequence[Pair], name: str) -> Sheet:
    """Each pair: both sides, their median step, the ratio with its interval, and for A/A whether it can be trusted."""
    columns = [
        column("first"),
        column("opponent"),
        column("first", True, "ms", "median of its steps"),
        column("opponent", True, "ms", "median of its steps"),
        column("ratio", True, "×"),
        column("interval", True),
        column("quads", True),
    ]
    rows = [{"name": pair.outcome.run.id, "cells": _pair_cells(pair)} for pair in measured]
    title = "Taken in turns (A B B A)"
    caption = "Median over quads of blocks; the opponent's faster allocator setting is the one that counts."
    return sheet(f"pairs {name}", columns, rows, caption, title)


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
