"""Every operator against PyTorch: output, running statistics, gradients of inputs and of parameters."""

import numpy as np
import pytest
import torch

from pocket.engine import gradcheck
from pocket.engine.ops.dropout import Dropout

from .cases import CASES
from .oracle import ORACLES

COMPARED = {name: case for name, case in CASES.items() if not isinstance(case.operator, Dropout)}


def leaf(array):
    """A tensor of the array's values; floats ask for a gradient."""
    return torch.tensor(array, requires_grad=array.dtype.kind == "f")


def near(ours, theirs, dtype, name):
    """Within 1e-9 (float64) or 1e-5 (float32) of the largest value."""
    tolerance = 1e-9 if dtype == np.float64 else 1e-5
    scale = max(1.0, np.abs(theirs).max(initial=0))
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", COMPARED)
def test_forward_and_backward(name, dtype):
    case = COMPARED[name]
    check = gradcheck.Check(case.operator, case.inputs(dtype), training=case.training, dtype=dtype)
    ours = check.backward()
    inputs = tuple(map(leaf, check.inputs))
    parameters = {key: leaf(array) for key, array in check.parameters.items()}
    state = {key: torch.tensor(array) for key, array in check.state.items()}
    y = ORACLES[type(case.operator)](case.operator, inputs, parameters, state, case.training)
    near(ours.y, y.detach().numpy(), dtype, "y")
    if y.requires_grad:
        y.backward(torch.tensor(check.dy))
    theirs = {f"input {i}": x for i, x in enumerate(inputs)} | parameters
    for key, gradient in ours.named().items():
        near(gradient, theirs[key].grad.numpy(), dtype, key)


@pytest.mark.parametrize("name", [name for name, case in COMPARED.items() if case.operator.state_shapes()])
@pytest.mark.parametrize("batches", [1, 3])
def test_running_statistics(name, batches):
    case = COMPARED[name]
    check = gradcheck.Check(case.operator, case.inputs(np.float64), training=case.training)
    state = {key: array.copy() for key, array in check.state.items()}
    tensors = {key: torch.tensor(array) for key, array in check.state.items()}
    parameters = {key: torch.tensor(array) for key, array in check.parameters.items()}
    for factor in range(1, batches + 1):
        inputs = tuple(factor * x for x in check.inputs)
        case.operator.forward(inputs, check.parameters, state, None, True)
        ORACLES[type(case.operator)](case.operator, tuple(map(torch.tensor, inputs)), parameters, tensors, True)
    for key, array in state.items():
        near(array, tensors[key].numpy(), np.float64, key)


def test_every_operator_but_dropout_is_compared():
    assert set(ORACLES) == {type(case.operator) for case in COMPARED.values()}
