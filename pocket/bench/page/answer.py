"""The answer to an experiment's question in a few sentences, every number of them computed from its records."""

from collections.abc import Mapping, Sequence

from pocket.bench.judge.collate import Row, rows, table, table_names
from pocket.bench.judge.contrast import Contrast, contrasts, things
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.pairing import pairs
from pocket.bench.judge.quantity import QUANTITIES
from pocket.bench.judge.stats import EQUALITY_LEVEL
from pocket.bench.page.sweep import SCORES, begun, headed, sweep_sentences, told_quantities
from pocket.bench.page.telling import allocation_sentences, pair_sentences
from pocket.bench.page.unit import TRAINERS, per_cent, quantity_text, setting_words, signed
from pocket.bench.plan.spec import Experiment

SENTENCES = 8


def answer(experiment: Experiment, found: Mapping[str, Outcome]) -> list[str]:
    """One short sentence a quantity, ratios of pairs first; one that says so where no run ended well."""
    members = [found[run.id] for run in experiment.runs]
    if all(one.status == "missing" for one in members):
        return ["No answer yet: none of its runs has been done."]
    if not any(one.ok for one in members):
        return ["No answer yet: none of its runs ended well."]
    said = [
        *pair_sentences(pairs(members)),
        *allocation_sentences(members),
        *_contrast_sentences(experiment, members),
        *_one_thing_sentences(experiment, members),
        *sweep_sentences(experiment, found),
    ]
    return (said or _table_sentences(experiment, found))[:SENTENCES]


def _contrast_sentences(experiment: Experiment, members: Sequence[Outcome]) -> list[str]:
    """Where both trainers trained one thing; of many things a sweep tells more."""
    if things(members, "train") != 1:
        return []
    names = [name for name in SCORES if name in table_names(experiment)[1]]
    return [_contrast_text(one) for name in names for one in contrasts(members, name)]


def _one_thing_sentences(experiment: Experiment, members: Sequence[Outcome]) -> list[str]:
    """Where both trainers did one thing: its step time, unless both took turns, and its memory, each with the ratio."""
    shown = table_names(experiment)[1]
    paired = any(one.kind == "pair" and one.ok for one in members)
    wanted = (("step_seconds", "train"), ("live_peak_bytes", "memory"), ("process_peak_bytes", "train"))
    said = []
    for name, kind in wanted:
        if name in shown and things(members, kind) == 1 and not (name == "step_seconds" and paired):
            said += _ratio_sentence([one for one in members if one.kind == kind], name)
    return said


def _ratio_sentence(measured: Sequence[Outcome], name: str) -> list[str]:
    """Each trainer at its best row: a slower allocator is no fair opponent."""
    best: dict[str, float] = {}
    for row in rows(measured, ["trainer", "malloc", "memory_format"], [name]):
        estimate = row.cells[name].estimate
        if estimate is not None:
            best[row.key["trainer"]] = min(best.get(row.key["trainer"], estimate.value), estimate.value)
    if not {"engine", "torch"} <= best.keys() or best["torch"] <= 0:
        return []
    unit = QUANTITIES[name].unit
    ratio = quantity_text(best["engine"] / best["torch"], "ratio")
    apart = ", each in a run of its own" if name == "step_seconds" else ""
    sizes = [quantity_text(best[side], unit) for side in ("engine", "torch")]
    return [f"{headed(name)}: engine {sizes[0]}, PyTorch {sizes[1]}, engine / PyTorch {ratio}{apart}."]


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
    return f"{headed(one.quantity)}: engine {engine}, PyTorch {torch}, difference {difference} ({interval})."


def _table_sentences(experiment: Experiment, found: Mapping[str, Outcome]) -> list[str]:
    """Each quantity that has values: each trainer's rows, told by their other settings."""
    shown_rows, said = begun(table(experiment, found)), []
    for name in told_quantities(table_names(experiment)[1], shown_rows):
        trainers: dict[str, list[str]] = {}
        for row in shown_rows:
            trainers.setdefault(TRAINERS.get(row.key.get("trainer", ""), ""), []).extend(_row_text(row, name))
        told = [f"{trainer} {', '.join(texts)}".strip() for trainer, texts in trainers.items() if texts]
        said.append(f"{headed(name)}: {'; '.join(told)}.")
    return said or ["Its runs ended well and hold none of the numbers that its table shows."]


def _row_text(row: Row, name: str) -> list[str]:
    """`98.33 % (accumulation steps 8)`, or the status where there is no number; nothing where none was planned."""
    quantity, estimate = QUANTITIES[name], row.cells[name].estimate
    words = setting_words({key: value for key, value in row.key.items() if key != "trainer"})
    which = f" ({', '.join(words)})" if words else ""
    if estimate is not None:
        return [f"{quantity_text(estimate.value, quantity.unit)}{which}"]
    failed = [one.status for one in row.outcomes if not one.ok and one.kind in quantity.kinds]
    return [f"{failed[0].replace('_', ' ')}{which}"] if failed else []
