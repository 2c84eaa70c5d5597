"""Between PyTorch's layouts, in which field values are written, and the engine's."""

import numpy as np


def nhwc(x):
    """N C H W -> N H W C, contiguous float64."""
    return np.ascontiguousarray(np.moveaxis(np.asarray(x, dtype=np.float64), 1, -1))


def nchw(x):
    """N H W C -> N C H W."""
    return np.moveaxis(x, -1, 1)


def weight_of(w):
    """(out, in, h, w) as the engine holds it, (h, w, in, out)."""
    return np.ascontiguousarray(np.transpose(np.asarray(w, dtype=np.float64), (2, 3, 1, 0)))
