"""What the workflow plans, by dry runs: exactly the missing runs, shared ones once, and no run on a mistake."""

import re
import shutil
from pathlib import Path

import pytest
from scratch import ROOT, TINY, planned, project, snakemake
from synthetic import write_all

from pocket.bench import make as making
from pocket.bench import record as records
from pocket.bench import status
from pocket.bench.plan.spec import load, needs


@pytest.fixture
def folder(tmp_path):
    return project(tmp_path)


def fill(folder):
    """Records, data and weights of every run, as if they had been made."""
    plan = load(folder / "experiments", "quick", "cpu")
    write_all(plan, folder / "results")
    for run in plan.runs:
        data, weights = needs(run)
        for name in data:
            (folder / "results/data" / name).mkdir(parents=True, exist_ok=True)
            for file in ("meta.json", "x_train.npy", "y_train.npy", "x_test.npy", "y_test.npy"):
                (folder / "results/data" / name / file).touch()
        for name in weights:
            (folder / "results/weights").mkdir(exist_ok=True)
            (folder / "results/weights" / f"{name}.npz").touch()
    return plan


def test_everything_is_planned_once_in_a_hostile_folder(folder):
    plan = load(folder / "experiments", "quick", "cpu")
    jobs = planned(folder)
    assert jobs["run"] == sorted(run.id for run in plan.runs)
    assert {name: len(them) for name, them in jobs.items() if name != "run"} == {
        "data": 1,
        "weights": 1,
        "tables": 1,
        "plots": 1,
        "report": 1,
    }


def test_the_report_is_the_default_and_the_named_target(folder):
    assert planned(folder) == planned(folder, "results/report.html")


def test_a_run_that_has_a_record_is_not_planned(folder):
    plan = fill(folder)
    assert "run" not in planned(folder)
    gone = plan.runs[1].id
    (folder / "results/records" / f"{gone}.json").unlink()
    jobs = planned(folder)
    assert jobs["run"] == [gone]
    assert "data" not in jobs
    assert "weights" not in jobs


def test_a_record_that_was_removed_is_made_again_although_the_report_stands(folder):
    plan = fill(folder)
    assert snakemake(folder).returncode == 0
    assert planned(folder) == {}
    gone = records.path_of(plan.runs[1].id, folder / "results")
    whole = gone.read_bytes()
    gone.unlink()  # by hand
    assert planned(folder)["run"] == [plan.runs[1].id]
    assert {"tables", "plots", "report"} < set(planned(folder))
    gone.write_bytes(whole[:100])
    assert status.retry(plan, folder / "results") == [plan.runs[1].id]
    assert planned(folder, "results/report.html")["run"] == [plan.runs[1].id]


def test_make_asks_for_the_record_that_was_removed(folder, monkeypatch):
    plan = fill(folder)
    gone = records.path_of(plan.runs[1].id, Path("results"))
    (folder / gone).unlink()
    monkeypatch.chdir(folder)
    commands = []
    monkeypatch.setattr(making, "_run", lambda command, environment, locks: commands.append(command))
    making.make(plan, Path("experiments"), Path("results"))
    assert [word for word in commands[0] if word.startswith("results/records")] == [str(gone)]


def test_touched_experiment_file_data_and_weights_redo_no_run(folder):
    fill(folder)
    for path in [*folder.glob("experiments/*"), *folder.glob("results/data/*/*"), *folder.glob("results/weights/*")]:
        path.touch()
    assert "run" not in planned(folder)


def test_a_changed_setting_plans_exactly_the_changed_runs(folder):
    before = {run.id for run in fill(folder).runs}
    path = folder / "experiments" / "tiny.yaml"
    path.write_text(TINY.replace("[16, 32]", "[16, 64]"))
    after = {run.id for run in load(folder / "experiments", "quick", "cpu").runs}
    assert planned(folder)["run"] == sorted(after - before)
    assert len(after - before) == 2


def test_copied_experiment_with_another_batch_plans_exactly_the_new_runs(tmp_path):
    folder = project(tmp_path)
    (folder / "experiments" / "tiny.yaml").unlink()
    text = (ROOT / "experiments" / "batch_sweep.yaml").read_text()
    (folder / "experiments" / "batch_sweep.yaml").write_text(text)
    old = {run.id for run in fill(folder).runs}
    changed = re.sub(r"batch_size: \[64, 128, 256\]", "batch_size: [32]", text)
    assert changed != text
    (folder / "experiments" / "small_batch.yaml").write_text(changed)
    new = {run.id for run in load(folder / "experiments", "quick", "cpu").runs} - old
    jobs = planned(folder)
    assert jobs["run"] == sorted(new)
    assert len(new) == 4
    assert all("-b32-" in name for name in new)
    assert jobs["tables"] == ["batch_sweep", "small_batch"]
    assert "report" in jobs


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("typo", TINY.replace("batch_size", "batchsize", 1), "unknown setting 'batchsize'.*nearest: 'batch_size'"),
        ("twice", TINY + "question: Again?\n", "key 'question' stands twice"),
        ("half", TINY.replace("[16, 32]", "[3.5]"), "batch_size is 3.5; wanted a whole number"),
        ("nul", TINY, "rename the file"),
    ],
)
def test_mistake_in_an_experiment_is_one_line_and_nothing_is_planned(folder, name, text, message):
    (folder / "experiments" / f"{name}.yaml").write_text(text)
    done = snakemake(folder, "-n")
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("pocket: ")]
    assert len(lines) == 1
    assert re.search(message, lines[0])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("lrr=5", "unknown key 'lrr' in --config; nearest: 'learning_rate'"),
        ("learning_rate=-1", "--config: learning_rate is -1; wanted a number above 0"),
        ("batch_size=3.5", "--config: batch_size is 3.5; wanted a whole number"),
        ("suit=cpu", "nearest: 'suite'"),
        ("suite=quik", "nearest: 'quick'"),
        ("experiments=none", "no experiment found: none"),
        ("results=a{b}", "braces"),
        ("device=tpu", "unknown device 'tpu'"),
    ],
)
def test_mistake_on_the_line_is_one_line(folder, config, message):
    done = snakemake(folder, "-n", "--config", config)
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("pocket: ")]
    assert len(lines) == 1
    assert re.search(message, lines[0])


def test_a_setting_on_the_line_and_in_the_file_give_the_same_run(folder):
    on_the_line = planned(folder, "--config", "learning_rate=1e-4", "batch_size=8")["run"]
    text = TINY.replace("model: mlp,", "model: mlp, learning_rate: 1e-4,").replace("[16, 32]", "[8]")
    (folder / "experiments" / "tiny.yaml").write_text(text)
    in_the_file = planned(folder)["run"]
    assert on_the_line == in_the_file
    assert len(in_the_file) == 2


def test_results_that_cannot_be_a_folder_are_one_line(folder):
    (folder / "taken").write_text("")
    done = snakemake(folder, "-n", "--config", "results=taken/results")
    assert done.returncode != 0
    assert "pocket: cannot write into taken/results: Not a directory" in done.stderr


def test_no_rule_depends_on_where_the_project_lies(tmp_path):
    first, second = (project(parent) for parent in (tmp_path / "a", tmp_path / "b") if not parent.mkdir())
    fill(first)
    shutil.copytree(first / "results", second / "results")
    assert planned(first) == planned(second)
