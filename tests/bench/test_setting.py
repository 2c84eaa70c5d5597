"""Every value of a setting becomes what a person means, or stops with what was wanted."""

import pytest

from pocket.bench.plan.setting import SETTINGS, complete, validate
from pocket.bench.plan.value import size_bytes
from pocket.mistake import Mistake


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("batch_size", 64, 64),
        ("batch_size", 64.0, 64),
        ("batch_size", "1_000", 1000),
        ("epochs", "1e1", 10),
        ("learning_rate", 1, 1.0),
        ("learning_rate", "1e-3", 0.001),
        ("learning_rate", "1e+4", 10000.0),
        ("weight_decay", -0.0, 0.0),
        ("resolution", None, None),
        ("augmentation", ["flip", "crop"], ["crop", "flip"]),
        ("memory_budget", "8 GiB", "8GiB"),
        ("dataset", "folder:/my pictures/é", "folder:/my pictures/é"),
        ("nesterov", True, True),
    ],
)
def test_value_becomes_what_is_meant(name, given, meant):
    value = validate({name: given}, "a.yaml")[name]
    assert value == meant
    assert type(value) is type(meant)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("batch_size", 0),
        ("batch_size", 3.5),
        ("batch_size", True),
        ("batch_size", "3.5"),
        ("batch_size", "010"),
        ("batch_size", "1:30"),
        ("batch_size", None),
        ("batch_size", float("inf")),
        ("batch_size", 10**400),
        ("epochs", [1]),
        ("learning_rate", -0.1),
        ("learning_rate", 0),
        ("learning_rate", "NaN"),
        ("learning_rate", float("nan")),
        ("learning_rate", "1e999"),
        ("nesterov", "on"),
        ("nesterov", 1),
        ("divide_loss", "false"),
        ("model", "resnet50"),
        ("model", ["mlp"]),
        ("dataset", "folder:"),
        ("augmentation", ["crop", "crop"]),
        ("augmentation", "crop"),
        ("memory_budget", "8"),
        ("memory_budget", "0GB"),
        ("time_limit_seconds", -5),
        ("seed", -1),
        ("opponent", "torch"),
    ],
)
def test_wrong_value_names_place_setting_and_value(name, given):
    with pytest.raises(Mistake) as caught:
        validate({name: given}, "a.yaml: base")
    message = str(caught.value)
    assert message.startswith(f"a.yaml: base: {name} is ")
    assert repr(given) in message
    assert "; wanted " in message
    assert "\n" not in message


def test_unknown_setting_suggests_the_nearest_and_lists_all():
    with pytest.raises(Mistake, match="nearest: 'batch_size'; known: kind, trainer") as caught:
        validate({"batchsize": 32}, "a.yaml: grid")
    assert all(name in str(caught.value) for name in SETTINGS)


def test_every_default_is_a_value_that_its_setting_takes():
    for name, setting in SETTINGS.items():
        assert validate({name: setting.default}, "defaults") == {name: setting.default} or name == "opponent"


def test_complete_fills_in_every_setting_and_keeps_what_is_given():
    full = complete({"batch_size": 7})
    assert list(full) == list(SETTINGS)
    assert full["batch_size"] == 7
    assert full["learning_rate"] == 0.01


@pytest.mark.parametrize(("text", "size"), [("8GB", 8 * 10**9), ("512 MiB", 2**29), ("1.5KiB", 1536)])
def test_sizes_are_powers_of_1000_or_of_1024(text, size):
    assert size_bytes(text) == size
