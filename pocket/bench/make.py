"""`pocket bench make`: the one command that brings the report up to date, also after a kill in the middle."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from pocket.bench import instance, record
from pocket.bench.plan.spec import Plan
from pocket.bench.status import failures
from pocket.mistake import Mistake


def make(plan: Plan, experiments: Path, results: Path) -> int:
    """Run Snakemake up to results/report.html; 0, or 1 when a job failed or a run came to no answer.

    A living instance on these results is refused (Mistake).
    """
    check_here()
    with instance.holding(results) as lock:
        return make_holding(lock, plan, experiments, results)


def check_here() -> None:
    """Raise Mistake outside the project's folder."""
    if not Path("Snakefile").is_file():
        raise Mistake(f"no Snakefile in {Path.cwd()}; run this in the project's folder")


def make_holding(lock: int, plan: Plan, experiments: Path, results: Path) -> int:
    """`make` for a caller that holds the results' lock already; `lock` is its file number.

    Snakemake's stale lock files are removed only where no other workflow lives in this working folder.
    """
    target = str(results / "report.html")
    config = [f"suite={plan.suite}", f"device={plan.device}", f"experiments={experiments}", f"results={results}"]
    environment = {**os.environ, instance.HELD: str(results.resolve())}
    command = [sys.executable, "-m", "snakemake"]
    alone = instance.hold_working_folder(alone=True)
    if alone is not None:
        if Path(".snakemake/locks").is_dir() and any(Path(".snakemake/locks").iterdir()):
            _run([*command, "--unlock", target, "--config", *config], environment, [lock, alone])
        os.close(alone)
    shared = instance.hold_working_folder(alone=False)
    assert shared is not None
    calm = ["--quiet", "rules", "host", "reason"]  # a job's inputs fill the screen; its run says one line itself
    # A page that stands misses no record that was removed since: it is asked for by name.
    lacking = [str(path) for run in plan.runs if not (path := record.path_of(run.id, results)).exists()]
    wanted = ["--cores", "1", "--rerun-incomplete", target, *lacking, *calm, "--config", *config]
    status = _run([*command, *wanted], environment, [lock, shared])
    os.close(shared)
    return 1 if status or failures(plan, results) else 0


def _run(command: list[str], environment: dict[str, str], locks: list[int]) -> int:
    # Snakemake keeps the locks if this process is killed, and its own children do not inherit it.
    process = subprocess.Popen(command, env=environment, pass_fds=locks)
    signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(number))
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # the terminal told Snakemake too, which ends its jobs first
