"""Experiment files become runs: crossed, shared, named; and every mistake in them stops before a run."""

import re

import pytest
import yaml

from pocket.bench.plan import spec
from pocket.mistake import Mistake

SHOW = {"table": {"rows": ["trainer"], "columns": ["accuracy"]}, "plots": [{"x": "update", "y": "loss_curve"}]}


@pytest.fixture
def write(tmp_path):
    def write_experiment(name="one", **changes):
        document = {"question": "Does it?", "suites": {"quick": {}}, "show": SHOW} | changes
        document = {key: value for key, value in document.items() if value is not ...}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
        return tmp_path

    return write_experiment


def runs(folder, suite="quick", device="cpu"):
    return [dict(run.settings) for run in spec.load(folder, suite, device).runs]


def ids(folder, suite="quick", device="cpu"):
    return [run.id for run in spec.load(folder, suite, device).runs]


def test_grid_and_seeds_are_crossed(write):
    folder = write(grid={"trainer": ["engine", "torch"], "batch_size": [64, 128]}, seeds=[0, 1, 2])
    found = {(s["trainer"], s["batch_size"], s["seed"]) for s in runs(folder)}
    assert found == {(t, b, s) for t in ("engine", "torch") for b in (64, 128) for s in (0, 1, 2)}
    assert len(ids(folder)) == 12


def test_list_of_grids_is_crossed_each_by_itself(write):
    folder = write(grid=[{"batch_size": [8, 16]}, {"learning_rate": [0.1, 0.2, 0.3]}])
    assert len(ids(folder)) == 5


def test_suite_lays_its_base_over_and_replaces_grid_and_seeds(write):
    folder = write(
        base={"epochs": 1, "learning_rate": 0.1},
        grid={"batch_size": [8, 16]},
        seeds=[0],
        suites={"quick": None, "cpu": {"base": {"epochs": 3}, "grid": {"batch_size": [32]}, "seeds": [5, 6]}},
    )
    assert [(s["epochs"], s["learning_rate"], s["batch_size"]) for s in runs(folder)] == [(1, 0.1, 8), (1, 0.1, 16)]
    assert [(s["epochs"], s["batch_size"], s["seed"]) for s in runs(folder, "cpu")] == [(3, 32, 5), (3, 32, 6)]
    with pytest.raises(Mistake, match=r"no experiment .* takes part in suite gpu"):
        spec.load(folder, "gpu", "cpu")


def test_auto_device_is_settled_when_planned_and_a_named_one_is_kept(write):
    folder = write(grid={"device": ["auto", "cpu"]})
    assert [s["device"] for s in runs(folder, device="cuda")] == ["cuda", "cpu"]
    assert [s["device"] for s in runs(folder, device="cpu")] == ["cpu"]


def test_what_does_not_concern_a_run_is_not_in_its_identity(write):
    write("memory_a", base={"kind": "memory", "learning_rate": 0.1, "epochs": 5}, seeds=[0, 1, 2])
    folder = write("memory_b", base={"kind": "memory", "schedule": "cosine"})
    assert len(ids(folder)) == 1
    assert not {"seed", "epochs", "learning_rate", "schedule", "opponent"} & set(runs(folder)[0])


@pytest.mark.parametrize(
    ("base", "setting", "values"),
    [
        ({"trainer": "engine", "model": "resnet"}, "memory_format", ["channels_last", "contiguous"]),
        ({"trainer": "torch", "model": "mlp"}, "memory_format", ["channels_last", "contiguous"]),
        ({"optimizer": "adamw"}, "momentum", [0.0, 0.9]),
        ({"accumulation_steps": 1}, "divide_loss", [True, False]),
        ({"kind": "pair", "opponent": {"trainer": "torch"}}, "epochs", [1, 2]),
        ({"kind": "allocation", "allocation_bytes": 1024}, "batch_size", [64, 128]),
        ({}, "learning_rate", [0.01, "1e-2", 0.010]),
    ],
)
def test_runs_are_shared_where_a_setting_changes_nothing(write, base, setting, values):
    assert len(ids(write(base=base, grid={setting: values}))) == 1


@pytest.mark.parametrize(
    ("base", "setting", "values"),
    [
        ({"trainer": "torch", "model": "resnet"}, "memory_format", ["channels_last", "contiguous"]),
        ({"trainer": "engine"}, "malloc", ["default", "raised"]),
        ({"kind": "memory"}, "momentum", [0.0, 0.9]),
        ({"accumulation_steps": 2}, "divide_loss", [True, False]),
        ({"kind": "pair", "opponent": {}}, "blocks", [2, 4]),
        ({}, "repeat", [0, 1]),
        ({}, "learning_rate", [0.01, 0.02]),
    ],
)
def test_a_setting_that_concerns_a_run_makes_another(write, base, setting, values):
    assert len(ids(write(base=base, grid={setting: values}))) == len(values)


