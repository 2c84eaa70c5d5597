"""What may stand after `--config` on a Snakemake line, checked before anything is planned."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pocket.bench.plan.choose import choose
from pocket.bench.plan.nearest import unknown
from pocket.bench.plan.override import overridden
from pocket.bench.plan.setting import SETTINGS
from pocket.bench.plan.spec import Plan, load
from pocket.mistake import Mistake

_KEYS = ("suite", "device", "experiments", "results")


class Configuration(NamedTuple):
    plan: Plan
    experiments: Path
    results: Path


def configure(config: Mapping[str, Any]) -> Configuration:
    """The plan and the folders that a configuration asks for, defaults filled in.

    A setting among the keys (`learning_rate=1e-4`) takes the place of what every experiment says of it.

    Raises Mistake for an unknown key, a wrong name, an experiment file with an error, a results folder that cannot be
    written, a GPU that is not there.
    """
    given = {key: value for key, value in config.items() if key not in _KEYS}
    for key in given:
        if key not in SETTINGS:
            raise Mistake(unknown("key", key, list(dict.fromkeys((*_KEYS, *SETTINGS))), "--config"))
    suite, device = choose(str(config.get("suite", "auto")), str(config.get("device", "auto")), here=True)
    experiments, results = Path(config.get("experiments", "experiments")), Path(config.get("results", "results"))
    if set("{}") & set(str(results)):
        raise Mistake(f"results={results}: braces stand for wildcards in a workflow; choose a folder without them")
    _check_writable(results)
    if given:
        experiments = overridden(experiments, given, results)
    plan = load(experiments, suite, device)
    return Configuration(plan, experiments, results)


def _check_writable(results: Path) -> None:
    probe = results / ".writable"
    try:
        results.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise Mistake(f"cannot write into {results}: {error.strerror}; choose another folder: results=PATH") from None
