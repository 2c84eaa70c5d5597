"""Schedules: the factor on the initial learning rate at a progress between 0 (start) and 1 (end of training).

Training asks once an epoch: epoch e of E, counted from 0, runs at progress e / E. So the cosine never quite reaches 0,
and for one epoch every schedule is constant. Both trainers follow this. With PyTorch's names:

    cosine   CosineAnnealingLR(T_max=E), stepped after every epoch
    step     MultiStepLR(milestones=[ceil(E * 0.5), ceil(E * 0.75)], gamma=0.1), stepped after every epoch
"""

from collections.abc import Callable
from math import cos, pi


def constant(progress: float) -> float:
    """1 throughout."""
    return 1.0


def cosine(progress: float) -> float:
    """(1 + cos(pi progress)) / 2, from 1 to 0. Loshchilov & Hutter 2017 (SGDR), equation 5, without restarts."""
    return 0.5 * (1.0 + cos(pi * progress))


def step(progress: float, milestones: tuple[float, ...] = (0.5, 0.75), factor: float = 0.1) -> float:
    """factor^(number of milestones reached): 1, then 0.1 from half of the epochs, 0.01 from three quarters."""
    return factor ** sum(progress >= milestone for milestone in milestones)


SCHEDULES: dict[str, Callable[[float], float]] = {"constant": constant, "cosine": cosine, "step": step}


def learning_rate(name: str, initial: float, epoch: int, epochs: int) -> float:
    """The learning rate of epoch `epoch` (from 0) of `epochs`. ValueError for an unknown name."""
    if name not in SCHEDULES:
        raise ValueError(f"schedule {name!r} is not known; wanted one of {', '.join(SCHEDULES)}")
    return float(initial) * SCHEDULES[name](epoch / epochs)
