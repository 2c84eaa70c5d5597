"""Every operator, in every case of the table, through every check."""

import importlib
import inspect
import pkgutil
from functools import partial

import numpy as np
import pytest

from pocket.engine import gradcheck, ops
from pocket.engine.operator import Operator
from pocket.engine.ops.conv import Conv2d, TiledConv2d
from pocket.engine.ops.fused import ConvNormReluPool, NormReluMean, PreActivationBlock
from pocket.engine.ops.linear import Linear
from pocket.engine.ops.norm import BatchNorm, Standardise
from pocket.engine.ops.pool import AvgPool2d, MaxPool2d

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


HAVE_CHANNELS = [
    Linear(4, 3),
    Conv2d(4, 3, 3, padding=1),
    Conv2d(4, 2, 3, padding=1, groups=2),
    TiledConv2d(4, 3, 3, padding=1),
    BatchNorm(4),
    Standardise((0.5,) * 4, (0.2,) * 4, 255.0),
    ConvNormReluPool(4, 3),
    ConvNormReluPool(4, 3, input_gradient=False, standardise=Standardise((0.5,) * 4, (0.2,) * 4, 255.0)),
    PreActivationBlock(4, 4),
    PreActivationBlock(4, 3, 2),
    NormReluMean(4),
]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("channels", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("operator", HAVE_CHANNELS, ids=lambda operator: type(operator).__name__)
def test_another_number_of_channels_is_refused(operator, channels, training):
    rng = np.random.default_rng(0)
    parameters, state = gradcheck.draw_parameters(operator, rng), gradcheck.draw_state(operator, rng)
    before = {name: array.copy() for name, array in state.items()}
    x = np.ones((6, channels) if isinstance(operator, Linear) else (2, 6, 6, channels))
    with pytest.raises(ValueError, match=rf"{type(operator).__name__} got .*{channels}\); wanted .*4") as error:
        operator.forward((x,), parameters, state, None, training)
    assert str(x.shape) in str(error.value)
    for name, array in state.items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("operator", [Conv2d(4, 3, 1), TiledConv2d(4, 3, 1), ConvNormReluPool(4, 3), NormReluMean(4)])
def test_rows_where_images_are_wanted_are_refused(operator):
    rng = np.random.default_rng(0)
    parameters, state = gradcheck.draw_parameters(operator, rng), gradcheck.draw_state(operator, rng)
    with pytest.raises(ValueError, match=r"got an array \(6, 4\); wanted images \(N, H, W, 4\)"):
        operator.forward((np.ones((6, 4)),), parameters, state, None, True)


def test_standardise_of_another_number_of_channels_is_refused():
    with pytest.raises(ValueError, match="standardise of 1 channels; wanted as many as inputs, 3"):
        ConvNormReluPool(3, 4, input_gradient=False, standardise=Standardise((0.5,), (0.2,), 255.0))


@pytest.mark.parametrize(
    "window", [{"kernel": 0}, {"kernel": -1}, {"kernel": (3, 0)}, {"stride": 0}, {"stride": (1, -2)}, {"padding": -1}]
)
@pytest.mark.parametrize("make", [partial(Conv2d, 4, 3), partial(TiledConv2d, 4, 3), MaxPool2d, AvgPool2d])
def test_windows_that_cannot_be_are_refused(make, window):
    with pytest.raises(ValueError, match="wanted a kernel and a stride of at least 1 and a padding of at least 0"):
        make(**{"kernel": 3, **window})


@pytest.mark.parametrize(
    "make", [lambda: ConvNormReluPool(4, 3, kernel=-1), lambda: PreActivationBlock(4, 3, stride=0)]
)
def test_blocks_that_cannot_be_are_refused(make):
    with pytest.raises(ValueError, match="wanted a kernel and a stride of at least 1"):
        make()


def test_no_group_at_all_is_refused():
    with pytest.raises(ValueError, match="multiples of groups 0, at least 1"):
        Conv2d(4, 3, 1, groups=0)


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
