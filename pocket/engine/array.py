"""Where arrays live. The host's are NumPy's; a card's library would be imported here and in `kernels`, nowhere else."""

import numpy as np


def to_device(x: np.ndarray) -> np.ndarray:
    """The array on the device that computes. On a CPU that is the host's own array, not a copy."""
    return x


def to_host(x) -> np.ndarray:
    """The array in host memory, a copy that no pool owns."""
    return np.array(x)


def synchronize() -> None:
    """Returns when all queued work is done. NumPy queues nothing."""
