"""The command `pocket bench …`, also `python -m pocket.bench …`: what a rule of the workflow or a person asks for.

Whatever is heavy is imported inside the command that needs it: a run's process starts here.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pocket.bench.plan.spec import Plan
from pocket.mistake import Mistake

Arguments = argparse.Namespace
_MOST_PROBLEMS = 50  # one altered record can show in hundreds of places
_STARTED = time.monotonic()  # a run's record tells what its process cost, from here on


def run(arguments: Arguments) -> int:
    from pocket.bench.plan.spec import every_plan, find
    from pocket.bench.prepare import ensure_inputs, ensure_kernels
    from pocket.bench.supervisor.supervise import supervise

    wanted = find(arguments.id, arguments.experiments)
    if wanted.settings["kind"] in ("train", "memory") and (arguments.results / "records").is_dir():
        from pocket.bench import implied, record

        planned = [other for plan in every_plan(arguments.experiments) for other in plan.runs]
        smaller = implied.smaller_that_ran_out(wanted, planned, arguments.results)
        if smaller:
            done = implied.implied_record(wanted, smaller)
            record.write(done, record.path_of(wanted.id, arguments.results))
            print(f"{wanted.id}: {done['status']}: {done['reason']}")
            return 0
    before = time.monotonic()
    ensure_inputs(wanted, arguments.experiments, arguments.results)
    ensure_kernels(wanted.settings, arguments.results)
    done = supervise(wanted, arguments.results, since=_STARTED + time.monotonic() - before)
    print(f"{wanted.id}: {done['status']}" + (f": {done['reason']}" if done["reason"] else ""))
    return 0  # whatever came of it stands in the record; a failed job would take the report with it


def data(arguments: Arguments) -> int:
    from pocket.bench.prepare import prepare_data

    prepare_data(arguments.id, arguments.experiments, arguments.results)
    return 0


def weights(arguments: Arguments) -> int:
    from pocket.bench.prepare import prepare_weights

    prepare_weights(arguments.id, arguments.experiments, arguments.results)
    return 0


def kernels(arguments: Arguments) -> int:
    from pocket.bench.prepare import prepare_kernels

    prepare_kernels(arguments.results)
    return 0


def tables(arguments: Arguments) -> int:
    from pocket.bench.judge.collate import write_table

    write_table(_plan(arguments).experiment(arguments.name), arguments.results)
    return 0


def plots(arguments: Arguments) -> int:
    from pocket.bench.draw.plot import write_plots

    write_plots(_plan(arguments).experiment(arguments.name), arguments.results)
    return 0


def report(arguments: Arguments) -> int:
    from pocket.bench.page.report import write_report

    write_report(_plan(arguments), arguments.results)
    return 0


def verify(arguments: Arguments) -> int:
    from pocket.bench.judge.verify import verify as check

    checked = check(_plan(arguments), arguments.results)
    if not checked.problems:
        print("; ".join(["every number follows from the sealed records", *checked.notes]))
        return 0
    rest = len(checked.problems) - _MOST_PROBLEMS
    more = [f"and {rest} more"] if rest > 0 else []
    print("\n".join([*checked.problems[:_MOST_PROBLEMS], *more, *checked.notes]))
    return 1


def estimate(arguments: Arguments) -> int:
    from pocket.bench.plan.estimate import describe

    print(describe(_plan(arguments), arguments.results))
    return 0


def status(arguments: Arguments) -> int:
    from pocket.bench.status import describe

    print(describe(_plan(arguments), arguments.results, arguments.runs))
    return 0


def retry(arguments: Arguments) -> int:
    from pocket.bench import instance
    from pocket.bench.status import retry as remove

    plan = _plan(arguments)
    with instance.holding(arguments.results):  # a living workflow's records are not taken from under it
        removed = remove(plan, arguments.results)
    print("\n".join([*removed, f"{len(removed)} records removed; `pocket bench make` redoes them"]))
    return 0


def make(arguments: Arguments) -> int:
    from pocket.bench.make import make as bring_up_to_date

    return bring_up_to_date(_plan(arguments, here=True), arguments.experiments, arguments.results)


def refresh(arguments: Arguments) -> int:
    from pocket.bench import instance
    from pocket.bench.make import check_here, make_holding
    from pocket.bench.status import refresh as remove

    check_here()
    plan = _plan(arguments, here=True)
    with instance.holding(arguments.results) as lock:
        removed = remove(plan, arguments.results)
        print("\n".join([*removed, f"{len(removed)} stale records removed"]), flush=True)
        return make_holding(lock, plan, arguments.experiments, arguments.results)


def contest(arguments: Arguments) -> int:
    from pocket.bench.judge.contest import contest as measure
    from pocket.bench.judge.contest import describe
    from pocket.bench.plan.spec import load

    suite, device = "bench", "cpu"
    summary = measure(load(arguments.experiments, suite, device), arguments.experiments, arguments.results)
    print(describe(summary))
    return 0


# Name -> function, what it takes beside the folders, help, example.
_COMMANDS: dict[str, tuple[Callable[[Arguments], int], str, str, str]] = {
    "make": (
        make,
        "plan",
        "bring the report up to date, and end with 1 if a run has no answer",
        "make --suite cpu",
    ),
    "refresh": (refresh, "plan", "redo the runs whose code has changed since, then make", "refresh"),
    "status": (status, "plan", "count the runs by status, and list those that are not ok", "status --runs"),
    "retry": (retry, "plan", "remove records that say error, timeout or killed, so that make redoes them", "retry"),
    "verify": (verify, "plan", "recompute every number of the report from the records", "verify"),
    "estimate": (estimate, "plan", "say how long the runs will take", "estimate --suite full --device cuda"),
    "contest": (contest, "", "measure the engine against PyTorch anew and write results/bench.json", "contest"),
    "run": (run, "id", "do one run and write its record", "run train-torch-mlp-digits-b64-s0-1a2b3c4d"),
    "data": (data, "id", "prepare one data set", "data digits-32px-7d058701"),
    "weights": (weights, "id", "draw the initial weights of one model", "weights mlp-digits-he-s0-1a2b3c4d"),
    "kernels": (kernels, "", "translate the engine's kernels", "kernels"),
    "tables": (tables, "name", "write the table of one experiment", "tables batch_sweep"),
    "plots": (plots, "name", "draw the plots of one experiment", "plots batch_sweep"),
    "report": (report, "plan", "write results/report.html from what there is", "report"),
}


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Give `parser` one sub-command for each command of the harness."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (function, takes, help_line, example) in _COMMANDS.items():
        own = commands.add_parser(
            name, help=help_line, description=help_line, epilog=f"example: pocket bench {example}", allow_abbrev=False
        )
        own.set_defaults(function=function)
        own.add_argument("--results", type=Path, default=Path("results"), help="where results lie (results)")
        own.add_argument("--experiments", type=Path, default=Path("experiments"), help="where the YAML files lie")
        own.add_argument("--debug", action="store_true", help="show a traceback for a mistake")
        if takes == "id":
            own.add_argument("id", help="as `pocket bench status --runs` and results/ show them")
        if takes == "name":
            own.add_argument("name", help="an experiment, named as its file")
        if takes in ("plan", "name"):
            own.add_argument("--suite", default="auto", help="quick, cpu, gpu, full (gpu with a GPU, else quick)")
            own.add_argument("--device", default="auto", help="cpu, cuda (cuda with a GPU, else cpu)")
        if name == "status":
            own.add_argument("--runs", action="store_true", help="list every run")


def perform(arguments: Arguments) -> int:
    """Do what was asked. A Mistake is one line and status 2."""
    try:
        return arguments.function(arguments)
    except Mistake as mistake:
        if arguments.debug:
            raise
        print(f"pocket: {mistake}", file=sys.stderr)
        return 2


def main(argv: list[str] | None = None) -> int:
    """`python -m pocket.bench …`."""
    parser = argparse.ArgumentParser(prog="pocket bench", description="Run experiments and report on them.")
    add_commands(parser)
    return perform(parser.parse_args(argv))


def _plan(arguments: Arguments, here: bool = False) -> Plan:
    from pocket.bench.plan.choose import choose
    from pocket.bench.plan.spec import load

    suite, device = choose(arguments.suite, arguments.device, here=here)
    return load(arguments.experiments, suite, device)
