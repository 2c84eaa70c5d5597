"""The settings of a run: name, values, default, and which runs a setting concerns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pocket.bench.plan import value
from pocket.bench.plan.nearest import unknown
from pocket.mistake import Mistake

KINDS = ("train", "memory", "pair", "allocation")
TRAINERS = ("engine", "torch")
DEVICES = ("cpu", "cuda")
DATASETS = ("digits", "color_digits", "fashion_mnist", "cifar10", "tabular")
MODELS = ("mlp", "simple_cnn", "resnet")


@dataclass(frozen=True)
class Setting:
    """One setting. It concerns a run when the run's kind is among `kinds` and `when` says so of its other settings."""

    name: str
    default: Any
    parse: Callable[[Any], Any]  # returns the value, or raises ValueError(what was wanted)
    kinds: tuple[str, ...]
    help: str
    when: Callable[[Mapping[str, Any]], bool] = lambda settings: True

    def concerns(self, settings: Mapping[str, Any]) -> bool:
        """Whether a run of these complete settings is another run when this setting changes."""
        return settings["kind"] in self.kinds and self.when(settings)


def _uses_sgd(settings: Mapping[str, Any]) -> bool:
    return settings["optimizer"] == "sgd"


def _has_images(settings: Mapping[str, Any]) -> bool:
    return settings["dataset"] != "tabular"


def _accumulates(settings: Mapping[str, Any]) -> bool:
    return settings["accumulation_steps"] > 1


def _is_torch_with_maps(settings: Mapping[str, Any]) -> bool:
    return settings["trainer"] == "torch" and settings["model"] != "mlp"


_ALL = KINDS
_STEPS = ("train", "memory", "pair")
_TIMED = ("train", "pair")
_TRAIN = ("train",)
_PAIR = ("pair",)

_TABLE = (
    Setting("kind", "train", value.choice(*KINDS), _ALL, "what is measured"),
    Setting("trainer", "engine", value.choice(*TRAINERS), _ALL, "whose training loop"),
    Setting("device", "auto", value.choice("auto", *DEVICES), _ALL, "auto is settled when the run is planned"),
    Setting("model", "mlp", value.choice(*MODELS), _STEPS, "the network"),
    Setting("width", 1.0, value.number(0, open_below=True), _STEPS, "factor on channel and hidden counts"),
    Setting("dataset", "digits", value.dataset(*DATASETS), _STEPS, "a data set, or folder:PATH with a folder a class"),
    Setting("resolution", None, value.optional(value.whole(1)), _STEPS, "pixels; null: as stored", _has_images),
    Setting("train_samples", None, value.optional(value.whole(1)), _STEPS, "how many of the training split; null: all"),
    Setting("test_samples", None, value.optional(value.whole(1)), _STEPS, "how many of the test split; null: all"),
    Setting("augmentation", [], value.names_from("crop", "flip", "cutout"), _TIMED, "random changes", _has_images),
    Setting("batch_size", 64, value.whole(1), _STEPS, "samples an update"),
    Setting("accumulation_steps", 1, value.whole(1), _STEPS, "micro-batches an update"),
    Setting("divide_loss", True, value.flag, _TRAIN, "false: micro-batch losses add up undivided", _accumulates),
    Setting("last_batch", "keep", value.choice("keep", "drop"), _STEPS, "what happens to a smaller last batch"),
    Setting("epochs", 1, value.whole(1), _TRAIN, "passes over the training split"),
    Setting("max_updates", None, value.optional(value.whole(1)), _TRAIN, "stop after so many updates; null: never"),
    Setting("optimizer", "sgd", value.choice("sgd", "adam", "adamw"), _STEPS, "the update rule"),
    Setting("learning_rate", 0.01, value.number(0, open_below=True), _TRAIN, "at the first epoch"),
    Setting("momentum", 0.9, value.number(0), _STEPS, "of sgd", _uses_sgd),
    Setting("nesterov", False, value.flag, _STEPS, "of sgd", _uses_sgd),
    Setting("weight_decay", 0.0, value.number(0), _STEPS, "of the optimizer"),
    Setting("schedule", "constant", value.choice("constant", "cosine", "step"), _TRAIN, "learning rate over epochs"),
    Setting("initialisation", "he", value.choice("he", "xavier", "gaussian"), _TRAIN, "of the initial weights"),
    Setting("precision", "fp32", value.choice("fp32", "amp"), _STEPS, "amp: half precision where it is safe"),
    Setting(
        "memory_format",
        "channels_last",
        value.choice("channels_last", "contiguous"),
        _STEPS,
        "of PyTorch's maps",
        _is_torch_with_maps,
    ),
    Setting("malloc", "default", value.choice("default", "raised"), _ALL, "the C library's mmap and trim thresholds"),
    Setting("threads", 2, value.whole(1), _STEPS, "CPU threads that compute"),
    Setting("memory_budget", None, value.optional(value.size), _STEPS, 'imitates a smaller card, such as "8GB"'),
    Setting("time_limit_seconds", 600, value.whole(1), _ALL, "a longer run is ended and recorded as timeout"),
    Setting("seed", 0, value.whole(0), _TRAIN, "of weights, order and augmentation"),
    Setting("repeat", 0, value.whole(0), _ALL, "the same run once more"),
    Setting("opponent", None, value.optional(value.mapping), _PAIR, "where the second trainer differs from the first"),
    Setting("blocks", 10, value.whole(2), _PAIR, "turns a side, in ABBA order"),
    Setting("updates_per_block", 5, value.whole(1), _PAIR, "updates in a turn"),
    Setting("warmup_updates", 3, value.whole(0), _STEPS, "first updates, which do not count"),
    Setting("allocation_bytes", None, value.optional(value.whole(1)), ("allocation",), "how much is allocated"),
)
SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _TABLE}


def validate(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The same settings with every value checked and in one spelling (64.0 becomes 64).

    Raises Mistake for an unknown name, a value out of range or of another type; `where` names the place to change.
    """
    return {name: _parse(name, given, where) for name, given in settings.items()}


def complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings, in the table's order, with defaults where none was given."""
    return {setting.name: settings.get(setting.name, setting.default) for setting in _TABLE}


def _parse(name: str, given: Any, where: str) -> Any:
    if name not in SETTINGS:
        raise Mistake(unknown("setting", name, SETTINGS, where))
    try:
        return SETTINGS[name].parse(given)
    except ValueError as error:
        came = f"the text {given!r}" if isinstance(given, str) else repr(given)
        raise Mistake(f"{where}: {name} is {came}; wanted {error}") from None
