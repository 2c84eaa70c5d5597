"""Convolutions that went wrong for others, with their right values. Shapes are N C H W, as PyTorch writes them."""

import numpy as np
import pytest

from pocket.engine.ops.conv import Conv2d, TiledConv2d

from .layout import nchw, nhwc, weight_of

BOTH = pytest.mark.parametrize("kind", [Conv2d, TiledConv2d])


def convolve(operator, x, w, upstream, bias=None):
    """y, dx in N C H W, dw in (out, in, h, w), db; `upstream` makes dy of y."""
    parameters = {"weight": w} | ({"bias": bias} if bias is not None else {})
    gradients = {name: np.zeros(p.shape) for name, p in parameters.items()}
    y, saved = operator.forward((x,), parameters, {}, None, True)
    (dx,) = operator.backward(upstream(y), saved, parameters, gradients)
    return nchw(y), nchw(dx), np.transpose(gradients["weight"], (3, 2, 0, 1)), gradients.get("bias")


class TestConvolutionWithARemainderOfTheStride:
    @BOTH
    def test_last_row_and_column_get_no_gradient(self, kind):
        x, w = np.arange(36.0).reshape(1, 1, 6, 6) / 10, np.arange(9.0).reshape(1, 1, 3, 3) / 10
        y, dx, dw, _ = convolve(kind(1, 1, 3, stride=2, bias=False), nhwc(x), weight_of(w), np.copy)
        np.testing.assert_allclose(y.ravel(), [3.66, 4.38, 7.98, 8.70])
        assert dx.shape == x.shape
        assert not dx[..., -1].any()
        assert not dx[..., -1, :].any()
        assert dx.sum() == pytest.approx(88.992, rel=1e-9)
        wanted = [22.632, 25.104, 27.576, 37.464, 39.936, 42.408, 52.296, 54.768, 57.24]
        np.testing.assert_allclose(dw.ravel(), wanted, rtol=1e-9)

    @BOTH
    def test_seven_by_seven_stride_three(self, kind):
        x, w = np.ones((1, 1, 16, 16)), np.ones((1, 1, 7, 7))
        operator = kind(1, 1, 7, stride=3, padding=2, bias=False)
        y, dx, dw, _ = convolve(operator, nhwc(x), weight_of(w), np.ones_like)
        assert y.shape == (1, 1, 5, 5)
        assert y.sum() == pytest.approx(1024)
        assert dx.shape == x.shape
        assert dx.sum() == pytest.approx(1024)
        np.testing.assert_allclose(dx[0, 0, -1], [1, 2, 2, 2, 3, 2, 2, 3, 2, 2, 3, 2, 2, 2, 1, 1])
        np.testing.assert_allclose(dw[0, 0][[0, 0, -1, -1, 3], [0, -1, 0, -1, 3]], [16, 16, 16, 16, 25])

    @pytest.mark.parametrize("channels", [23, 24, 25])
    def test_depthwise(self, channels):
        operator = Conv2d(channels, channels, 3, stride=2, padding=1, groups=channels, bias=False)
        w = np.ones((channels, 1, 3, 3))
        _, dx, dw, _ = convolve(operator, nhwc(np.ones((1, channels, 6, 6))), weight_of(w), np.ones_like)
        for channel in range(channels):
            np.testing.assert_allclose(dw[channel, 0], [[4, 6, 6], [6, 9, 9], [6, 9, 9]])
            np.testing.assert_allclose(dx[0, channel, [0, 2, 4]], [[1, 2, 1, 2, 1, 1]] * 3)
            np.testing.assert_allclose(dx[0, channel, [1, 3]], [[2, 4, 2, 4, 2, 2]] * 2)
            np.testing.assert_allclose(dx[0, channel, 5], [1, 2, 1, 2, 1, 1])


class TestStridedKernelsAndInputs:
    X = np.arange(1.0, 19).reshape(1, 2, 3, 3)
    K = np.arange(1.0, 17).reshape(2, 2, 2, 2)
    OUT = (548, 600, 704, 756, 788, 872, 1040, 1124)
    DX = (8976, 21568, 12864, 26128, 60848, 35264, 18784, 42544, 24032)
    DX += (30352, 66496, 36416, 75408, 163760, 88896, 46688, 100528, 54112)
    DK = (16688, 21904, 32336, 37552, 24624, 32272, 47568, 55216)
    DK += (63632, 68848, 79280, 84496, 93456, 101104, 116400, 124048)

    @BOTH
    def test_kernel_transposed_without_a_copy(self, kind):
        transposed = np.transpose(np.swapaxes(self.K, 0, 1), (2, 3, 1, 0))  # a view of K's own storage
        assert not transposed.flags.c_contiguous
        before = self.K.copy()
        y, dx, dw, _ = convolve(kind(2, 2, 2, bias=False), nhwc(self.X), transposed, lambda y: 2 * y)
        np.testing.assert_allclose(y.ravel(), self.OUT)
        np.testing.assert_allclose(dx.ravel(), self.DX)
        np.testing.assert_allclose(np.swapaxes(dw, 0, 1).ravel(), self.DK)
        np.testing.assert_array_equal(self.K, before)

    @BOTH
    @pytest.mark.parametrize(
        "stored",
        [
            lambda x: x[:, ::-1].copy()[:, ::-1],
            np.asfortranarray,
            lambda x: np.repeat(x, 2, axis=0)[::2],
            lambda x: nhwc(nchw(x).copy()).transpose(0, 3, 1, 2).copy().transpose(0, 2, 3, 1),
        ],
        ids=["reversed", "fortran", "every second image", "channels first"],
    )
    def test_inputs_of_any_strides(self, kind, stored):
        x = stored(nhwc(self.X))
        before, w = x.copy(), weight_of(np.swapaxes(self.K, 0, 1))
        y, dx, dw, _ = convolve(kind(2, 2, 2, bias=False), x, w, lambda y: 2 * y)
        np.testing.assert_allclose(y.ravel(), self.OUT)
        np.testing.assert_allclose(dx.ravel(), self.DX)
        np.testing.assert_allclose(np.swapaxes(dw, 0, 1).ravel(), self.DK)
        np.testing.assert_array_equal(x, before)


@BOTH
def test_an_empty_batch_through_a_convolution(kind):
    operator = kind(3, 4, 3)
    w, b = np.ones((3, 3, 3, 4)), np.ones(4)
    y, dx, dw, db = convolve(operator, np.zeros((0, 5, 5, 3)), w, np.ones_like, b)
    assert y.shape == (0, 4, 3, 3)
    assert dx.shape == (0, 3, 5, 5)
    np.testing.assert_array_equal(dw, 0)
    np.testing.assert_array_equal(db, 0)
