"""Mean and standard deviation of the training split, which normalise both splits."""

import numpy as np

BLOCK = 256  # samples looked at together


def image_statistics(x: np.ndarray) -> tuple[list[float], list[float]]:
    """Per channel over all pixels / 255, exact up to float64 rounding: counted, not summed, so nothing can overflow.

    x: uint8 N H W C. Returns mean and deviation, C numbers each. A channel without any variation gets deviation 1.
    """
    counts = np.zeros((x.shape[3], 256), dtype=np.int64)
    for start in range(0, len(x), BLOCK):
        block = x[start : start + BLOCK]
        for channel in range(x.shape[3]):
            counts[channel] += np.bincount(block[..., channel].ravel(), minlength=256)
    levels = np.arange(256) / 255
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ levels
    deviation = np.sqrt((share * (levels - mean[:, None]) ** 2).sum(axis=1))
    return mean.tolist(), _without_zeros(deviation)


def table_statistics(x: np.ndarray) -> tuple[list[float], list[float]]:
    """Per feature, in float64. x: float32 N F. Returns mean and deviation, F numbers each; constant features get 1."""
    wide = x.astype(np.float64)
    return wide.mean(axis=0).tolist(), _without_zeros(wide.std(axis=0))


def _without_zeros(deviation: np.ndarray) -> list[float]:
    return np.where(deviation > 0, deviation, 1.0).tolist()
