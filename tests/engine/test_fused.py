"""Fast variants agree with the plain operators that they replace; their cases keep clear of kinks."""

import numpy as np
import pytest

from pocket.engine import gradcheck

from .cases import CASES
from .composed import COMPOSED, distance_from_kinks, evaluate, run

VARIANTS = {name: case for name, case in CASES.items() if type(case.operator) in COMPOSED}


def near(ours, wanted, name):
    np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-9 * max(1, np.abs(wanted).max()), err_msg=name)


@pytest.mark.parametrize("name", VARIANTS)
def test_agrees_with_plain_operators(name):
    case = VARIANTS[name]
    check = gradcheck.Check(case.operator, case.inputs(np.float64))
    ours = check.backward()
    wanted, state, _ = run(check)
    near(ours.y, wanted.y, "y")
    for key, gradient in ours.named().items():
        near(gradient, wanted.named()[key], key)
    moved = {key: array.copy() for key, array in check.state.items()}
    case.operator.forward(check.inputs, check.parameters, moved, None, True)
    for key, array in state.items():
        near(moved[key], array, key)


@pytest.mark.parametrize("name", VARIANTS)
def test_cases_keep_clear_of_kinks(name):
    case = VARIANTS[name]
    assert distance_from_kinks(gradcheck.Check(case.operator, case.inputs(np.float64))) > 1e-3


@pytest.mark.parametrize("name", [name for name, case in VARIANTS.items() if case.operator.state_shapes()])
def test_evaluation_agrees_with_plain_operators(name):
    case = VARIANTS[name]
    check = gradcheck.Check(case.operator, case.inputs(np.float64))
    _, state, _ = run(check)  # statistics that a batch has moved
    y, _ = case.operator.forward(check.inputs, check.parameters, state, None, False)
    near(y, evaluate(check, state), "y")