def test_explicit_default_is_the_same_run(write):
    write("short")
    folder = write("long", base={"batch_size": 64, "optimizer": "sgd", "width": 1})
    plan = spec.load(folder, "quick", "cpu")
    assert plan.experiments[0].runs == plan.experiments[1].runs
    assert len(plan.runs) == 1


def test_pair_has_two_sides_and_keeps_what_only_the_second_uses(write):
    opponents = [{"trainer": "torch", "malloc": "default"}, {"trainer": "torch", "malloc": "raised"}]
    base = {"kind": "pair", "model": "simple_cnn", "resolution": 32, "memory_format": "contiguous"}
    folder = write(base=base, grid={"opponent": opponents})
    first, second = spec.load(folder, "quick", "cpu").runs
    assert [dict(run.settings["opponent"]) for run in (first, second)] == [
        {"trainer": "torch", "memory_format": "contiguous", "malloc": "default"},
        {"trainer": "torch", "memory_format": "contiguous", "malloc": "raised"},
    ]
    a, b = spec.sides(second.settings)
    assert (a["trainer"], a["malloc"], b["trainer"], b["malloc"]) == ("engine", "default", "torch", "raised")
    assert b["memory_format"] == "contiguous"
    assert a["resolution"] == b["resolution"] == 32


def test_pair_of_a_trainer_with_itself(write):
    run = spec.load(write(base={"kind": "pair", "trainer": "torch", "opponent": {}}), "quick", "cpu").runs[0]
    a, b = spec.sides(run.settings)
    assert {**a, "opponent": None} == {**b, "opponent": None}
    assert run.id.startswith("pair-torch-vs-torch-mlp-digits-b64-")


def test_both_trainers_share_data_and_weights(write):
    plan = spec.load(write(grid={"trainer": ["engine", "torch"], "kind": ["train", "memory"]}), "quick", "cpu")
    assert len({str(spec.needs(run)) for run in plan.runs}) == 1
    data, weights = spec.needs(plan.runs[0])
    assert len(data) == len(weights) == 1


@pytest.mark.parametrize("setting", ["dataset", "resolution", "train_samples", "test_samples"])
def test_data_that_differs_has_another_id(setting):
    changed = {"dataset": "cifar10", "resolution": 16, "train_samples": 100, "test_samples": 100}[setting]
    assert spec.data_id({setting: changed}) != spec.data_id({})
    assert spec.weights_id({setting: changed}) != spec.weights_id({})


def test_weights_differ_by_seed_and_not_by_learning_rate():
    assert spec.weights_id({"seed": 1}) != spec.weights_id({"seed": 0})
    assert spec.weights_id({"learning_rate": 1.0}) == spec.weights_id({})


def test_allocation_needs_no_data(write):
    folder = write(base={"kind": "allocation", "trainer": "torch", "allocation_bytes": 2**28})
    run = spec.load(folder, "quick", "cpu").runs[0]
    assert spec.needs(run) == ([], [])
    assert run.id.startswith("allocation-torch-256MiB-")


@pytest.mark.parametrize("name", ["my proj's é", "50%", "a b", "../up", "..", "x{y}", "NA", "100.5+b_c", "é" * 9])
def test_ids_are_safe_file_names_whatever_the_folder_is_called(write, name):
    folder = write(base={"dataset": f"folder:/data/{name}", "model": "mlp"})
    run = spec.load(folder, "quick", "cpu").runs[0]
    data, weights = spec.needs(run)
    for made in (run.id, *data, *weights):
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*-[0-9a-f]{8}", made)
        assert ".." not in made
        assert len(made) < 150


def test_find_looks_in_every_suite_and_device(write):
    folder = write(suites={"quick": {}, "full": {"base": {"epochs": 300}}})
    wanted = spec.load(folder, "full", "cuda").runs[0]
    assert spec.find(wanted.id, folder) == wanted
    with pytest.raises(Mistake, match="unknown run"):
        spec.find("train-none-00000000", folder)


