"""One mutant at a time against the operator checks of everything that its function serves."""

import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import NamedTuple

import numpy as np

from . import checks, mutants, reach
from .cases import CASES, Case
from .plain import forget_cached, plain_python

SECONDS = 10  # a mutant that runs longer than this loops for ever: the checks of one case take milliseconds


class Target(NamedTuple):
    """A function to change, and the cases whose backward runs through it, the smallest first."""

    function: FunctionType
    cases: list[Case]

    @property
    def name(self) -> str:
        return f"{self.function.__module__.removeprefix('pocket.engine.')}.{self.function.__qualname__}"


def targets() -> list[Target]:
    """Every function behind a backward, in a fixed order."""
    served: dict[FunctionType, list[Case]] = {}
    for case in sorted(CASES.values(), key=lambda case: case.size):
        for function in reach.reached(type(case.operator)):
            served.setdefault(function, []).append(case)
    made = [Target(function, cases) for function, cases in served.items()]
    return sorted(made, key=lambda target: (target.name, target.function.__code__.co_firstlineno))


def survivors(index: int) -> tuple[int, list[str]]:
    """How many mutants the index-th target has, and which of them pass every check."""
    target, count, alive = targets()[index], 0, []
    with plain_python(), warnings.catch_warnings():
        warnings.simplefilter("error")
        forget_cached()  # what a mutant before left behind would spoil what is wanted
        wanted = {case: results(case) for case in target.cases}
        for what, code in mutants.of(target.function):
            count += 1
            original, target.function.__code__ = target.function.__code__, code
            try:
                if not any(caught(case, wanted[case]) for case in target.cases):
                    alive.append(f"{target.name}, {what}")
            finally:
                target.function.__code__ = original
        forget_cached()
    return count, alive


def results(case: Case) -> checks.gradcheck.Gradients:
    """The output and the gradients that test_pytorch_agreement compares with PyTorch, or test_dropout with its mask."""
    return checks.gradcheck.Check(case.operator, case.inputs(np.float64), training=case.training).backward()


def caught(case: Case, wanted: checks.gradcheck.Gradients) -> bool:
    """Whether a check fails, or ends in any other error."""
    forget_cached()
    try:
        with time_limit(SECONDS):
            checks.unchanged(case, wanted)
            checks.adds(case)
            checks.direction(case)
    except Exception:
        return True
    return False


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """TimeoutError after that many seconds, in a main thread."""

    def stop(signum, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
