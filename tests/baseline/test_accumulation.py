import numpy as np
import pytest
import torch

from pocket.baseline.train import fit, train
from pocket.contract import Step

from .jobs import SETTINGS, cut, image_job, job_of, losses


def test_accumulation_equals_the_large_batch():
    """8 x 16 against 128 at once, without BatchNorm: same losses, in float64 to rounding."""
    accumulated = image_job("mlp", parts=3, batch=128, micro=16, dtype="float64")
    at_once = image_job("mlp", parts=3, batch=128, dtype="float64")
    np.testing.assert_allclose(losses(train(accumulated)), losses(train(at_once)), rtol=1e-12)


def test_undivided_loss_is_a_larger_learning_rate():
    """Eight undivided means are eight times the gradient: plain descent at eight times the learning rate."""
    settings = {"momentum": 0.0, "dtype": "float64"}
    undivided = image_job("mlp", parts=3, batch=128, micro=16, divide_loss=False, learning_rate=0.01, **settings)
    faster = image_job("mlp", parts=3, batch=128, micro=16, learning_rate=0.08, **settings)
    np.testing.assert_allclose(losses(train(undivided)), losses(train(faster)), rtol=1e-12)


def line_job(micro):
    """x = 1..6, y = 2x + 1, groups of 4 and 2."""
    x = np.arange(1, 7, dtype=np.float32)[:, None]
    settings = {**SETTINGS, "momentum": 0.0, "learning_rate": 0.01, "dtype": "float64"}
    job = job_of(settings, cut(x, 2 * x + 1, 4, micro), {}, (1,), 1, "regression")
    job.input_mean[:], job.input_std[:] = 0, 1
    return job


@pytest.mark.parametrize("micro", [1, 2, 3, 4])
def test_last_smaller_group_is_divided_by_its_own_size(micro):
    network = torch.nn.Linear(1, 1, bias=False).double()
    torch.nn.init.zeros_(network.weight)
    gradients, values = [], []
    for event in fit(line_job(micro), network):
        if isinstance(event, Step):
            gradients.append(network.weight.grad.item())
            values.append(network.weight.item())
    np.testing.assert_allclose(gradients, [-35, -111.65], rtol=1e-12)
    np.testing.assert_allclose(values, [0.35, 1.4665], rtol=1e-12)


def test_loss_of_a_step_is_the_mean_over_its_samples():
    network = torch.nn.Linear(1, 1, bias=False).double()
    torch.nn.init.zeros_(network.weight)
    x = np.arange(1, 7)
    first = np.mean((2 * x[:4] + 1) ** 2)
    second = np.mean((0.35 * x[4:] - 2 * x[4:] - 1) ** 2)
    np.testing.assert_allclose(losses(fit(line_job(1), network)), [first, second], rtol=1e-12)
