"""Maximum pooling that went wrong for others, with the right values. Shapes are N C H W, as PyTorch writes them."""

import numpy as np
import pytest

from pocket.engine.ops.pool import MaxPool2d

from .layout import nchw, nhwc


def max_pool(x, upstream=np.ones_like, **window):
    operator = MaxPool2d(**window)
    y, saved = operator.forward((nhwc(x),), {}, {}, None, True)
    (dx,) = operator.backward(upstream(y), saved, {}, {})
    return nchw(y)[0, 0], nchw(dx)[0, 0]


class TestMaxPooling:
    @pytest.mark.parametrize(
        ("x", "window", "wanted"),
        [
            (np.arange(42.0).reshape(6, 7), (1, 2, 0), [[0, 2, 4, 6], [14, 16, 18, 20], [28, 30, 32, 34]]),
            (-np.arange(1.0, 26).reshape(5, 5), (2, 2, 1), [[-1, -2, -4], [-6, -7, -9], [-16, -17, -19]]),
            (-np.arange(1.0, 26).reshape(5, 5), (3, 3, 1), [[-1, -3], [-11, -13]]),
            (np.arange(80.0).reshape(8, 10), (3, 4, 0), [[22, 26, 29], [62, 66, 69]]),
        ],
    )
    def test_last_window_of_ceil_mode(self, x, window, wanted):
        kernel, stride, padding = window
        y, _ = max_pool(x[None, None], kernel=kernel, stride=stride, padding=padding, ceil_mode=True)
        np.testing.assert_array_equal(y, wanted)

    def test_the_first_of_tied_maxima_gets_the_gradient(self):
        _, dx = max_pool(np.array([[[[1, 2], [2, 2]]]]), kernel=2)
        np.testing.assert_array_equal(dx, [[0, 1], [0, 0]])

    def test_ties_everywhere(self):
        _, dx = max_pool(np.zeros((1, 1, 4, 4)), kernel=3, stride=1)
        wanted = np.zeros((4, 4))
        wanted[:2, :2] = 1
        np.testing.assert_array_equal(dx, wanted)

    def test_overlapping_windows_add(self):
        x = np.arange(1.0, 25).reshape(1, 1, 4, 6)
        x[x == 8] = 88
        _, dx = max_pool(x, kernel=3, stride=2, padding=1)
        wanted = {88.0: 4.0, 12.0: 1.0, 24.0: 1.0}
        assert dict(zip(x[0, 0][dx > 0], dx[dx > 0], strict=True)) == wanted
