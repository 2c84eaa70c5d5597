"""The tape: reference counts, release of storage, ownership of gradients, observers."""

from dataclasses import dataclass

import numpy as np
import pytest

from pocket.engine import memory
from pocket.engine.operator import Parameterless
from pocket.engine.ops.activation import ReLU
from pocket.engine.ops.linear import Linear
from pocket.engine.ops.residual import Add
from pocket.engine.tensor import Tape, Tensor

MiB = 1 << 20


@dataclass(frozen=True)
class Times(Parameterless):
    """y = factor x. Its backward overwrites dy, as any may."""

    factor: float

    def forward(self, inputs, parameters, state, rng, training):
        y = memory.empty(inputs[0].shape, inputs[0].dtype)
        np.multiply(inputs[0], self.factor, out=y)
        return y, ()

    def backward(self, dy, saved, parameters, gradients):
        dy *= self.factor
        return (dy,)


@dataclass(frozen=True)
class Square(Times):
    """y = x^2. Saves x."""

    factor: float = 0.0

    def forward(self, inputs, parameters, state, rng, training):
        return super().forward(inputs, parameters, state, rng, training)[0] + inputs[0] ** 2, inputs

    def backward(self, dy, saved, parameters, gradients):
        return (2 * saved[0] * dy,)


def leaf(*values):
    return Tensor(np.array(values, np.float64), wants_gradient=True)


def test_ref_count_goes_up_with_every_consumer_and_down_with_its_backward():
    x, tape = leaf(1.0, 2.0), Tape()
    assert x.ref_count == 0
    a, b = tape.apply(Square(), (x,)), tape.apply(Times(3.0), (x,))
    assert x.ref_count == 2
    y = tape.apply(Add(), (a, b))
    assert (a.ref_count, b.ref_count, y.ref_count) == (1, 1, 0)
    y.backward()
    assert (x.ref_count, a.ref_count, b.ref_count) == (0, 0, 0)
    assert a.data is None
    assert b.data is None
    np.testing.assert_array_equal(x.gradient, [2 + 3, 4 + 3])


def test_storage_is_freed_by_the_backward_that_needed_it_last():
    live = []

    class Watch:
        def before(self, node, incoming):
            live.append(memory.current().live_bytes // MiB)

        def after(self, node, outgoing):
            pass

    with memory.use(memory.Pool()) as pool:
        x, tape = Tensor(memory.zeros(MiB // 4, np.float32), wants_gradient=True), Tape([Watch()])
        for _ in range(4):
            x = tape.apply(ReLU(), (x,))
        assert pool.live_bytes == 4 * MiB  # the outputs, which ReLU saves
        x.backward()
        # the gradient on its way is as large as each output; the last output is held here and stays
        assert live == [5, 5, 4, 3]


def test_tensor_nobody_saved_goes_during_forward():
    with memory.use(memory.Pool()) as pool:
        y, tape = Tensor(memory.zeros(MiB // 4, np.float32), wants_gradient=True), Tape()
        for _ in range(5):
            y = tape.apply(Times(2.0), (y,))
        assert pool.live_bytes == MiB
        y.backward()
        del y
        assert pool.live_bytes == 0


def test_gradients_of_one_sum_do_not_overwrite_each_other():
    x, tape = leaf(1.0), Tape()
    a, b = tape.apply(Times(10.0), (x,)), tape.apply(Times(7.0), (x,))
    tape.apply(Add(), (a, b)).backward()
    np.testing.assert_array_equal(x.gradient, [17.0])


def test_same_tensor_twice_counts_twice():
    x, tape = leaf(3.0), Tape()
    y = tape.apply(Add(), (x, x))
    assert x.ref_count == 2
    y.backward()
    np.testing.assert_array_equal(x.gradient, [2.0])


def test_scale_multiplies_every_gradient():
    x, tape = leaf(3.0), Tape()
    tape.apply(Square(), (x,)).backward(0.5)
    np.testing.assert_array_equal(x.gradient, [3.0])


def test_parameter_gradients_are_added_without_an_input_gradient():
    layer, tape = Linear(2, 1, bias=False), Tape()
    parameters, gradients = {"weight": np.array([[1.0, 2.0]])}, {"weight": np.array([[100.0, 100.0]])}
    x = Tensor(np.array([[3.0, 5.0]]))
    tape.apply(layer, (x,), parameters, gradients).backward()
    np.testing.assert_array_equal(gradients["weight"], [[103.0, 105.0]])
    assert x.gradient is None


def test_nothing_is_registered_that_nobody_wants():
    tape = Tape()
    y = tape.apply(Times(2.0), (Tensor(np.ones(3)),))
    assert tape.nodes == []
    assert not y.link.wanted


def test_branch_that_does_not_reach_the_loss_is_released_without_running():
    x, tape = leaf(2.0), Tape()
    aside = tape.apply(Square(), (x,))
    tape.apply(Times(5.0), (x,)).backward()
    np.testing.assert_array_equal(x.gradient, [5.0])
    assert (x.ref_count, aside.ref_count, tape.nodes) == (0, 0, [])


def test_observer_sees_layer_incoming_and_outgoing():
    seen = []

    class Watch:
        def before(self, node, incoming):
            seen.append((node.name, node.operator, incoming.copy()))

        def after(self, node, outgoing):
            seen.append((node.name, outgoing[0].copy()))

    x, tape = leaf(2.0), Tape([Watch()])
    y = tape.apply(Times(3.0), (x,), name="first")
    tape.apply(Times(5.0), (y,), name="second").backward()
    assert seen == [
        ("second", Times(5.0), 1.0),
        ("second", 5.0),
        ("first", Times(3.0), 5.0),
        ("first", 15.0),
    ]


def test_backward_without_a_tape_says_so():
    with pytest.raises(ValueError, match="no tape recorded"):
        leaf(1.0).backward()


def test_backward_where_nothing_wants_a_gradient_says_what_to_do():
    tape = Tape()
    layer, x = Linear(2, 1, bias=False), Tensor(np.ones((1, 2)))
    y = tape.apply(layer, (x,), {"weight": np.ones((1, 2))})
    with pytest.raises(ValueError, match=r"Net\.use_gradients"):
        y.backward()
