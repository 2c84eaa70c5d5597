"""Long noisy curves: a running mean to read, with every point faint behind it."""

from collections.abc import Sequence

import numpy as np

LONG = 150  # points from which a curve over updates is drawn with its running mean
PARTS = 40


def window(points: int) -> int:
    """How many neighbouring updates one value of the running mean takes: odd, 1 for a curve that is short enough."""
    return 1 if points < LONG else points // PARTS // 2 * 2 + 1


def running_mean(y: Sequence[float], width: int) -> list[float]:
    """Mean of the `width` values around each, fewer at the ends; nan where any of them is nan: a gap stays one."""
    values = np.asarray(y, float)
    half = width // 2
    means = [values[max(at - half, 0) : at + half + 1].mean() for at in range(len(values))]
    return [float(mean) for mean in means]
