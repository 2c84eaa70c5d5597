"""Batch normalisation that went wrong for others, with the right values. Shapes are N C H W, as PyTorch writes them."""

import numpy as np
import pytest

from pocket.engine.ops.norm import BatchNorm

from .layout import nhwc


def fresh(operator, dtype=np.float64):
    """Parameters and running statistics as a new layer has them."""
    channels = operator.channels
    parameters = {"weight": np.ones(channels, dtype), "bias": np.zeros(channels, dtype)}
    running = {"running_mean": np.zeros(channels, dtype), "running_var": np.ones(channels, dtype)}
    return parameters, {**running, "num_batches_tracked": np.zeros((), np.int64)}


class TestBatchNorm:
    @pytest.mark.parametrize("shape", [(1, 2), (1, 1, 1, 3)])
    def test_one_value_a_channel_is_refused_and_changes_nothing(self, shape):
        operator = BatchNorm(shape[-1])
        parameters, state = fresh(operator)
        x = np.arange(1.0, 1 + shape[-1]).reshape(shape)
        with pytest.raises(ValueError, match="1 value a channel"):
            operator.forward((x,), parameters, state, None, True)
        np.testing.assert_array_equal(state["running_mean"], 0)
        np.testing.assert_array_equal(state["running_var"], 1)
        assert state["num_batches_tracked"] == 0
        y, _ = operator.forward((x,), parameters, state, None, False)
        np.testing.assert_allclose(y, x / np.sqrt(1 + 1e-5))

    def test_four_values_in_one_image(self):
        operator = BatchNorm(1)
        parameters, state = fresh(operator)
        y, _ = operator.forward((nhwc(np.arange(1.0, 5).reshape(1, 1, 2, 2)),), parameters, state, None, True)
        np.testing.assert_allclose(y.ravel(), [-1.341635, -0.447212, 0.447212, 1.341635], rtol=2e-6)
        np.testing.assert_allclose(state["running_mean"], 0.25, rtol=1e-9)
        np.testing.assert_allclose(state["running_var"], 1.0666667, rtol=1e-7)

    def test_an_empty_batch_moves_nothing(self):
        operator = BatchNorm(5)
        parameters, state = fresh(operator)
        y, saved = operator.forward((np.zeros((0, 5)),), parameters, state, None, True)
        assert y.shape == (0, 5)
        np.testing.assert_array_equal(state["running_mean"], 0)
        np.testing.assert_array_equal(state["running_var"], 1)
        gradients = {name: np.zeros(5) for name in parameters}
        (dx,) = operator.backward(np.zeros((0, 5)), saved, parameters, gradients)
        assert dx.shape == (0, 5)
        assert not any(gradient.any() for gradient in gradients.values())

    def test_running_variance_is_unbiased_and_momentum_is_the_new_batchs_share(self):
        operator = BatchNorm(1)
        parameters, state = fresh(operator)
        for mean, var in ((0.2, 1.1), (0.38, 1.19)):
            y, _ = operator.forward((np.array([[1.0], [3.0]]),), parameters, state, None, True)
            np.testing.assert_allclose(y.ravel(), [-1 / np.sqrt(1 + 1e-5), 1 / np.sqrt(1 + 1e-5)], rtol=1e-9)
            np.testing.assert_allclose(state["running_mean"], mean, rtol=1e-9)
            np.testing.assert_allclose(state["running_var"], var, rtol=1e-9)
        y, _ = operator.forward((np.array([[2.0]]),), parameters, state, None, False)
        assert y.item() == pytest.approx(1.485045, rel=1e-6)

    def test_no_momentum_is_the_plain_average(self):
        operator = BatchNorm(1, momentum=None)
        parameters, state = fresh(operator)
        for batch in ([1.0, 3.0], [5.0, 9.0]):
            operator.forward((np.array(batch).reshape(2, 1),), parameters, state, None, True)
        np.testing.assert_allclose([state["running_mean"][0], state["running_var"][0]], [4.5, 5.0], rtol=1e-9)
