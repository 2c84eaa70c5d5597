"""The commands that a page prints: with the folders that they need, wherever the page's results lie."""

import os.path
import shlex
from pathlib import Path

from pocket.bench.plan.spec import Plan


def folders(plan: Plan, results: Path) -> str:
    """` --experiments … --results …`, or less where a default serves.

    Where `results` lies beside or above the experiments, the commands are for the folder that holds it; elsewhere they
    name whole paths and work from everywhere.
    """
    experiments, results = (Path(os.path.abspath(one)) for one in (plan.experiments[0].path.parent, results))
    if results.name == "results" and experiments.is_relative_to(results.parent):
        inner = str(experiments.relative_to(results.parent))
        return "" if inner == "experiments" else f" {shlex.join(['--experiments', inner])}"
    return f" {shlex.join(['--experiments', str(experiments), '--results', str(results)])}"


def run_command(run_id: str, told: str) -> str:
    """`told` is what `folders` gives."""
    return f"pocket bench run {run_id}{told}"


def verify_command(plan: Plan, told: str) -> str:
    return f"pocket bench verify --suite {plan.suite} --device {plan.device}{told}"
