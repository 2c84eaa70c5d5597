"""Experiments -> data, initial weights, kernels -> runs -> tables, plots -> report. `snakemake -n` shows what will run."""

import os
import sys
from pathlib import Path

from pocket.bench.plan.configuration import configure
from pocket.bench.plan.estimate import describe
from pocket.bench.instance import hold_unless_held
from pocket.bench.judge.judging import digest
from pocket.bench.plan.spec import needs
from pocket.bench.status import failures
from pocket.mistake import Mistake

try:
    PLAN, EXPERIMENTS, RESULTS = configure(config)
except Mistake as mistake:
    sys.exit(f"pocket: {mistake}")
RUNS = {run.id: run for run in PLAN.runs}
JUDGING = digest()

# A shell line says `python`: an interpreter's path in it would rerun everything elsewhere.
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
# Two runs at once would spoil each other's times, and a job beside a run would spoil the run's.
workflow.global_resources.setdefault("slot", 1)
workflow.global_resources.setdefault("gpu", 1)


wildcard_constraints:
    run="[^/]+-[0-9a-f]{8}",
    data="[^/]+-[0-9a-f]{8}",
    weights="[^/]+-[0-9a-f]{8}",


rule all:
    input:
        RESULTS / "report.html",
        # Named, since a record that was removed is not missed by a page that was made of it before.
        [RESULTS / "records" / f"{name}.json" for name in RUNS],


include: "workflows/rules/data.smk"
include: "workflows/rules/weights.smk"
include: "workflows/rules/runs.smk"
include: "workflows/rules/tables.smk"
include: "workflows/rules/plots.smk"
include: "workflows/rules/report.smk"


onstart:
    try:
        hold_unless_held(RESULTS)
    except Mistake as mistake:
        sys.exit(f"pocket: {mistake}")
    print(describe(PLAN, RESULTS), flush=True)


onsuccess:
    if failures(PLAN, RESULTS):
        print(
            "\n".join(
                ["These runs failed, as the report says:", *failures(PLAN, RESULTS)]
            ),
            file=sys.stderr,
        )
        raise SystemExit(1)
