"""Sentences about pairs and known allocations: the two measurements whose numbers need words around them."""

from collections.abc import Sequence

from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.pairing import TRUSTED, Pair, decisive
from pocket.bench.judge.reading import value
from pocket.bench.judge.stats import Estimate
from pocket.bench.page.unit import TRAINERS, per_cent, quantity_text, setting_value, setting_words, shown, signed

POSSESSIVE = {"engine": "the engine's", "torch": "PyTorch's"}


def interval_text(estimate: Estimate, unit: str) -> str:
    """`1.28–1.37`, or empty where there is no interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, _ = shown(estimate.low, unit, estimate.value)
    high, _ = shown(estimate.high, unit, estimate.value)
    return f"{low} to {high}" if low.startswith("-") else f"{low}–{high}"


def pair_sentences(measured: Sequence[Pair]) -> list[str]:
    groups = decisive(measured)
    itself = [_itself(pair) for pair in measured if pair.itself]
    return itself + [_against(group, _telling(group[0], groups)) for group in groups]


def _interval(pair: Pair) -> str:
    interval = interval_text(pair.ratio, "ratio")
    told = f"{per_cent(pair.level)} interval {interval}, " if interval else ""
    return f"{told}n = {pair.ratio.n} ABBA quads"


def _itself(pair: Pair) -> str:
    name = TRAINERS.get(pair.a["trainer"], pair.a["trainer"])
    judged = "inside" if pair.trusted else "not inside"
    ratio = quantity_text(pair.ratio.value, "ratio")
    return f"{name} against itself: {ratio} ({_interval(pair)}), {judged} ±{per_cent(TRUSTED)}."


def _against(group: Sequence[Pair], where: str) -> str:
    fastest, *others = group
    first, second = (POSSESSIVE.get(side["trainer"], side["trainer"]) for side in (fastest.a, fastest.b))
    faster = ", its faster setting" if others else ""
    rest = [f"{quantity_text(one.ratio.value, 'ratio')} at allocator {one.b['malloc']}" for one in others]
    opponent = TRAINERS.get(fastest.b["trainer"], fastest.b["trainer"])
    details = "; ".join([_interval(fastest), f"{opponent} at allocator {fastest.b['malloc']}{faster}", *rest])
    sentence = f"{where}{first} step takes {quantity_text(fastest.ratio.value, 'ratio')} {second} ({details})."
    return sentence[0].upper() + sentence[1:]


def _telling(pair: Pair, groups: Sequence[Sequence[Pair]]) -> str:
    """The settings by which this group of pairs is told from the others."""
    firsts = [group[0].a for group in groups]
    names = [name for name in pair.a if name != "opponent" and any(one[name] != pair.a[name] for one in firsts)]
    return f"{', '.join(setting_words({name: pair.a[name] for name in names}))}: " if names else ""


def allocation_sentences(members: Sequence[Outcome]) -> list[str]:
    told, sizes = [], []
    for one in members:
        if one.kind != "allocation" or not one.ok or one.record is None:
            continue
        trainer = setting_value("trainer", one.run.settings["trainer"])
        for asked in value("asked_bytes")(one.record):
            sizes.append(quantity_text(asked, "bytes"))
            for name in ("live", "process"):
                told += [
                    f"{trainer} {name} {signed((m / asked - 1) * 100)} %" for m in value(f"{name}_bytes")(one.record)
                ]
    if not told:
        return []
    said = ", ".join(told)
    return [f"Against a known allocation of {' and '.join(dict.fromkeys(sizes))} the measurements are off by: {said}."]
