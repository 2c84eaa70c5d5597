"""Activations far out."""

import numpy as np
import pytest

from pocket.engine.ops.activation import Sigmoid


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoid_far_out_is_finite(dtype):
    x = np.array([-1000, -40, 0, 40, 1000], dtype)
    y, saved = Sigmoid().forward((x,), {}, {}, None, True)
    np.testing.assert_allclose(y, [0, 0, 0.5, 1, 1], atol=1e-7)
    (dx,) = Sigmoid().backward(np.ones_like(x), saved, {}, {})
    assert np.all(np.isfinite(dx))
    assert np.all(np.abs(dx) <= 1)
