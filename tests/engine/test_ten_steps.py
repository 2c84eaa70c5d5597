"""Ten training steps have the baseline's losses, for every model and every optimizer."""

import numpy as np
import pytest

from .tenfold import OPTIMIZERS, WIDTHS, baseline_losses, engine_losses, job, table_job

# Relative bounds: about ten roundings, for where PyTorch's two runs happen to agree exactly; and a cap, for where its
# channels-last convolutions stray further than rounding explains (0.03 within ten steps of the residual net).
FLOOR, CAP = 1e-6, 1e-4


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", WIDTHS)
def test_losses_agree_in_float64(model, optimizer):
    a_job = job(model, optimizer)
    ours, theirs = engine_losses(a_job), baseline_losses(a_job)
    assert len(ours) == 10
    assert ours[-1] != ours[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_losses_of_a_regression_agree_in_float64(optimizer):
    a_job = table_job(optimizer)
    np.testing.assert_allclose(engine_losses(a_job), baseline_losses(a_job), rtol=1e-9)


@pytest.mark.parametrize("schedule", ["cosine", "step"])
def test_losses_under_a_schedule_agree_in_float64(schedule):
    a_job = job("mlp", "momentum", epochs=4, schedule=schedule)
    ours = engine_losses(a_job)
    assert len(ours) == 40
    np.testing.assert_allclose(ours, baseline_losses(a_job), rtol=1e-9)


@pytest.mark.parametrize("model", WIDTHS)
def test_accumulated_losses_agree_in_float64(model):
    a_job = job(model, "momentum", micro_batches=3)
    np.testing.assert_allclose(engine_losses(a_job), baseline_losses(a_job), rtol=1e-9)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", WIDTHS)
def test_losses_differ_in_float32_no_more_than_thrice_what_pytorchs_own_layouts_do(model, optimizer):
    a_job = job(model, optimizer, dtype="float32")
    ours = engine_losses(a_job)
    contiguous = baseline_losses(a_job, "contiguous")
    channels_last = baseline_losses(a_job, "channels_last")
    allowed = np.clip(3 * np.abs(contiguous - channels_last).max(), FLOOR * contiguous.max(), CAP * contiguous.max())
    nearest = min(np.abs(ours - contiguous).max(), np.abs(ours - channels_last).max())
    assert nearest <= allowed
