"""Dropout: the mask's share, its repetition by seed, and the two ends p = 0 and p = 1."""

import numpy as np
import pytest

from pocket.engine.ops.dropout import CHUNK, Dropout


def run(p, x, seed=0, training=True):
    y, saved = Dropout(p).forward((x,), {}, {}, np.random.default_rng(seed), training)
    return y, Dropout(p).backward(np.ones_like(x), saved, {}, {})[0]


@pytest.mark.parametrize("size", [1, 7, CHUNK, 2 * CHUNK + 5])
def test_gradient_is_the_mask_that_forward_drew(size):
    x = np.ones(size, np.float32)
    y, dx = run(0.25, x)
    np.testing.assert_array_equal(y, dx)
    assert set(np.unique(y)) <= {np.float32(0), np.float32(4 / 3)}


def test_share_kept_and_mean_are_those_of_p():
    y, _ = run(0.25, np.ones(100_000))
    assert np.mean(y != 0) == pytest.approx(0.75, abs=0.006)
    assert y.mean() == pytest.approx(1, abs=0.008)


@pytest.mark.parametrize("value", [1.0, -3.0, np.inf])
def test_p_one_gives_zero_and_gradient_zero(value):
    y, dx = run(1.0, np.array([value, 2.0]))
    assert y[1] == 0
    np.testing.assert_array_equal(dx, 0)


def test_p_zero_and_evaluation_change_nothing():
    x = np.random.default_rng(0).standard_normal((5, 7))
    for y, dx in (run(0.0, x), run(0.6, x, training=False)):
        np.testing.assert_array_equal(y, x)
        np.testing.assert_array_equal(dx, 1)


def test_a_seed_repeats_the_mask_and_another_changes_it():
    x = np.ones(1000)
    np.testing.assert_array_equal(run(0.5, x, seed=1)[0], run(0.5, x, seed=1)[0])
    assert np.any(run(0.5, x, seed=1)[0] != run(0.5, x, seed=2)[0])


def test_strided_inputs_and_gradients_are_masked_alike():
    x = np.arange(1.0, 61).reshape(6, 10)
    y, saved = Dropout(0.5).forward((x.T,), {}, {}, np.random.default_rng(0), True)
    upstream = np.ones((6, 10)).T
    dx = Dropout(0.5).backward(upstream, saved, {}, {})[0]
    np.testing.assert_array_equal(y, x.T * dx)


def test_p_outside_its_range_is_refused():
    with pytest.raises(ValueError, match=r"1\.5"):
        Dropout(1.5)
