"""Every operator, in every case of the table, through every check."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

from pocket.engine import ops
from pocket.engine.operator import Operator

from . import checks
from .cases import CASES, WITHOUT_INPUT_GRADIENT

SMALL = 600  # values and parameters together, for the check element by element

CHECKS = [
    checks.direction,
    checks.adds,
    checks.keeps_dtype,
    checks.leaves_inputs,
    checks.saves_what_it_states,
    checks.takes_any_strides,
    checks.repeats,
]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_operator(name, check):
    check(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.size <= SMALL])
def test_element_by_element(name):
    checks.elements(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_every_input_that_can_have_a_gradient_gets_one(name):
    case = CASES[name]
    check = checks.gradcheck.Check(case.operator, case.inputs(np.float64), training=case.training)
    for i, (x, dx) in enumerate(zip(check.inputs, check.backward().inputs, strict=True)):
        assert (dx is None) == ((name, i) in WITHOUT_INPUT_GRADIENT)
        assert dx is None or dx.shape == x.shape


def operators():
    """Every operator class of pocket.engine.ops."""
    for found in pkgutil.iter_modules(ops.__path__):
        module = importlib.import_module(f"{ops.__name__}.{found.name}")
        for _, part in inspect.getmembers(module, inspect.isclass):
            if part.__module__ == module.__name__ and hasattr(part, "backward"):
                yield part


def test_every_operator_is_in_the_table():
    assert set(operators()) == {type(case.operator) for case in CASES.values()}


def test_every_operator_keeps_the_protocol():
    for case in CASES.values():
        assert isinstance(case.operator, Operator)
        assert type(case.operator).__dataclass_params__.frozen
        assert "save" in type(case.operator).__doc__.lower()
