"""The answer to an experiment's question in a few sentences, every number of them computed from its records."""

from collections.abc import Mapping, Sequence
from typing import Any

from pocket.bench.judge.collate import Row, rows, table, table_names
from pocket.bench.judge.contrast import HOW, Contrast, contrasts, things
from pocket.bench.judge.curve import AXES
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.pairing import pairs
from pocket.bench.judge.quantity import QUANTITIES
from pocket.bench.judge.series import plots
from pocket.bench.judge.stats import EQUALITY_LEVEL
from pocket.bench.page.telling import allocation_sentences, pair_sentences
from pocket.bench.page.unit import TRAINERS, per_cent, quantity_text, setting_label, setting_words, signed
from pocket.bench.plan.spec import Experiment

SENTENCES = 3
SCORES = ("accuracy", "r2")


def answer(experiment: Experiment, found: Mapping[str, Outcome]) -> list[str]:
    """At most three sentences, the most telling first; one that says so where no run ended well."""
    members = [found[run.id] for run in experiment.runs]
    if all(one.status == "missing" for one in members):
        return ["No answer yet: none of its runs has been done."]
    if not any(one.ok for one in members):
        return ["No answer yet: none of its runs ended well."]
    said = [
        *pair_sentences(pairs(members)),
        *allocation_sentences(members),
        *_contrast_sentences(experiment, members),
        *_memory_sentences(experiment, members),
        *_sweep_sentences(experiment, found),
    ]
    return (said or _table_sentences(experiment, found))[:SENTENCES]


def _contrast_sentences(experiment: Experiment, members: Sequence[Outcome]) -> list[str]:
    """Where both trainers trained one thing; of many things a sweep tells more."""
    if things(members, "train") != 1:
        return []
    names = [name for name in SCORES if name in table_names(experiment)[1]]
    return [_contrast_text(one) for name in names for one in contrasts(members, name)]


def _memory_sentences(experiment: Experiment, members: Sequence[Outcome]) -> list[str]:
    if "live_peak_bytes" not in table_names(experiment)[1] or things(members, "memory") != 1:
        return []
    measured = [one for one in members if one.kind == "memory"]
    found = rows(measured, ["trainer"], ["live_peak_bytes"])
    peaks = {row.key["trainer"]: row.cells["live_peak_bytes"].estimate for row in found}
    engine, torch = peaks.get("engine"), peaks.get("torch")
    if engine is None or torch is None:
        return []
    ratio = quantity_text(engine.value / torch.value, "ratio")
    sizes = [quantity_text(side.value, "bytes") for side in (engine, torch)]
    return [f"Live peak: engine {sizes[0]}, PyTorch {sizes[1]}, {ratio}."]


def _contrast_text(one: Contrast) -> str:
    quantity = QUANTITIES[one.quantity]
    engine, torch = (quantity_text(side.value, quantity.unit) for side in (one.engine, one.torch))
    scale, decimals, unit = (100, 2, " points") if quantity.unit == "fraction" else (1, 5, "")
    difference = f"{signed(one.difference.value * scale, decimals)}{unit}"
    low, high = one.difference.low, one.difference.high
    if low is None or high is None:
        interval = "one seed, so no interval"
    else:
        ends = f"{signed(low * scale, decimals)} to {signed(high * scale, decimals)}"
        interval = f"{per_cent(EQUALITY_LEVEL)} interval {ends}, n = {one.difference.n} seeds"
    label = quantity.label[0].upper() + quantity.label[1:]
    return f"{label}: engine {engine}, PyTorch {torch}, difference {difference} ({interval})."


def _sweep_sentences(experiment: Experiment, found: Mapping[str, Outcome]) -> list[str]:
    """From the first to the last value along the x of each plot that sweeps a setting."""
    said = []
    for data in plots(experiment, found):
        if data["x"]["name"] in (*AXES, *HOW) or data["y"]["name"] not in QUANTITIES:
            continue
        told = [text for series in data["series"] if (text := _sweep_text(series, data["y"]["unit"]))]
        if told:
            ends = _ends(data)
            label = data["y"]["label"][0].upper() + data["y"]["label"][1:]
            said.append(f"{label}, {setting_label(data['x']['name'])} {ends[0]} → {ends[1]}: {'; '.join(told)}.")
    return said


def _ends(data: Mapping[str, Any]) -> tuple[Any, Any]:
    longest = max((series["x"] for series in data["series"]), key=len)
    return longest[0], longest[-1]


def _sweep_text(series: Mapping[str, Any], unit: str) -> str:
    first, last = (series["y"][0], series["y"][-1]) if series["y"] else (None, None)
    if len(series["y"]) < 2 or first is None or last is None:
        return ""
    change = f"×{last / first:.2f}" if unit != "fraction" and first > 0 else ""
    if unit == "fraction":
        change = f"{signed((last - first) * 100)} points"
    return f"{series['name']} {quantity_text(first, unit)} → {quantity_text(last, unit)} ({change})"


def _table_sentences(experiment: Experiment, found: Mapping[str, Outcome]) -> list[str]:
    """The table's first quantity that has values: each trainer's rows, told by their other settings."""
    shown_rows = table(experiment, found)
    for name in table_names(experiment)[1]:
        if any(row.cells[name].estimate for row in shown_rows):
            trainers: dict[str, list[str]] = {}
            for row in shown_rows:
                trainers.setdefault(TRAINERS.get(row.key.get("trainer", ""), ""), []).extend(_row_text(row, name))
            told = [f"{trainer} {', '.join(texts)}".strip() for trainer, texts in trainers.items() if texts]
            label = QUANTITIES[name].label
            return [f"{label[0].upper()}{label[1:]}: {'; '.join(told)}."]
    return ["Its runs ended well and hold none of the numbers that its table shows."]


def _row_text(row: Row, name: str) -> list[str]:
    """`98.33 % (accumulation steps 8)`, or the status where there is no number; nothing where none was planned."""
    quantity, estimate = QUANTITIES[name], row.cells[name].estimate
    words = setting_words({key: value for key, value in row.key.items() if key != "trainer"})
    which = f" ({', '.join(words)})" if words else ""
    if estimate is not None:
        return [f"{quantity_text(estimate.value, quantity.unit)}{which}"]
    failed = [one.status for one in row.outcomes if not one.ok and one.kind in quantity.kinds]
    return [f"{failed[0].replace('_', ' ')}{which}"] if failed else []
