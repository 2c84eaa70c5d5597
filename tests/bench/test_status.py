"""Counts by status, and the removal of exactly the records that shall be redone."""

import pytest
from synthetic import failed, plan_of, write_all, write_record

from pocket.bench import record as records
from pocket.bench import status
from pocket.mistake import Mistake


@pytest.fixture
def plan(tmp_path):
    return plan_of(tmp_path / "experiments")


@pytest.fixture
def fate(plan):
    """Run id -> status, the first runs each with another."""
    statuses = ["error", "timeout", "killed", "oom_device", "diverged"]
    return dict(zip([run.id for run in plan.runs], statuses, strict=False))


@pytest.fixture
def results(plan, fate, tmp_path):
    folder = tmp_path / "results"
    write_all(plan, folder, {name: failed(why, f"because of {why}") for name, why in fate.items()})
    return folder


def present(plan, results):
    return {run.id for run in plan.runs if records.path_of(run.id, results).exists()}


def test_counts_every_status_and_names_what_is_not_ok(plan, fate, results):
    text = status.describe(plan, results)
    assert f"{len(plan.runs)} runs" in text.splitlines()[0]
    for name, why in fate.items():
        assert f"1 {why}" in text.splitlines()[0]
        assert f"  {why:12s} {name}  because of {why}" in text


def test_missing_runs_are_counted_and_listed_when_asked(plan, results):
    gone = plan.runs[-1].id
    records.path_of(gone, results).unlink()
    assert "1 missing" in status.describe(plan, results)
    assert gone not in status.describe(plan, results)
    assert all(run.id in status.describe(plan, results, every_run=True) for run in plan.runs)


def test_retry_removes_errors_timeouts_and_killed_runs_only(plan, fate, results):
    removed = status.retry(plan, results)
    assert set(removed) == {name for name, why in fate.items() if why in ("error", "timeout", "killed")}
    assert present(plan, results) == {run.id for run in plan.runs} - set(removed)


def test_retry_removes_a_record_that_was_cut(plan, results):
    cut = records.path_of(plan.runs[-1].id, results)
    cut.write_bytes(cut.read_bytes()[:100])
    assert plan.runs[-1].id in status.retry(plan, results)


def test_refresh_removes_stale_records_only(plan, results):
    old = plan.runs[-1]
    records.path_of(old.id, results).unlink()
    write_record(old, results, {"code": {"digest": "0" * 64, "parts": {}}})
    assert "1 stale" in status.describe(plan, results)
    assert status.refresh(plan, results) == [old.id]
    assert present(plan, results) == {run.id for run in plan.runs} - {old.id}


def test_failures_are_what_retry_removes(plan, fate, results):
    records.path_of(plan.runs[-1].id, results).write_text("")
    lines = status.failures(plan, results)
    unanswered = {name: why for name, why in fate.items() if why in ("error", "timeout", "killed")}
    assert lines[:-1] == [f"{name}: because of {why}" for name, why in unanswered.items()]
    assert lines[-1].startswith(plan.runs[-1].id)
    assert len(status.retry(plan, results)) == len(lines)
    assert status.failures(plan, results) == []


def test_record_that_cannot_be_removed_is_a_mistake(plan, results, monkeypatch):
    from pathlib import Path

    def refuse(path, missing_ok=False):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(Mistake, match=r"cannot remove .*: Permission denied"):
        status.retry(plan, results)