MISTAKES = [
    ({"grid": {"batchsize": [32]}}, "unknown setting 'batchsize' in .*grid; nearest: 'batch_size'; known: kind"),
    ({"base": {"lr": 0.1}}, "nearest: 'learning_rate'"),
    ({"base": {"lerning_rate": 0.1}}, "nearest: 'learning_rate'"),
    ({"grids": {}}, "unknown key 'grids' in .*one.yaml; nearest: 'grid'; known: question"),
    ({"question": "It does."}, r"wanted a text that ends in \"\?\""),
    ({"question": ...}, "question is None"),
    ({"title": 3}, "title is 3"),
    ({"suites": ...}, "suites is None"),
    ({"suites": {"quik": {}}}, "nearest: 'quick'"),
    ({"suites": {"quick": {"bsae": {}}}}, "nearest: 'base'"),
    ({"suites": {"quick": {"base": {"epochs": 0}}}}, "suites.quick.base: epochs is 0"),
    ({"suites": {"quick": 5}}, "suites.quick is 5"),
    ({"base": {"learning_rate": -0.1}}, "base: learning_rate is -0.1; wanted a number above 0"),
    ({"grid": {"batch_size": [64, 0]}}, "batch_size is 0; wanted a whole number of at least 1"),
    ({"grid": {"batch_size": [3.5]}}, "batch_size is 3.5"),
    ({"grid": {"batch_size": 64}}, "wanted a list of values"),
    ({"grid": {"batch_size": []}}, "wanted a list of values"),
    ({"grid": [{"batch_size": [1]}, {"epoch": [1]}]}, r"grid\[2\]; nearest: 'epochs'"),
    ({"grid": 3}, "grid is 3"),
    ({"base": []}, r"base is \[\]"),
    ({"seeds": 3}, "seeds: seed is 3; wanted a list"),
    ({"seeds": [-1]}, "seeds: seed is -1"),
    ({"seeds": [0, 1], "base": {"seed": 1}}, "keep one of them"),
    ({"base": {"batch_size": 64, "accumulation_steps": 5}}, "batch_size 64 cannot be cut"),
    ({"base": {"dataset": "tabular", "model": "resnet"}}, "use model: mlp"),
    ({"base": {"dataset": "tabular", "resolution": 32}}, "resolution 32 is for images"),
    ({"base": {"nesterov": True, "momentum": 0}}, "nesterov wants a momentum"),
    ({"base": {"kind": "pair"}}, "kind pair wants opponent"),
    ({"base": {"kind": "pair", "opponent": {"trianer": "torch"}}}, "opponent; nearest: 'trainer'"),
    ({"base": {"kind": "pair", "opponent": {"batch_size": 0}}}, "opponent: batch_size is 0"),
    ({"base": {"kind": "allocation"}}, "wants allocation_bytes"),
    ({"show": ...}, "show is None"),
    ({"show": {"table": {"rows": ["trainer"], "columns": ["acuracy"]}}}, "nearest: 'accuracy'"),
    ({"show": {"table": {"rows": ["batch"], "columns": ["accuracy"]}}}, "nearest: 'batch_size'"),
    ({"show": SHOW | {"plots": [{"x": "update"}]}}, r"plots\[1\] lacks y"),
    ({"show": SHOW | {"plots": [{"x": "update", "y": "accuracy"}]}}, "unknown setting 'update'"),
    ({"show": SHOW | {"plots": [{"x": "batch_size", "y": "loss_curve"}]}}, "unknown axis 'batch_size'"),
    ({"show": SHOW | {"plots": [{"x": "update", "y": "loss_curve", "kind": "bar"}]}}, "nearest: 'bars'"),
    ({"show": SHOW | {"plot": []}}, "nearest: 'plots'"),
]


@pytest.mark.parametrize(("changes", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistake_is_one_line_that_names_file_and_place(write, changes, message):
    folder = write(**changes)
    with pytest.raises(Mistake, match=message) as caught:
        spec.load(folder, "quick", "cpu")
    assert "one.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["con", "NUL", "a b", "é", "x..y", "-x", "com1.more", "50%"])
def test_experiment_name_that_some_system_cannot_hold_is_refused(write, name):
    with pytest.raises(Mistake, match="rename the file"):
        spec.load(write(name), "quick", "cpu")


@pytest.mark.parametrize("name", ["one", "amp-2", "a.b", "c+d", "7", "console"])
def test_experiment_name_that_is_safe_is_kept(write, name):
    assert spec.load(write(name), "quick", "cpu").experiments[0].name == name


def test_empty_folder_unknown_suite_and_device_are_mistakes(write, tmp_path):
    with pytest.raises(Mistake, match="no experiment found"):
        spec.load(tmp_path, "quick", "cpu")
    write()
    with pytest.raises(Mistake, match="nearest: 'quick'"):
        spec.load(tmp_path, "quik", "cpu")
    with pytest.raises(Mistake, match="unknown device 'tpu'"):
        spec.load(tmp_path, "quick", "tpu")


def test_experiments_stand_in_their_order_and_then_by_name(tmp_path):
    text = "question: Why?\n{}suites: {{quick: {{}}}}\nshow: {{table: {{rows: [trainer], columns: [accuracy]}}}}\n"
    for name, order in (("a", ""), ("b", "order: 2\n"), ("c", "order: 1\n"), ("d", "")):
        (tmp_path / f"{name}.yaml").write_text(text.format(order))
    assert [each.name for each in spec.load(tmp_path, "quick", "cpu").experiments] == ["c", "b", "a", "d"]


def test_a_file_that_would_be_passed_over_is_named(tmp_path):
    (tmp_path / "small.yml").write_text("question: Why?\n")
    with pytest.raises(Mistake, match=r"small\.yml would be passed over; rename it to small\.yaml"):
        spec.load(tmp_path, "quick", "cpu")


def test_a_picture_too_small_for_the_model_is_refused_before_any_run(write):
    with pytest.raises(Mistake, match="resolution 4 is halved three times by simple_cnn; wanted 8 or more"):
        spec.load(write(base={"model": "simple_cnn", "resolution": 4}), "quick", "cpu")
