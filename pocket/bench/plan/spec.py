"""From experiment files to runs: `load` reads a folder of YAML files and gives the plan of one suite on one device.

Light on purpose: it imports neither NumPy nor pandas, since every run's process starts with it.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pocket.bench.plan.document import SUITES, read_all
from pocket.bench.plan.expand import expand
from pocket.bench.plan.identity import Run, data_id, sides, weights_id
from pocket.bench.plan.nearest import unknown
from pocket.bench.plan.setting import DEVICES
from pocket.mistake import Mistake

__all__ = ["Experiment", "Plan", "Run", "data_id", "find", "load", "needs", "sides", "weights_id"]


@dataclass(frozen=True)
class Experiment:
    """One question, the runs that answer it in one suite, and what of them is shown."""

    name: str
    question: str
    title: str
    runs: tuple[Run, ...]
    show: Mapping[str, Any]  # as pocket.bench.plan.show.validate_show gives it
    path: Path
    notes: str = ""  # what the reader must know to read the answer rightly


@dataclass(frozen=True)
class Plan:
    """The experiments of one suite on one device."""

    experiments: tuple[Experiment, ...]
    suite: str
    device: str

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every run once, in the order of the experiments that ask for it."""
        return tuple({run.id: run for experiment in self.experiments for run in experiment.runs}.values())

    def experiment(self, name: str) -> Experiment:
        """The experiment of that name. Raises Mistake."""
        for experiment in self.experiments:
            if experiment.name == name:
                return experiment
        names = [experiment.name for experiment in self.experiments]
        raise Mistake(unknown("experiment", name, names, f"suite {self.suite}"))

    def run(self, run_id: str) -> Run:
        """The run of that id. Raises Mistake."""
        for run in self.runs:
            if run.id == run_id:
                return run
        raise Mistake(unknown("run", run_id, [run.id for run in self.runs], f"suite {self.suite}"))


def load(folder: Path, suite: str, device: str) -> Plan:
    """The plan of `suite` ("quick", "cpu", "gpu", "full") on `device` ("cpu", "cuda"). Raises Mistake."""
    if suite not in SUITES:
        raise Mistake(unknown("suite", suite, SUITES, "suite"))
    if device not in DEVICES:
        raise Mistake(unknown("device", device, DEVICES, "device"))
    plan = _plan(read_all(folder), suite, device)
    if not plan.experiments:
        raise Mistake(f"no experiment in {folder} takes part in suite {suite}; name the suite under `suites` of a file")
    return plan


def find(run_id: str, folder: Path) -> Run:
    """The run of that id, whatever suite and device it belongs to. Raises Mistake."""
    known: dict[str, Run] = {}
    for plan in every_plan(folder):
        known |= {run.id: run for run in plan.runs}
        if run_id in known:
            return known[run_id]
    raise Mistake(f"{unknown('run', run_id, known, str(folder))[:400]} (pocket bench status --runs lists them)")


def every_plan(folder: Path) -> Iterator[Plan]:
    """The plans of all suites on all devices, one after the other."""
    documents = read_all(folder)
    for device, suite in itertools.product(DEVICES, SUITES):
        yield _plan(documents, suite, device)


def needs(run: Run) -> tuple[list[str], list[str]]:
    """Ids of the prepared data sets and of the initial weights that a run reads."""
    if run.settings["kind"] == "allocation":
        return [], []
    both = sides(run.settings)
    return list(dict.fromkeys(map(data_id, both))), list(dict.fromkeys(map(weights_id, both)))


def _plan(documents: Mapping[Path, dict[str, Any]], suite: str, device: str) -> Plan:
    experiments = [
        Experiment(
            name=path.stem,
            question=document["question"].strip(),
            title=document.get("title") or path.stem.replace("_", " ").capitalize(),
            runs=expand(document, suite, device, path),
            show=document["show"],
            path=path,
            notes=" ".join(document.get("notes", "").split()),
        )
        for path, document in documents.items()
        if suite in document["suites"]
    ]
    return Plan(tuple(experiments), suite, device)
