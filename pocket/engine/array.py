"""Where arrays live. The host's are NumPy's; a card's library would be imported here and in `kernels`, nowhere else."""

import numpy as np

from pocket.engine import memory


def to_device(x: np.ndarray) -> np.ndarray:
    """A copy of a host array in the current pool, of whatever layout, class and permissions the host's was."""
    copy = memory.empty(x.shape, x.dtype, "input")
    np.copyto(copy, x)
    return copy


def to_host(x) -> np.ndarray:
    """A copy in host memory, which no pool owns."""
    return np.array(x)
