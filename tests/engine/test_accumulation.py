"""Gradient accumulation: both spellings equal the large batch, the last group has its own size, and what goes wrong."""

import numpy as np
import pytest

from pocket.engine import optim
from pocket.engine.initialise import initial_weights
from pocket.engine.models import model
from pocket.engine.ops.linear import Linear
from pocket.engine.ops.loss import CrossEntropy, MeanSquaredError
from pocket.engine.tensor import Tape, Tensor
from pocket.engine.weights import export, load

from .tenfold import engine_losses, job

FEATURES, CLASSES, BATCH = 9, 4, 24
RULES = {"sgd": optim.SGD(momentum=0.9, weight_decay=0.01), "adam": optim.Adam(), "adamw": optim.adamw()}


class LineThroughZero:
    """y = w x with w = 0 at first, under squared error: small enough to follow by hand."""

    def __init__(self, accumulation_steps):
        self.w = {"weight": np.zeros((1, 1))}
        self.optimizer = optim.Optimizer(self.w, optim.SGD(), 0.01, accumulation_steps)

    def backward(self, x, scale=1.0):
        tape = Tape()
        y = tape.apply(Linear(1, 1, bias=False), (Tensor(np.full((1, 1), x)),), self.w, self.optimizer.gradients)
        loss = tape.apply(MeanSquaredError(), (y, Tensor(np.full((1, 1), 2 * x + 1))))
        loss.backward(scale)


class TestLastGroupOfTwoInGroupsOfFour:
    """x = 1..6, one a micro-batch: gradients -35 and -111.65, w = 1.4665, as with batches of 4 and 2."""

    def test_with_the_optimizer_counting(self):
        line = LineThroughZero(accumulation_steps=4)
        gradients = []
        for x in range(1, 7):
            line.backward(float(x))
            if x in (4, 6):
                gradients.append(line.optimizer.gradients["weight"].item() / (4 if x == 4 else 2))
            line.optimizer.step()
            line.optimizer.zero_grad()
        assert line.optimizer.finish()
        assert not line.optimizer.finish()
        assert line.optimizer.gradients["weight"] == 0
        assert gradients == pytest.approx([-35, -111.65], rel=1e-9)
        assert line.w["weight"].item() == pytest.approx(1.4665, rel=1e-9)

    def test_with_the_printed_loop(self):
        line = LineThroughZero(accumulation_steps=1)
        gradients = []
        for group in ((1, 2, 3, 4), (5, 6)):
            for x in group:
                line.backward(float(x), scale=1 / len(group))
            gradients.append(line.optimizer.gradients["weight"].item())
            line.optimizer.step()
            line.optimizer.zero_grad()
        assert gradients == pytest.approx([-35, -111.65], rel=1e-9)
        assert line.w["weight"].item() == pytest.approx(1.4665, rel=1e-9)

    def test_dropping_the_tail_is_another_result(self):
        line = LineThroughZero(accumulation_steps=4)
        for x in range(1, 7):
            line.backward(float(x))
            line.optimizer.step()
            line.optimizer.zero_grad()
        assert line.w["weight"].item() == pytest.approx(0.35, rel=1e-9)


class Trained:
    """An mlp in float64 and one optimizer over it."""

    def __init__(self, rule, accumulation_steps=1):
        self.net = model("mlp", (FEATURES,), CLASSES, 0.25, dtype="float64")
        load(self.net, initial_weights("mlp", (FEATURES,), CLASSES, 0.25, "he", 0))
        self.optimizer = optim.Optimizer(self.net.parameters, RULES[rule], 0.05, accumulation_steps)
        self.net.use_gradients(self.optimizer.gradients)

    def backward(self, x, y, scale=1.0):
        tape = Tape()
        tape.apply(CrossEntropy(), (self.net.forward(tape, x), Tensor(y))).backward(scale)

    def weights(self):
        return export(self.net)


def updates(count=3):
    rng = np.random.default_rng(0)
    return [(rng.standard_normal((BATCH, FEATURES)), rng.integers(0, CLASSES, BATCH)) for _ in range(count)]


def large_batches(rule):
    trained = Trained(rule)
    for x, y in updates():
        trained.backward(x, y)
        trained.optimizer.step()
        trained.optimizer.zero_grad()
    return trained.weights()


