"""Which matrix library NumPy works with, and which of its kernels it chose for this processor."""

from typing import Any

from threadpoolctl import threadpool_info  # type: ignore[import-untyped]


def blas() -> dict[str, Any]:
    """`blas`: {"library", "version", "kernel"} of the loaded BLAS, or None and a reason.

    How many threads it has is left out: asked between steps, it does not say that the engine keeps it to one in each.
    """
    for pool in threadpool_info():
        if pool["user_api"] == "blas":
            kernel = pool.get("architecture")
            return {
                "blas": {
                    "library": pool["internal_api"],
                    "version": pool["version"],
                    "kernel": kernel,
                }
            }
    return {"blas": None, "blas_reason": "threadpoolctl finds no BLAS library in this process"}
