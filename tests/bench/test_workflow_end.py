"""Whatever became of the runs, the report is made; its exit status says whether a record says error."""

import pytest
from scratch import make, planned, project, snakemake
from synthetic import failed, write_record
from test_snakefile import fill

from pocket.bench import record as records
from pocket.bench.plan.spec import load


@pytest.fixture
def folder(tmp_path):
    return project(tmp_path)


def replace(folder, status, reason):
    """Give the first run's record another ending."""
    run = load(folder / "experiments", "quick", "cpu").runs[0]
    records.path_of(run.id, folder / "results").unlink()
    write_record(run, folder / "results", failed(status, reason))
    return run.id


@pytest.mark.parametrize(
    ("status", "reason"),
    [("error", "ValueError: a mistake of ours"), ("killed", "exit 137: killed from outside by SIGKILL")],
)
def test_a_run_without_an_answer_ends_with_1_and_keeps_the_report(folder, status, reason):
    fill(folder)
    name = replace(folder, status, reason)
    done = snakemake(folder)
    assert done.returncode == 1
    assert f"{name}: {reason}" in done.stderr
    page = (folder / "results/report.html").read_text()
    assert reason in page
    assert planned(folder) == {}
    assert make(folder).returncode == 1  # with nothing to do, too


def test_out_of_memory_is_an_answer_and_ends_with_0(folder):
    fill(folder)
    replace(folder, "oom_device", "asked for 3 GiB at update 2")
    done = make(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "asked for 3 GiB at update 2" in (folder / "results/report.html").read_text()
    assert (folder / "results/tables/tiny.csv").read_text().count("oom_device") == 1


def test_estimate_is_printed_before_the_first_job(folder):
    fill(folder)
    done = snakemake(folder)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count(
        "Suite quick on cpu: 1 experiments, 4 runs, 0 of them to do; estimated"
    ) == 1
