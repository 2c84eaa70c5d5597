"""Losses: the mean over the batch. Their backward starts from the scale given to it (1, or a share of a group)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pocket.engine import memory

ROWS_AT_ONCE = 1024  # what is made of so many rows stays in cache and is too little for the pool


@dataclass(frozen=True)
class CrossEntropy:
    """loss = mean_n( log sum_c exp(x_nc - m_n) - (x_nl - m_n) ), l the label of row n, m_n = max_c x_nc.

    logits x (N, C), labels (N,) integers in 0..C-1 -> loss ().  dx = (softmax(x) - onehot(labels)) dloss / N.
    The maximum is taken in each row, so no row overflows and none makes another underflow. There is no label that
    is ignored: a label outside 0..C-1 is an error that names its row, never the last class. The mean over an empty
    batch is 0 with gradient 0, so that it cannot poison the weights (PyTorch answers nan).
    Saves the softmax, which backward turns into dx, and the labels. Bridle 1990.
    """

    def parameter_shapes(self):
        return {}

    def state_shapes(self):
        return {}

    def forward(self, inputs, parameters, state, rng, training):
        logits, labels = inputs
        n, classes = logits.shape
        check_labels(labels, n, classes)
        softmax = memory.empty(logits.shape, logits.dtype, "saved")
        total = 0.0
        for rows in slices(n):
            x, s = logits[rows], softmax[rows]
            np.subtract(x, x.max(axis=1, keepdims=True), out=s)
            of_label = s[np.arange(len(s)), labels[rows]]
            np.exp(s, out=s)
            row_sum = s.sum(axis=1, keepdims=True)
            total += sum_of(np.log(row_sum[:, 0]) - of_label)
            np.divide(s, row_sum, out=s)
        return np.asarray(total / max(n, 1), dtype=logits.dtype), (softmax, labels)

    def backward(self, dy, saved, parameters, gradients):
        softmax, labels = saved
        n = labels.shape[0]
        # forward was log of the row's sum minus the label's own logit, so dx = softmax, less 1 at the label
        for rows in slices(n):
            s = softmax[rows]
            s[np.arange(len(s)), labels[rows]] -= 1
        np.multiply(softmax, dy / max(n, 1), out=softmax)
        return softmax, None


def slices(n: int) -> Iterator[slice]:
    """n rows, some at a time."""
    return (slice(start, start + ROWS_AT_ONCE) for start in range(0, n, ROWS_AT_ONCE))


def sum_of(losses: np.ndarray) -> float:
    """Summed in float64: in float32 the mean of a large batch would depend on how it was cut into micro-batches."""
    return float(losses.sum(dtype=np.float64))


def check_labels(labels: np.ndarray, n: int, classes: int) -> None:
    """ValueError, naming the first bad row and the allowed range, unless labels are n integers in 0..classes-1."""
    allowed = f"wanted one integer in 0..{classes - 1} a row; correct the data set's labels"
    if labels.shape != (n,):
        row = labels[0].tolist() if labels.ndim > 1 and len(labels) else "missing"
        raise ValueError(
            f"labels have shape {labels.shape} for {n} rows, row 0 is {row}: wanted shape ({n},), {allowed}"
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(f"labels are {labels.dtype}, row 0 is {labels[:1].tolist()}: {allowed}")
    if n and (labels.min() < 0 or labels.max() >= classes):
        bad = np.flatnonzero((labels < 0) | (labels >= classes))
        raise ValueError(f"label of row {bad[0]} is {labels[bad[0]]} ({bad.size} rows are wrong): {allowed}")


@dataclass(frozen=True)
class MeanSquaredError:
    """loss = mean((x - target)^2) over all values.

    x (N, F), target (N, F) -> loss ().  dx = 2 (x - target) dloss / (N F); the target gets no gradient. An empty
    batch gives 0. Shapes must be equal: (N,) against (N, 1) would silently compare every pair.
    Saves x - target, which backward turns into dx.
    """

    def parameter_shapes(self):
        return {}

    def state_shapes(self):
        return {}

    def forward(self, inputs, parameters, state, rng, training):
        x, target = inputs
        if x.shape != target.shape:
            raise ValueError(f"targets have shape {target.shape}, outputs {x.shape}; wanted equal shapes")
        difference = memory.empty(x.shape, x.dtype, "saved")
        np.subtract(x, target, out=difference)
        total = sum(sum_of(np.square(difference[rows])) for rows in slices(len(difference)))
        return np.asarray(total / max(x.size, 1), dtype=x.dtype), (difference,)

    def backward(self, dy, saved, parameters, gradients):
        (difference,) = saved
        # forward was the mean of difference^2, so dx = 2 difference / size
        np.multiply(difference, 2 * dy / max(difference.size, 1), out=difference)
        return difference, None
