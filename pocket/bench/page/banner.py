"""Warnings that stand above all answers: what makes this report's numbers doubtful."""

from collections.abc import Iterable, Mapping

from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.pairing import TRUSTED, pairs
from pocket.bench.page.telling import pair_sentences
from pocket.bench.page.unit import per_cent
from pocket.bench.plan.spec import Plan

Banner = dict[str, str]


def banners(plan: Plan, found: Mapping[str, Outcome]) -> list[Banner]:
    members = [found[run.id] for run in plan.runs]
    checks = (_untrusted, _unproved, _forced_blas, _other_malloc, _several_machines, _stale, _incomplete)
    return [banner for check in checks for banner in check(members)]


def _banner(title: str, text: str) -> list[Banner]:
    return [{"title": title, "text": text}]


def _untrusted(members: Iterable[Outcome]) -> list[Banner]:
    """The A/A interval decides, not its middle."""
    doubtful = [pair for pair in pairs(members) if pair.itself and not pair.trusted]
    if not doubtful:
        return []
    return _banner("The timings of this machine cannot be trusted.", " ".join(pair_sentences(doubtful)))


def _unproved(members: Iterable[Outcome]) -> list[Banner]:
    """Timings without a trainer measured against itself on the same machine."""
    members = list(members)
    timed = any(one.kind == "pair" and one.ok for one in members)
    itself = [pair for pair in pairs(members) if pair.itself]
    if itself or not timed:
        return []
    text = f"No trainer was measured against itself here, so nothing shows that ±{per_cent(TRUSTED)} can be told apart."
    return _banner("The timings of this machine are unproved.", text)


def _forced_blas(members: Iterable[Outcome]) -> list[Banner]:
    machines = [one.record["machine"] for one in members if one.record]
    forced = [machine["blas_kernel_forced"] for machine in machines if machine.get("blas_kernel_forced")]
    if not forced:
        return []
    text = (
        f"OPENBLAS_CORETYPE={', '.join(dict.fromkeys(forced))} was set in {len(forced)} of {len(machines)} runs. "
        "It can halve the engine's speed: unset it and measure again."
    )
    return _banner("A BLAS kernel was forced.", text)


def _other_malloc(members: Iterable[Outcome]) -> list[Banner]:
    told = {one.run.id: str(one.record["machine"].get("malloc_reason") or "") for one in members if one.record}
    doubtful = {name: reason for name, reason in told.items() if reason}
    if not doubtful:
        return []
    reasons = "; ".join(dict.fromkeys(doubtful.values()))
    text = f"{reasons}, in {len(doubtful)} of {len(told)} runs: {', '.join(doubtful)}."
    return _banner("The C library's allocator was not as asked for.", text)


def _several_machines(members: Iterable[Outcome]) -> list[Banner]:
    names = dict.fromkeys(str(one.record["machine"].get("cpu")) for one in members if one.record)
    if len(names) < 2:
        return []
    return _banner("The records come from different machines.", f"{'; '.join(names)}. Seconds compare within one only.")


def _stale(members: Iterable[Outcome]) -> list[Banner]:
    members = list(members)
    stale = sum(one.stale for one in members)
    if not stale:
        return []
    text = f"{stale} of {len(members)} were made by code that has changed since: make refresh redoes them."
    return _banner("Some records are stale.", text)


def _incomplete(members: Iterable[Outcome]) -> list[Banner]:
    members = list(members)
    missing = sum(one.status in ("missing", "invalid") for one in members)
    if not missing:
        return []
    text = f"{missing} of {len(members)} runs have no readable record: pocket bench make completes them."
    return _banner("This report is incomplete.", text)
