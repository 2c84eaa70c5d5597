"""Which matrix library NumPy works with, and which of its kernels it chose for this processor."""

from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

SITE = Path(np.__file__).parents[1]


def blas() -> dict[str, Any]:
    """`blas`: {"library", "version", "kernel"} of the loaded BLAS, or None and a reason.

    How many threads it has is left out: asked between steps, it does not say that the engine keeps it to one in each.
    """
    found = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    # SciPy brings a copy of its own, which Numba loads and nobody here computes with
    numpys = [pool for pool in found if Path(pool["filepath"]).is_relative_to(SITE / "numpy.libs")]
    for pool in numpys or found:
        kernel = pool.get("architecture")
        return {"blas": {"library": pool["internal_api"], "version": pool["version"], "kernel": kernel}}
    return {"blas": None, "blas_reason": "threadpoolctl finds no BLAS library in this process"}
