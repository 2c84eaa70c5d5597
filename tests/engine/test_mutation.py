"""The operator checks are worth their name: they catch at least 95 % of one-place changes in the backwards."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from . import mutation
from .cases import CASES
from .plain import plain_python


def test_unchanged_code_passes_every_check_in_plain_python():
    with plain_python():
        assert not [name for name, case in CASES.items() if mutation.caught(case, mutation.results(case))]


def test_every_backward_is_a_target():
    names = {target.name for target in mutation.targets()}
    for case in CASES.values():
        backward = type(case.operator).backward
        assert f"{backward.__module__.removeprefix('pocket.engine.')}.{backward.__qualname__}" in names


@pytest.mark.slow
def test_nineteen_in_twenty_mutants_are_caught():
    indices = range(len(mutation.targets()))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as workers:
        found = list(workers.map(mutation.survivors, indices))
    count, alive = sum(n for n, _ in found), [what for _, some in found for what in some]
    print(f"{count - len(alive)} of {count} mutants caught; alive:", *alive, sep="\n    ")
    assert count > 300
    assert len(alive) <= 0.05 * count
