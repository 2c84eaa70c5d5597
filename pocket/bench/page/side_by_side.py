"""Two trainers side by side in tables of their own: the first ten losses, and pairs that took turns."""

from collections.abc import Mapping, Sequence

from pocket.bench.judge.collate import canonical
from pocket.bench.judge.contrast import HOW
from pocket.bench.judge.curve import CURVES, FIRST
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.pairing import Pair
from pocket.bench.page.sheet import Sheet, column, number_cell, sheet, text_cell
from pocket.bench.page.telling import interval_text
from pocket.bench.page.unit import per_cent, setting_value, setting_words, shown


def first_losses(members: Sequence[Outcome]) -> list[Sheet]:
    """For each thing that both trainers trained, the first ten training losses of one seed and their difference.

    The difference is |engine - PyTorch| / |PyTorch|.
    """
    groups: dict[str, dict[str, Outcome]] = {}
    for one in members:
        if one.kind == "train" and one.ok:
            what = {name: value for name, value in one.run.settings.items() if name not in HOW}
            seed = one.run.settings["seed"]
            trainers = groups.setdefault(canonical([what, seed]), {})
            trainers.setdefault(one.run.settings["trainer"], one)
    both = [trainers for trainers in groups.values() if {"engine", "torch"} <= trainers.keys()]
    kept: dict[str, dict[str, Outcome]] = {}
    for trainers in both:
        kept.setdefault(canonical(_what(trainers["engine"])), trainers)
    return [_losses_sheet(trainers, list(kept.values())) for trainers in kept.values()]


def _what(one: Outcome) -> Mapping[str, object]:
    return {name: value for name, value in one.run.settings.items() if name not in HOW}


def _losses_sheet(trainers: Mapping[str, Outcome], every: Sequence[Mapping[str, Outcome]]) -> Sheet:
    read = CURVES["first_losses"].axes["update"]
    engine, torch = (read(trainers[name].record or {}) for name in ("engine", "torch"))
    columns = [
        column("update", True),
        column("engine", True),
        column("PyTorch", True),
        column("relative difference", True),
    ]
    rows = []
    for (update, a), (_, b) in zip(engine, torch, strict=False):
        difference = abs(a - b) / abs(b) if a is not None and b else None
        cells = [
            number_cell("update", update, str(update)),
            number_cell("engine", a, "–" if a is None else f"{a:.9f}"),
            number_cell("PyTorch", b, "–" if b is None else f"{b:.9f}"),
            number_cell("relative difference", difference, "–" if difference is None else f"{difference:.1e}"),
        ]
        rows.append({"name": str(update), "cells": cells})
    settings = trainers["engine"].run.settings
    own = {n: v for n, v in _what(trainers["engine"]).items() if any(_what(t["engine"]).get(n) != v for t in every)}
    where = f", {', '.join(setting_words(own))}" if own else ""
    title = f"The first {FIRST} losses side by side{where}"
    return sheet(title, columns, rows, f"Seed {settings['seed']}, FP32, the same weights and batches.", title)


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


def runs_sheet(members: Sequence[Outcome], name: str) -> Sheet:
    """Every run with its state, what it took, and the command that does it again."""
    columns = [column("command"), column("status"), column("total", True, "s"), column("seed", True)]
    rows = []
    for one in members:
        seconds = one.record["seconds"]["total"] if one.record else None
        seed = one.run.settings.get("seed")
        state = "stale" if one.stale and one.ok else one.status
        cells = [
            text_cell("command", f"pocket bench run {one.run.id}", code=True),
            text_cell("status", "", chips=[(state, None)], title=one.reason) | {"sort": state},
            number_cell("total", seconds, "–" if seconds is None else f"{seconds:.1f}"),
            number_cell("seed", seed, "" if seed is None else setting_value("seed", seed)),
        ]
        rows.append({"name": one.run.id, "cells": cells})
    return sheet(f"runs {name}", columns, rows)
