"""The time that is said before a run follows from counted arithmetic, and from records where there are some."""

from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import body, plan_of, write_all

from pocket.bench import record as records
from pocket.bench.plan.estimate import describe, seconds, total_seconds, train_seconds
from pocket.bench.plan.setting import DATASETS, complete
from pocket.bench.plan.spec import Plan
from pocket.bench.plan.work import multiply_adds, samples, work

ROOT = Path(__file__).parents[2]


def settings(**changes):
    return complete({"device": "cpu", "model": "simple_cnn", "resolution": 64} | changes)


def test_multiply_adds_of_the_small_cnn_are_those_counted_by_hand():
    convolutions = 9 * (3 * 32 * 64**2 + 32 * 64 * 32**2 + 64 * 128 * 16**2)
    assert multiply_adds(settings(dataset="cifar10")) == convolutions + 128 * 64 * 128


def test_multiply_adds_of_the_mlp_are_its_weights():
    assert multiply_adds(settings(model="mlp", dataset="tabular", resolution=None)) == 20 * 128 + 128 * 64 + 64


def test_multiply_adds_of_the_resnet_grow_with_the_area_and_nearly_with_the_square_of_the_width():
    full = multiply_adds(settings(model="resnet", dataset="cifar10", resolution=32))
    stem, first = 9 * 3 * 64 * 32**2, 6 * 9 * 64**2 * 32**2
    second = (9 * 64 * 128 + 7 * 9 * 128**2 + 64 * 128) * 16**2
    third = (9 * 128 * 256 + 5 * 9 * 256**2 + 128 * 256) * 8**2
    assert full == stem + first + second + third
    assert multiply_adds(settings(model="resnet", dataset="cifar10", resolution=64)) == 4 * full
    assert multiply_adds(settings(model="resnet", dataset="cifar10", resolution=32, width=0.5)) == pytest.approx(
        full / 4, rel=0.02
    )


@pytest.mark.parametrize("dataset", [*DATASETS, "folder:/some/pictures"])
def test_work_of_every_data_set_can_be_counted(dataset):
    assert work(complete({"device": "cpu", "model": "mlp", "dataset": dataset})).flops > 0


def test_updates_and_samples_follow_the_settings():
    assert work(settings(epochs=2)).updates == 2 * 23
    assert work(settings(epochs=2, last_batch="drop")).updates == 2 * 22
    assert work(settings(epochs=2, max_updates=5)).updates == 5
    assert work(settings(epochs=3)).sample_passes == pytest.approx(3 * (1437 + 120))
    assert work(settings(kind="pair", blocks=4, updates_per_block=5, warmup_updates=3)).updates == 23
    assert samples(settings(train_samples=100, test_samples=10**6)) == (100, 360)


def test_a_pair_is_the_work_of_both_sides():
    alone = train_seconds(settings(kind="pair", opponent={}))
    with_itself_in_micro_batches = train_seconds(settings(kind="pair", opponent={"accumulation_steps": 4}))
    assert with_itself_in_micro_batches > alone > 0


def test_record_of_the_same_run_replaces_the_count(tmp_path):
    plan = plan_of(tmp_path / "experiments")
    run = plan.runs[0]
    spent = {**body(run)["seconds"], "total": 77.0}
    records.write(records.seal({**body(run), "seconds": spent}), records.path_of(run.id, tmp_path))
    assert seconds(plan.runs, tmp_path)[run.id] == 77.0


def test_slow_records_slow_the_rest_of_the_same_trainer(tmp_path):
    plan = plan_of(tmp_path / "experiments")
    trains = [run for run in plan.runs if run.settings["kind"] == "train" and run.settings["trainer"] == "torch"]
    before = seconds(plan.runs, tmp_path)
    run = trains[0]
    spent = {**body(run)["seconds"], "train": 100 * train_seconds(run.settings), "score": 0.0}
    records.write(records.seal({**body(run), "seconds": spent}), records.path_of(run.id, tmp_path))
    after = seconds(plan.runs, tmp_path)
    others = [one.id for one in trains[1:]]
    assert all(after[name] > before[name] for name in others)
    engine = [one.id for one in plan.runs if one.settings["trainer"] == "engine" and one.settings["kind"] == "train"]
    assert all(after[name] == before[name] for name in engine)


def test_nothing_to_do_takes_no_time(tmp_path):
    plan = plan_of(tmp_path / "experiments")
    write_all(plan, tmp_path)
    assert total_seconds(plan, tmp_path) == 0
    assert "0 of them to do; estimated 0 s" in describe(plan, tmp_path)


def test_time_limit_bounds_a_run(tmp_path):
    plan = plan_of(tmp_path / "experiments")
    run = plan.runs[0]
    short = replace(run, settings={**run.settings, "epochs": 10**6, "time_limit_seconds": 9})
    assert seconds([short], tmp_path) == {short.id: 9}


def test_run_that_no_trainer_can_do_is_nearly_free(tmp_path):
    plan = plan_of(tmp_path / "experiments")
    run = next(run for run in plan.runs if run.settings["trainer"] == "engine")
    on_gpu = replace(run, settings={**run.settings, "device": "cuda"})
    assert seconds([on_gpu], tmp_path)[on_gpu.id] < 1


def test_description_counts_runs_by_kind(tmp_path):
    plan = plan_of(tmp_path / "experiments")
    text = describe(plan, tmp_path)
    assert text.startswith(f"Suite quick on cpu: {len(plan.experiments)} experiments, {len(plan.runs)} runs")
    for kind in ("train", "memory", "pair", "allocation"):
        count = sum(run.settings["kind"] == kind for run in plan.runs)
        assert f"{count:3d} of kind {kind}" in text


@pytest.mark.parametrize(
    ("suite", "device", "minutes"), [("quick", "cpu", 10), ("cpu", "cpu", 60), ("gpu", "cuda", 60)]
)
def test_suites_are_estimated_within_their_time(tmp_path, suite, device, minutes):
    from pocket.bench.plan.spec import load

    plan: Plan = load(ROOT / "experiments", suite, device)
    assert 0.1 * minutes < total_seconds(plan, tmp_path) / 60 < minutes
