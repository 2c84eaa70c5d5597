"""Both real trainers through the whole harness, on digits."""

import sys
from pathlib import Path

import numpy as np
import pytest

from pocket.bench import source
from pocket.bench.measure.trainers import initial_weights
from pocket.bench.plan.identity import Run, canonical, data_id, run_id, sides, weights_id
from pocket.bench.plan.setting import complete
from pocket.bench.supervisor.supervise import supervise
from pocket.data import load, prepare

MIB = 1 << 20
SPY = (sys.executable, str(Path(__file__).with_name("module_spy.py")))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


def measured(results: Path, command=None, **settings) -> dict:
    """The record of a run of simple_cnn on 200 digits of 16 pixels."""
    wanted = {"device": "cpu", "model": "simple_cnn", "resolution": 16, "train_samples": 200, "test_samples": 60}
    kept = canonical(complete({**wanted, "batch_size": 32, **settings}))
    for side in sides(kept) if kept["kind"] != "allocation" else []:
        folder, weights = results / "data" / data_id(side), results / "weights" / f"{weights_id(side)}.npz"
        if not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            prepare("digits", 16, 200, 60, folder)
        if not weights.exists():
            weights.parent.mkdir(exist_ok=True)
            data = load(folder)
            drawn = initial_weights(side["model"], data.input_shape, data.outputs, 1.0, "he", side["seed"])
            np.savez(weights, **drawn)
    run = Run(run_id(kept), kept)
    made = supervise(run, results, **({"command": command} if command else {}))
    assert made["status"] == "ok", f"{made['reason']}\n{made['detail']}"
    return made


def test_what_becomes_of_the_last_samples_is_said_before_training_and_recorded(results, capfd):
    made = measured(results, trainer="engine", max_updates=1)
    sentence = "the last batch of each epoch has 8 of 32 samples, and its loss is the mean over those 8"
    assert made["data"]["notes"] == [sentence]
    assert f"{made['run']}: {sentence}" in capfd.readouterr().out
    assert measured(results, trainer="engine", max_updates=1, batch_size=40)["data"]["notes"] == []


def test_both_trainers_lose_alike_and_import_only_what_they_need(results, tmp_path, monkeypatch):
    losses, modules = {}, {}
    for trainer in ("engine", "torch"):
        monkeypatch.setenv("POCKET_TEST_MODULES", str(tmp_path / trainer))
        made = measured(results, SPY, trainer=trainer, epochs=2)
        losses[trainer] = made["values"]["updates"]["loss"]
        modules[trainer] = set((tmp_path / trainer).read_text().split())
        assert made["values"]["updates"]["samples"] == [32, 32, 32, 32, 32, 32, 8] * 2
        assert made["values"]["epochs"][-1]["total"] == 60
    np.testing.assert_allclose(losses["engine"], losses["torch"], rtol=2e-2)
    np.testing.assert_allclose(losses["engine"][:3], losses["torch"][:3], rtol=1e-4)
    assert "numpy" in modules["engine"]
    assert not modules["engine"] & {"torch", "torchvision", "sklearn", "pandas", "matplotlib", "PIL", "jsonschema"}
    assert "torch" in modules["torch"]
    assert not modules["torch"] & {"torchvision", "sklearn", "pandas", "matplotlib"}


def test_live_bytes_of_the_engine_agree_with_its_pool(results):
    memory = measured(results, kind="memory", trainer="engine")["values"]["memory"]
    assert memory["method"] == "tracemalloc"
    assert abs(memory["live_peak_bytes"] - memory["account_peak_bytes"]) < MIB
    weights = np.load(next((results / "weights").glob("*.npz")))
    held = 3 * sum(weights[name].nbytes for name in weights.files)  # weights, gradients, momentum
    assert memory["live_peak_bytes"] > held
    assert max(live for _, live in memory["timeline"]) <= memory["live_peak_bytes"]


def test_live_bytes_of_torch_hold_weights_gradients_and_momentum(results):
    memory = measured(results, kind="memory", trainer="torch")["values"]["memory"]
    assert memory["method"] == "torch.profiler"
    weights = np.load(next((results / "weights").glob("*.npz")))
    held = 3 * sum(weights[name].nbytes for name in weights.files)
    assert held < memory["live_peak_bytes"] < memory["process_peak_bytes"]
    assert memory["timeline"][0][0] >= 0
    assert max(live for _, live in memory["timeline"]) == memory["live_peak_bytes"]


def test_engine_against_torch_in_turns(results):
    opponent = {"trainer": "torch", "malloc": "raised"}
    made = measured(results, kind="pair", trainer="engine", opponent=opponent, blocks=2, updates_per_block=2)
    assert [block["side"] for block in made["values"]["blocks"]] == ["a", "b", "b", "a"]
    assert made["machine"]["sides"]["b"]["malloc_raised"]
    assert "torch_cpu_capability" in made["machine"]["sides"]["b"]
    assert {"trainer engine", "trainer torch"} < set(made["code"]["parts"])


def test_a_torch_allocation_is_measured_within_a_percent(results):
    values = measured(results, kind="allocation", trainer="torch", allocation_bytes=64 * MIB)["values"]
    assert values["live_bytes"] == pytest.approx(64 * MIB, rel=0.01)
    assert values["process_bytes"] == pytest.approx(64 * MIB, rel=0.05)


def test_a_record_grows_stale_with_the_code_it_used(results, tmp_path, monkeypatch):
    made = measured(results, trainer="engine", max_updates=1)
    assert not source.is_stale(made)
    copy = tmp_path / "pocket"
    for path in source.PACKAGE.rglob("*"):
        if path.suffix in (".py", ".cu") and "__pycache__" not in path.parts:
            target = copy / path.relative_to(source.PACKAGE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    monkeypatch.setattr(source, "PACKAGE", copy)

    def stale_after(name):
        source._of_folder.cache_clear()
        (copy / name).write_text((copy / name).read_text() + "\n")
        return source.is_stale(made)

    assert not stale_after("baseline/train.py")  # an engine run used none of it
    assert not stale_after("bench/judge/stats.py")  # and judging changes no measurement
    assert stale_after("engine/optim.py")
    source._of_folder.cache_clear()
