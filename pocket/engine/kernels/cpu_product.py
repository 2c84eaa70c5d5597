"""Matrix products into given storage, one single-threaded BLAS call a thread."""

import numpy as np

from pocket.engine import memory
from pocket.engine.kernels import threads

SMALLEST_SHARE = 1 << 20  # multiplications; below that, handing work to another thread costs more than the work
ROWS_AT_ONCE = 16


def product(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """out = a b, for a (M, K), b (K, N), out (M, N). Splits the longer side of out over the threads."""
    M, N = out.shape
    if M >= N:
        threads.over(M, lambda i, j, t: np.matmul(a[i:j], b, out=out[i:j]), _smallest(M, a, out))
    else:
        threads.over(N, lambda i, j, t: np.matmul(a, b[:, i:j], out=out[:, i:j]), _smallest(N, a, out))


def add_product(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """out += a b, some rows at a time, so that the product is never whole."""
    M, N = out.shape
    room = memory.empty((threads.count(), min(M, ROWS_AT_ONCE), N), out.dtype)

    def rows(first: int, last: int, thread: int) -> None:
        for i in range(first, last, ROWS_AT_ONCE):
            j = min(i + ROWS_AT_ONCE, last)
            part = np.matmul(a[i:j], b, out=room[thread, : j - i])
            np.add(out[i:j], part, out=out[i:j])

    threads.over(M, rows, _smallest(M, a, out))


def _smallest(items: int, a: np.ndarray, out: np.ndarray) -> int:
    return max(1, items * SMALLEST_SHARE // max(1, a.shape[1] * out.size))
