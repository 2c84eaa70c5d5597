import pytest
import torch

from pocket.baseline.optimizer import optimizer, schedule_factor


def after(settings, gradients, start=1.0):
    p = torch.nn.Parameter(torch.tensor([start], dtype=torch.float64))
    rule = optimizer([p], settings)
    values = []
    for g in gradients:
        p.grad = torch.tensor([g], dtype=torch.float64)
        rule.step()
        values.append(p.item())
    return values


def test_settings_reach_the_rule():
    sgd = {"optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9}
    assert after(sgd, [1, 1]) == pytest.approx([0.9, 0.71], rel=1e-12)
    assert after({**sgd, "nesterov": True}, [1, 1]) == pytest.approx([0.81, 0.539], rel=1e-12)
    assert after({**sgd, "weight_decay": 0.5}, [0], 2.0) == pytest.approx([1.9], rel=1e-12)
    adam = {"optimizer": "adam", "learning_rate": 0.1, "weight_decay": 0.5}
    assert after({**adam, "optimizer": "adamw"}, [0, 0], 2.0) == pytest.approx([1.9, 1.805], rel=1e-9)
    assert after(adam, [0, 0], 2.0) == pytest.approx([1.900000001, 1.8001665], rel=1e-7)
    with pytest.raises(ValueError, match="'lion' is not known"):
        after({**adam, "optimizer": "lion"}, [0])


def test_schedules_agree_with_pytorch():
    for epochs in (1, 4, 5, 8):
        p = torch.nn.Parameter(torch.zeros(1))
        for name, made in {
            "cosine": lambda rule, e=epochs: torch.optim.lr_scheduler.CosineAnnealingLR(rule, e),
            "step": lambda rule, e=epochs: torch.optim.lr_scheduler.MultiStepLR(
                rule, [-(-e // 2), -(-3 * e // 4)], 0.1
            ),
            "constant": lambda rule: torch.optim.lr_scheduler.ConstantLR(rule, 1.0),
        }.items():
            rule = torch.optim.SGD([p], 1.0)
            schedule = made(rule)
            for epoch in range(epochs):
                assert schedule_factor(name, epoch, epochs) == pytest.approx(schedule.get_last_lr()[0], abs=1e-12)
                rule.step()
                schedule.step()
    with pytest.raises(ValueError, match="'linear' is not known"):
        schedule_factor("linear", 0, 1)
