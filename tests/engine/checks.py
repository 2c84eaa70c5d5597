"""What every operator has to pass, each check a function of one case: the tests run them, and so do the mutants."""

import numpy as np

from pocket.engine import gradcheck

from .cases import Case

TOLERANCE = 1e-6


def direction(case: Case) -> None:
    """Backward agrees with the central difference of forward along one random direction, in float64."""
    error = gradcheck.check_direction(case.operator, case.inputs(np.float64), training=case.training)
    assert error < TOLERANCE, f"relative error {error:.2e} along a random direction"


def elements(case: Case) -> None:
    """Backward agrees with the central difference of forward in every element, in float64."""
    errors = gradcheck.check_elements(case.operator, case.inputs(np.float64), training=case.training)
    assert max(errors.values(), default=0) < TOLERANCE, f"relative errors {errors}"


def adds(case: Case) -> None:
    """Run a second time, backward adds its parameter gradients to those already there."""
    check = gradcheck.Check(case.operator, case.inputs(np.float64), training=case.training)
    once = check.backward()
    gradients = {name: 3 * gradient + 1 for name, gradient in once.parameters.items()}
    _, saved = check.forward(check.inputs, check.parameters)
    check.operator.backward(check.dy.copy(), saved, check.parameters, gradients)
    for name, gradient in once.parameters.items():
        np.testing.assert_allclose(gradients[name], 4 * gradient + 1, rtol=1e-9, atol=1e-9, err_msg=name)


def unchanged(case: Case, wanted: gradcheck.Gradients) -> None:
    """The output and every gradient are those that were found to be PyTorch's, within the tolerance of that test."""
    check = gradcheck.Check(case.operator, case.inputs(np.float64), training=case.training)
    _same(check.backward(), wanted, "all")


def keeps_dtype(case: Case) -> None:
    """float32 in, float32 out: y, the gradients, and whatever is saved at the size of a map."""
    check = gradcheck.Check(case.operator, case.inputs(np.float32), training=case.training, dtype=np.float32)
    _, saved = check.forward(check.inputs, check.parameters)
    gradients = check.backward()
    for name, array in {"y": gradients.y, **gradients.named()}.items():
        assert array.dtype == np.float32, f"{name} is {array.dtype}"
    for array in arrays(saved):
        assert array.dtype != np.float64 or array.ndim < 2, f"saved an array {array.shape} of float64"


def leaves_inputs(case: Case) -> None:
    """Neither forward nor backward writes to an input or a parameter."""
    check = gradcheck.Check(case.operator, case.inputs(np.float64), training=case.training)
    before = [array.copy() for array in (*check.inputs, *check.parameters.values())]
    check.backward()
    for array, copy in zip((*check.inputs, *check.parameters.values()), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def saves_what_it_states(case: Case) -> None:
    """The bytes of all arrays that forward hands to backward, in float32, inputs that it keeps included."""
    check = gradcheck.Check(case.operator, case.inputs(np.float32), training=case.training, dtype=np.float32)
    _, saved = check.forward(check.inputs, check.parameters)
    assert sum(array.nbytes for array in arrays(saved)) == case.saved_bytes


def takes_any_strides(case: Case) -> None:
    """Inputs and dy that are Fortran-ordered, reversed or part of a larger batch give what contiguous ones give."""
    check = gradcheck.Check(case.operator, case.inputs(np.float64), training=case.training)
    wanted = check.backward()
    contiguous, dy = check.inputs, check.dy
    for strided in (np.asfortranarray, reversed_storage, every_second):
        check.inputs, check.dy = tuple(map(strided, contiguous)), strided(dy)
        _same(check.backward(), wanted, strided.__name__)


def repeats(case: Case) -> None:
    """Two runs agree bit for bit."""
    check = gradcheck.Check(case.operator, case.inputs(np.float32), training=case.training, dtype=np.float32)
    first, second = check.backward(), check.backward()
    np.testing.assert_array_equal(first.y, second.y)
    for name, gradient in first.named().items():
        np.testing.assert_array_equal(gradient, second.named()[name], err_msg=name)


def reversed_storage(x: np.ndarray) -> np.ndarray:
    """The same values at negative strides."""
    return np.flip(np.flip(x).copy()) if x.ndim else x


def every_second(x: np.ndarray) -> np.ndarray:
    """The same values as every second item of a larger batch."""
    return np.repeat(x, 2, axis=0)[::2] if x.ndim else x


def arrays(saved) -> list[np.ndarray]:
    """All arrays in nested tuples."""
    if isinstance(saved, tuple | list):
        return [array for part in saved for array in arrays(part)]
    return [saved] if isinstance(saved, np.ndarray) else []


def _same(ours: gradcheck.Gradients, wanted: gradcheck.Gradients, where: str) -> None:
    np.testing.assert_allclose(ours.y, wanted.y, rtol=1e-9, atol=1e-11, err_msg=f"y, {where}")
    for name, gradient in wanted.named().items():
        np.testing.assert_allclose(ours.named()[name], gradient, rtol=1e-9, atol=1e-11, err_msg=f"{name}, {where}")
