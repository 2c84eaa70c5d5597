"""Intervals: Student's t below ten values, a percentile bootstrap from ten on.

A percentile bootstrap of three values covers 75 % where it claims 95 %, which is why small samples take Student's t.
Levels: 95 % for an effect, 90 % for equality (two one-sided tests at 5 % each: Schuirmann 1987).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

EFFECT_LEVEL = 0.95
EQUALITY_LEVEL = 0.90
BOOTSTRAP_FROM = 10
RESAMPLES = 10_000


@dataclass(frozen=True)
class Estimate:
    """A value, its interval, the sample standard deviation (divisor n - 1) and how many values it rests on.

    `low` and `high` are None where one value alone gives no interval, `std` likewise.
    """

    value: float
    low: float | None
    high: float | None
    std: float | None
    n: int


def student_interval(values: Sequence[float], level: float) -> tuple[float, float] | None:
    """mean +- t(n - 1, (1 + level) / 2) s / sqrt(n); None for fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    x = np.asarray(values, float)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * float(x.std(ddof=1)) / n**0.5
    return float(x.mean()) - half, float(x.mean()) + half


def bootstrap_interval(
    values: Sequence[float], level: float, statistic: Callable[..., np.ndarray] = np.mean
) -> tuple[float, float] | None:
    """The (1 - level) / 2 quantiles of `statistic` over resamples drawn with replacement (Efron 1979).

    The draws have a fixed seed: the same values give the same interval. None for fewer than two values.
    """
    n = len(values)
    if n < 2:
        return None
    picks = np.random.default_rng(0).integers(0, n, (RESAMPLES, n))
    drawn = statistic(np.asarray(values, float)[picks], axis=1)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def mean_estimate(values: Sequence[float], level: float = EFFECT_LEVEL) -> Estimate:
    """Mean of independent values (seeds) with its interval; ValueError when there are none."""
    if not values:
        raise ValueError("no values came, at least one was wanted")
    n = len(values)
    interval = student_interval(values, level) if n < BOOTSTRAP_FROM else bootstrap_interval(values, level)
    low, high = interval or (None, None)
    std = float(np.std(values, ddof=1)) if n > 1 else None
    return Estimate(float(np.mean(values)), low, high, std, n)


def ratio_estimate(ratios: Sequence[float], level: float = EFFECT_LEVEL) -> Estimate:
    """Median of positive ratios; the interval is Student's t of their logarithms, or a bootstrap of the median.

    Logarithms, because 2 and 1/2 are equally far from no effect.
    """
    if not ratios or min(ratios) <= 0:
        raise ValueError(f"positive ratios were wanted, {list(ratios)} came")
    n = len(ratios)
    if n < BOOTSTRAP_FROM:
        logs = student_interval([float(r) for r in np.log(ratios)], level)
        interval = None if logs is None else (float(np.exp(logs[0])), float(np.exp(logs[1])))
    else:
        interval = bootstrap_interval(ratios, level, np.median)
    low, high = interval or (None, None)
    std = float(np.std(ratios, ddof=1)) if n > 1 else None
    return Estimate(float(np.median(ratios)), low, high, std, n)


def spread_estimate(values: Sequence[float]) -> Estimate:
    """Median and quartiles of values that follow each other (the updates of a run).

    Quartiles, not an interval: neighbouring updates are not independent. Two
    trainers are compared by `pair` runs.
    """
    if not values:
        raise ValueError("no values came, at least one was wanted")
    low, middle, high = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    one = len(values) == 1
    std = None if one else float(np.std(values, ddof=1))
    return Estimate(middle, None if one else low, None if one else high, std, len(values))


def range_estimate(values: Sequence[float]) -> Estimate:
    """Median, smallest and largest of a few peaks."""
    if not values:
        raise ValueError("no values came, at least one was wanted")
    if len(values) == 1:
        return Estimate(float(values[0]), None, None, None, 1)
    std = float(np.std(values, ddof=1))
    return Estimate(float(np.median(values)), float(min(values)), float(max(values)), std, len(values))


def paired_difference(
    first: Mapping[int, float], second: Mapping[int, float], level: float = EFFECT_LEVEL
) -> Estimate | None:
    """Mean of first[seed] - second[seed] over the seeds that both have; None when they share none."""
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return None
    return mean_estimate([first[seed] - second[seed] for seed in shared], level)


def inside(estimate: Estimate, low: float, high: float) -> bool | None:
    """Is the whole interval inside [low, high]? None where there is no interval to judge by."""
    if estimate.low is None or estimate.high is None:
        return None
    return low <= estimate.low and estimate.high <= high
