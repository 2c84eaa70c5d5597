"""What makes a run that run: its canonical settings, its sides, and the readable ids that carry their digest."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pocket.bench.plan.setting import SETTINGS, complete

_ABOUT_THE_PAIR = {"kind", "device", "opponent", "blocks", "updates_per_block", "time_limit_seconds", "repeat"}
_ALWAYS_TOLD = ("trainer", "malloc")  # by these two, opponents are told apart in tables
OPPONENT_SETTINGS = [name for name, s in SETTINGS.items() if "pair" in s.kinds and name not in _ABOUT_THE_PAIR]


@dataclass(frozen=True)
class Run:
    """One run. `settings` holds exactly what concerns it, in canonical form; `sides(settings)` fills in defaults."""

    id: str
    settings: Mapping[str, Any]


def canonical(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Only the settings that concern this run, all of them, defaults included, in the table's order.

    Two spellings of one experiment therefore give one run, and experiments that ask for the same run share it. A pair's
    `opponent` is reduced to `trainer`, `malloc` and what else differs.
    """
    full = complete(settings)
    if full["kind"] != "pair":
        return _concerning(full)
    second = {**full, **full["opponent"]}
    kept = {**_concerning(full), "opponent": {}}
    first = complete(kept)  # what a reader of the canonical settings takes the first side to be
    kept["opponent"] = {
        name: value
        for name, value in _concerning(second).items()
        if name in OPPONENT_SETTINGS and (name in _ALWAYS_TOLD or value != first[name])
    }
    return kept


def sides(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The complete settings, defaults filled in, that each trainer of a run is given: one, or two for a pair."""
    full = complete(settings)
    if full["kind"] != "pair":
        return [full]
    return [full, {**full, **full["opponent"]}]


def run_id(settings: Mapping[str, Any]) -> str:
    """A readable slug and eight hex digits of the canonical settings' SHA-256, from settings in canonical form."""
    return f"{_slug(settings)}-{_digest(settings)}"


def data_id(settings: Mapping[str, Any]) -> str:
    """The prepared data set that a trainer of these settings reads: results/data/<data id>."""
    full = complete(settings)
    wanted = {name: full[name] for name in ("dataset", "resolution", "train_samples", "test_samples")}
    if not SETTINGS["resolution"].concerns(full):
        wanted["resolution"] = None
    return f"{_data_slug(wanted)}-{_digest(wanted)}"


def weights_id(settings: Mapping[str, Any]) -> str:
    """The initial weights of a trainer of these settings: results/weights/<weights id>.npz."""
    full = complete(settings)
    wanted = {name: full[name] for name in ("model", "width", "initialisation", "seed")}
    width = "" if full["width"] == 1 else f"-x{full['width']:g}"
    slug = f"{full['model']}{width}-{_data_slug(full)}-{full['initialisation']}-s{full['seed']}"
    return f"{slug}-{_digest({**wanted, 'data': data_id(full)})}"


def _concerning(full: Mapping[str, Any]) -> dict[str, Any]:
    return {name: full[name] for name, setting in SETTINGS.items() if setting.concerns(full)}


def _slug(settings: Mapping[str, Any]) -> str:
    full = complete(settings)
    if full["kind"] == "allocation":
        parts = [full["kind"], full["trainer"], f"{full['allocation_bytes'] / 2**20:g}MiB"]
    else:
        versus = f"-vs-{full['opponent'].get('trainer')}" if full["kind"] == "pair" else ""
        parts = [full["kind"], full["trainer"] + versus, full["model"], _data_slug(full), f"b{full['batch_size']}"]
    if full["accumulation_steps"] > 1:
        parts[-1] += f"x{full['accumulation_steps']}"
    parts += [full["precision"]] if full["precision"] != "fp32" else []
    parts += ["undivided"] if not full["divide_loss"] else []
    parts += ["raised"] if "raised" in (full["malloc"], (full["opponent"] or {}).get("malloc")) else []
    parts += [full["device"]] if full["device"] != "cpu" else []
    parts += [f"s{full['seed']}"] if full["kind"] == "train" else []
    return "-".join(parts)


def _data_slug(settings: Mapping[str, Any]) -> str:
    name = settings["dataset"].removeprefix("folder:").rstrip("/").rsplit("/", 1)[-1]
    safe = re.sub(r"[^A-Za-z0-9_.+]|(?<=\.)\.", "_", name)[:40].strip("._+") or "folder"
    return safe if settings["resolution"] is None else f"{safe}-{settings['resolution']}px"


def _digest(settings: Mapping[str, Any]) -> str:
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
