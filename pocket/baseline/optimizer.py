"""The optimizers and schedules a run may ask for, as PyTorch has them."""

from collections.abc import Iterable, Mapping
from math import cos, pi
from typing import Any

import torch
from torch import nn


def optimizer(parameters: Iterable[nn.Parameter], settings: Mapping[str, Any]) -> torch.optim.Optimizer:
    """sgd, adam or adamw with the settings learning_rate, momentum, nesterov, weight_decay. ValueError when unknown.

    The fused implementation does the same arithmetic in one pass over each parameter.
    """
    name, lr, decay = settings["optimizer"], settings["learning_rate"], settings.get("weight_decay", 0.0)
    if name == "sgd":
        momentum, nesterov = settings.get("momentum", 0.0), settings.get("nesterov", False)
        return torch.optim.SGD(parameters, lr, momentum, weight_decay=decay, nesterov=nesterov, fused=True)
    if name == "adam":
        return torch.optim.Adam(parameters, lr, weight_decay=decay, fused=True)
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr, weight_decay=decay, fused=True)
    raise ValueError(f"optimizer {name!r} is not known; wanted sgd, adam or adamw")


def schedule_factor(schedule: str, epoch: int, epochs: int) -> float:
    """What the initial learning rate is multiplied with in epoch `epoch` (from 0) of `epochs`. ValueError when unknown.

    constant: 1. cosine: (1 + cos(pi epoch / epochs)) / 2. step: 0.1 from half of the epochs on, 0.01 from three
    quarters on.
    """
    progress = epoch / epochs
    if schedule == "constant":
        return 1.0
    if schedule == "cosine":
        return 0.5 * (1.0 + cos(pi * progress))
    if schedule == "step":
        return 0.1 ** ((progress >= 0.5) + (progress >= 0.75))
    raise ValueError(f"schedule {schedule!r} is not known; wanted constant, cosine or step")


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    """The same learning rate for every parameter."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
