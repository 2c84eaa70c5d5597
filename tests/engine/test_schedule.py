"""Schedules against PyTorch's, epoch by epoch."""

from math import ceil

import pytest
import torch

from pocket.engine import schedule


def of_pytorch(make, epochs):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.2)
    scheduler = make(optimizer)
    rates = []
    for _ in range(epochs):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize("epochs", [1, 2, 5, 12, 300])
def test_cosine_is_cosine_annealing(epochs):
    wanted = of_pytorch(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=epochs), epochs)
    ours = [schedule.learning_rate("cosine", 0.2, epoch, epochs) for epoch in range(epochs)]
    assert ours == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("epochs", [1, 2, 3, 4, 5, 7, 12, 300])
def test_step_is_multi_step(epochs):
    milestones = [ceil(epochs * 0.5), ceil(epochs * 0.75)]
    wanted = of_pytorch(lambda o: torch.optim.lr_scheduler.MultiStepLR(o, milestones, gamma=0.1), epochs)
    ours = [schedule.learning_rate("step", 0.2, epoch, epochs) for epoch in range(epochs)]
    assert ours == pytest.approx(wanted, rel=1e-12)


def test_constant_is_constant():
    assert [schedule.learning_rate("constant", 0.3, epoch, 4) for epoch in range(4)] == [0.3] * 4


def test_one_milestone_and_its_factor():
    rates = [100 * schedule.step(epoch / 6, milestones=(4 / 6,), factor=0.1) for epoch in range(6)]
    assert rates == pytest.approx([100, 100, 100, 100, 10, 10])


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"linear.*constant, cosine, step"):
        schedule.learning_rate("linear", 0.1, 0, 1)
