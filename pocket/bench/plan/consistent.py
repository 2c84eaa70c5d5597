"""Settings that are each right and together wrong: stopped before any run, with what to change."""

from collections.abc import Mapping
from typing import Any

from pocket.bench.plan.identity import OPPONENT_SETTINGS
from pocket.bench.plan.nearest import unknown
from pocket.bench.plan.setting import complete, validate
from pocket.mistake import Mistake


def check_together(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The same settings, a pair's opponent validated. Raises Mistake for a combination that no trainer can run."""
    kind = settings.get("kind", "train")
    if kind == "allocation":
        if settings.get("allocation_bytes") is None:
            raise Mistake(f"{where}: kind allocation wants allocation_bytes, such as 268435456")
        return dict(settings)
    if kind != "pair":
        _check_side(complete(settings), where)
        return dict(settings)
    opponent = settings.get("opponent")
    if opponent is None:
        raise Mistake(f"{where}: kind pair wants opponent, such as {{trainer: torch, malloc: raised}}; {{}} is itself")
    for name in opponent:
        if name not in OPPONENT_SETTINGS:
            raise Mistake(unknown("setting", name, OPPONENT_SETTINGS, f"{where}: opponent"))
    opponent = validate(opponent, f"{where}: opponent")
    full = complete(settings)
    _check_side(full, where)
    _check_side({**full, **opponent}, f"{where}: opponent")
    return {**settings, "opponent": opponent}


def _check_side(full: Mapping[str, Any], where: str) -> None:
    batch, steps = full["batch_size"], full["accumulation_steps"]
    if batch % steps:
        raise Mistake(f"{where}: batch_size {batch} cannot be cut into accumulation_steps {steps} equal micro-batches")
    if full["dataset"] == "tabular":
        if full["model"] != "mlp":
            raise Mistake(f"{where}: model {full['model']!r} wants images and dataset tabular has rows; use model: mlp")
        for name in ("resolution", "augmentation"):
            if full[name]:
                raise Mistake(
                    f"{where}: {name} {full[name]!r} is for images and dataset tabular has rows; leave it out"
                )
    if full["model"] == "simple_cnn" and full["resolution"] is not None and full["resolution"] < 8:
        raise Mistake(f"{where}: resolution {full['resolution']} is halved three times by simple_cnn; wanted 8 or more")
    if full["nesterov"] and full["optimizer"] == "sgd" and not full["momentum"]:
        raise Mistake(f"{where}: nesterov wants a momentum above 0")
