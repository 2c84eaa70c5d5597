"""Seeded choices of samples that keep the share of every class."""

import numpy as np


def stratified(y: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Sorted indices of `count` samples, each class in proportion to its share.

    Every class first gets floor(count * n_class / N); what is left goes to the classes with the largest remainders, the
    lower label first. Within a class the draw is uniform without replacement.

    y: int labels N; 0 <= count <= N. Returns int64 `count`, ascending. ValueError when count is out of range.
    """
    if not 0 <= count <= len(y):
        raise ValueError(f"{count} samples were asked for, wanted 0 to {len(y)}")
    rng = np.random.default_rng(seed)
    labels, sizes = np.unique(y, return_counts=True)
    share, remainder = np.divmod(count * sizes, len(y))
    largest_first = np.argsort(-remainder, kind="stable")
    share[largest_first[: count - share.sum()]] += 1
    chosen = [rng.choice(np.flatnonzero(y == label), n, replace=False) for label, n in zip(labels, share, strict=True)]
    return np.sort(np.concatenate(chosen).astype(np.int64))


def uniform(total: int, count: int, seed: int) -> np.ndarray:
    """Sorted indices of `count` of `total` samples, drawn uniformly without replacement (regression has no classes)."""
    if not 0 <= count <= total:
        raise ValueError(f"{count} samples were asked for, wanted 0 to {total}")
    return np.sort(np.random.default_rng(seed).choice(total, count, replace=False))
