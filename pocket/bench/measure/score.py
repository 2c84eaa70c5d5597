"""Grades predictions: sums over samples, so that the size of the batches has no say in the result."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Predict = Callable[[np.ndarray], np.ndarray]


def score(predict: Predict, x: np.ndarray, y: np.ndarray, task: str, batch_size: int) -> dict[str, Any]:
    """Raw sums over the samples of a test split, predicted `batch_size` at a time.

    classification: `correct`, `total`, `loss_sum` (cross-entropy of the logits, nats). regression: `total`,
    `squared_error_sum`, `target_square_sum` (squared deviations of the targets from their mean), so that
    r2 = 1 - squared_error_sum / target_square_sum. ValueError for another task or a wrong number of predictions.
    """
    if task == "classification":
        return _classification(predict, x, y, batch_size)
    if task == "regression":
        return _regression(predict, x, y, batch_size)
    raise ValueError(f"task {task!r}; wanted 'classification' or 'regression'")


def _predicted(predict: Predict, x: np.ndarray, y: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for start in range(0, len(x), size):
        inputs, wanted = x[start : start + size], y[start : start + size]
        outputs = np.asarray(predict(np.array(inputs)), dtype=np.float64)
        if len(outputs) != len(wanted):
            raise ValueError(f"predict gave {len(outputs)} outputs for {len(wanted)} inputs")
        yield outputs, wanted


def _classification(predict: Predict, x: np.ndarray, y: np.ndarray, size: int) -> dict[str, Any]:
    correct, loss_sum = 0, 0.0
    for logits, labels in _predicted(predict, x, y, size):
        correct += int(np.count_nonzero(logits.argmax(axis=1) == labels))
        highest = logits.max(axis=1)
        log_sum = highest + np.log(np.exp(logits - highest[:, None]).sum(axis=1))
        loss_sum += float((log_sum - logits[np.arange(len(labels)), labels]).sum())
    return {"correct": correct, "total": len(x), "loss_sum": loss_sum}


def _regression(predict: Predict, x: np.ndarray, y: np.ndarray, size: int) -> dict[str, Any]:
    squared_error_sum = 0.0
    for values, targets in _predicted(predict, x, y, size):
        squared_error_sum += float(np.square(values.reshape(targets.shape) - targets).sum())
    deviations = np.asarray(y, dtype=np.float64) - np.mean(y, dtype=np.float64)
    return {
        "total": len(x),
        "squared_error_sum": squared_error_sum,
        "target_square_sum": float(np.square(deviations).sum()),
    }
