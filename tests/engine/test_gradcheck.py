"""The gradient check itself: it accepts what is right, rejects what is wrong; why the printed form does not."""

from dataclasses import dataclass

import numpy as np
import pytest

from pocket.engine import gradcheck


@dataclass(frozen=True)
class Cubed:
    """y = weight x^3, elementwise in x (N, F), weight (F,). `fault` makes one mistake in backward."""

    features: int = 4
    fault: str = ""

    def parameter_shapes(self):
        return {"weight": (self.features,)}

    def state_shapes(self):
        return {}

    def forward(self, inputs, parameters, state, rng, training):
        (x,) = inputs
        return parameters["weight"] * x**3, (x,)

    def backward(self, dy, saved, parameters, gradients):
        (x,) = saved
        gradients["weight"] += (dy * x**3).sum(axis=0) * (1.001 if self.fault == "weight" else 1)
        dx = 3 * parameters["weight"] * x**2 * dy
        if self.fault == "one element":
            dx[0, 0] += 0.01
        return (-dx if self.fault == "sign" else dx,)


X = np.random.default_rng(5).standard_normal((6, 4))


def check_whole_tensor(operator, inputs):
    """The check as the article prints it: every element shifted at once, compared with the gradient's elements."""
    check = gradcheck.Check(operator, inputs)
    return {
        name: float(np.abs(gradient - check.difference({name: np.ones(gradient.shape)})).max() / np.abs(gradient).max())
        for name, gradient in check.backward().named().items()
    }


def test_a_right_gradient_passes_both_checks():
    assert set(gradcheck.check_elements(Cubed(), (X,))) == {"input 0", "weight"}
    assert max(gradcheck.check_elements(Cubed(), (X,)).values()) < 1e-8
    assert gradcheck.check_direction(Cubed(), (X,)) < 1e-8


def test_shifting_the_whole_tensor_rejects_the_same_right_gradient():
    printed = check_whole_tensor(Cubed(), (X,))
    assert min(printed.values()) > 0.5


def test_shifting_the_whole_tensor_gives_the_sum_of_the_gradient():
    check = gradcheck.Check(Cubed(), (X,))
    shifted = check.difference({"input 0": np.ones(X.shape)})
    assert shifted == pytest.approx(check.backward().inputs[0].sum(), rel=1e-7)


@pytest.mark.parametrize(("fault", "name"), [("weight", "weight"), ("one element", "input 0"), ("sign", "input 0")])
def test_a_wrong_gradient_is_named_element_by_element(fault, name):
    errors = gradcheck.check_elements(Cubed(fault=fault), (X,))
    assert [key for key, error in errors.items() if error > 1e-5] == [name]


@pytest.mark.parametrize("fault", ["weight", "one element", "sign"])
def test_a_wrong_gradient_is_found_along_one_direction(fault):
    assert gradcheck.check_direction(Cubed(fault=fault), (X,)) > 1e-5


def test_the_point_may_be_given():
    weight = {"weight": np.full(4, 2.0)}
    gradients = gradcheck.Check(Cubed(), (X,), parameters=weight).backward()
    np.testing.assert_allclose(gradients.y, 2 * X**3)
    assert gradcheck.check_direction(Cubed(), (X,), parameters=weight, seed=3) < 1e-8


def test_the_check_leaves_inputs_parameters_and_state_alone():
    before, weight = X.copy(), {"weight": np.ones(4)}
    gradcheck.check_elements(Cubed(), (X,), parameters=weight)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(weight["weight"], 1)
