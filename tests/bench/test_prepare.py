"""What is made before a run, and when it is made anew."""

import json
import subprocess

import pytest

from pocket.bench import prepare
from pocket.bench.plan.spec import load, needs
from pocket.bench.source import digest_of

ENGINE = {"kind": "train", "trainer": "engine"}


@pytest.fixture
def asked(monkeypatch):
    """The commands that would have been run."""
    commands = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    return commands


@pytest.mark.parametrize("stands", [None, "not JSON", '{"digest": "of other kernels"}', "{}"])
def test_kernels_are_translated_unless_these_were(tmp_path, asked, stands):
    if stands is not None:
        (tmp_path / "kernels.json").write_text(stands)
    prepare.ensure_kernels(ENGINE, tmp_path)
    assert [command[1:] for command in asked] == [["-m", "pocket.bench", "kernels", "--results", str(tmp_path)]]


def test_kernels_that_stand_are_left(tmp_path, asked):
    (tmp_path / "kernels.json").write_text(json.dumps({"digest": digest_of("engine/kernels")}))
    prepare.ensure_kernels(ENGINE, tmp_path)
    assert asked == []


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"kind": "train", "trainer": "torch"}, False),
        ({"kind": "allocation", "trainer": "engine"}, False),
        ({"kind": "pair", "trainer": "torch", "opponent": {"trainer": "engine"}}, True),
    ],
)
def test_only_runs_of_the_engine_need_them(tmp_path, asked, settings, needed):
    prepare.ensure_kernels(settings, tmp_path)
    assert bool(asked) == needed


def test_translating_says_which_kernels_it_was(tmp_path):
    prepare.prepare_kernels(tmp_path)
    told = json.loads((tmp_path / "kernels.json").read_text())
    assert told["digest"] == digest_of("engine/kernels")
    assert told["seconds"] > 0


ONE = """
question: Is it prepared?
base: {model: mlp, dataset: digits, train_samples: 40, test_samples: 20}
grid: {trainer: [torch]}
suites: {quick: {}}
show: {table: {rows: [trainer], columns: [accuracy]}}
"""


def test_inputs_are_made_anew_exactly_when_their_code_has_changed(tmp_path, monkeypatch):
    (tmp_path / "one.yaml").write_text(ONE)
    (run,) = load(tmp_path, "quick", "cpu").runs
    ((data,), (weights,)) = needs(run)
    files = [tmp_path / "data" / data / "meta.json", tmp_path / "weights" / f"{weights}.npz"]

    def redone():
        """What asking for the run's inputs makes anew."""
        before = [path.stat().st_ino for path in files]
        prepare.ensure_inputs(run, tmp_path, tmp_path)
        now = [path.stat().st_ino for path in files]
        return [path.suffix for path, old, new in zip(files, before, now, strict=True) if old != new]

    prepare.ensure_inputs(run, tmp_path, tmp_path)
    assert not any(path.exists() for path in files)  # the workflow makes what is missing
    prepare.prepare_data(data, tmp_path, tmp_path)
    prepare.prepare_weights(weights, tmp_path, tmp_path)
    assert redone() == []
    monkeypatch.setattr(prepare, "weights_code", lambda: "changed")
    assert redone() == [".npz"]
    monkeypatch.setattr(prepare, "data_code", lambda: "changed")
    assert redone() == [".json"]
    assert redone() == []
    for path in (tmp_path / "data" / data / "code", tmp_path / "weights" / f"{weights}.code"):
        path.unlink()  # of older results, nobody knows what made them
    assert redone() == [".json", ".npz"]