def split(x, y, k):
    return zip(np.split(x, k), np.split(y, k), strict=True)


def same(ours, wanted):
    for name, w in wanted.items():
        np.testing.assert_allclose(ours[name], w, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [2, 8])
def test_the_printed_loop_equals_the_large_batch(rule, k):
    trained, number = Trained(rule), 0
    for x, y in updates():
        for some, labels in split(x, y, k):
            number += 1
            trained.backward(some, labels, 1 / k)
            if number % k == 0:
                trained.optimizer.step()
                trained.optimizer.zero_grad()
    same(trained.weights(), large_batches(rule))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [2, 8])
def test_the_counting_optimizer_equals_the_large_batch(rule, k):
    trained = Trained(rule, accumulation_steps=k)
    for x, y in updates():
        for some, labels in split(x, y, k):
            trained.backward(some, labels)
            trained.optimizer.step()
            trained.optimizer.zero_grad()
    assert trained.optimizer.updates == 3
    same(trained.weights(), large_batches(rule))


def mixed(k, count, step_every):
    """One batch in `count` parts, divided twice: (updates done after each part, how far the last layer moved)."""
    trained, done = Trained("sgd", accumulation_steps=k), []
    trained.optimizer.rule = optim.SGD()
    before = trained.weights()["fc3.weight"]
    for number, (some, labels) in enumerate(split(*updates(1)[0], count), start=1):
        trained.backward(some, labels, 1 / k)
        if number % step_every == 0:
            trained.optimizer.step()
            trained.optimizer.zero_grad()
        done.append(trained.optimizer.updates)
    return done, trained.weights()["fc3.weight"] - before


def moved_by_the_large_batch():
    trained = Trained("sgd")
    trained.optimizer.rule = optim.SGD()
    before = trained.weights()["fc3.weight"]
    trained.backward(*updates(1)[0])
    trained.optimizer.step()
    return trained.weights()["fc3.weight"] - before


def test_mixed_with_a_step_after_every_micro_batch_gradients_are_k_times_too_small():
    done, moved = mixed(k=4, count=4, step_every=1)
    assert done == [0, 0, 0, 1]
    np.testing.assert_allclose(moved, moved_by_the_large_batch() / 4, rtol=1e-9, atol=1e-15)


def test_mixed_with_a_step_at_every_kth_updates_come_at_every_k_times_kth_with_a_right_mean():
    done, moved = mixed(k=2, count=4, step_every=2)
    assert done == [0, 0, 0, 1]
    np.testing.assert_allclose(moved, moved_by_the_large_batch(), rtol=1e-9, atol=1e-15)


def test_without_the_division_sgd_moves_k_times_as_far():
    k, (x, y) = 8, updates(1)[0]
    moved = {}
    for name, scale in (("divided", 1 / k), ("not divided", 1.0)):
        trained = Trained("sgd")
        trained.optimizer.rule = optim.SGD()
        before = trained.weights()["fc3.weight"]
        for some, labels in split(x, y, k):
            trained.backward(some, labels, scale)
        trained.optimizer.step()
        moved[name] = trained.weights()["fc3.weight"] - before
    np.testing.assert_allclose(moved["not divided"], k * moved["divided"], rtol=1e-9, atol=1e-15)


def test_the_trainer_accumulates_to_the_large_batch():
    whole = engine_losses(job("mlp", "momentum"))
    parts = engine_losses(job("mlp", "momentum", micro_batches=4))
    np.testing.assert_allclose(parts, whole, rtol=1e-9)


def test_the_trainer_without_division_learns_k_times_as_fast():
    undivided = engine_losses(job("mlp", "sgd", micro_batches=4, divide_loss=False))
    faster = engine_losses(job("mlp", "sgd", learning_rate=4 * 0.05))
    np.testing.assert_allclose(undivided, faster, rtol=1e-9)


def test_batch_norm_sees_micro_batches_so_that_its_nets_differ():
    whole = engine_losses(job("simple_cnn", "sgd"))
    parts = engine_losses(job("simple_cnn", "sgd", micro_batches=4))
    assert abs(whole[0] - parts[0]) > 1e-4
