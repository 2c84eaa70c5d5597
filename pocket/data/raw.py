"""What a source hands over: both splits as they come, before resizing and before statistics."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Split:
    """Samples and their answers. `x` is an array, or a sequence that reads one picture at a time from its file."""

    x: np.ndarray | Sequence[np.ndarray]  # uint8 H W C each, or float32 N F
    y: np.ndarray  # int64 N, or float32 N 1


@dataclass(frozen=True)
class Raw:
    """A data set as its source gives it."""

    train: Split
    test: Split
    task: str  # "classification" or "regression"
    source: str  # where it came from, for the reader of meta.json
    class_names: tuple[str, ...] = ()
    skipped: tuple[dict[str, Any], ...] = ()  # {"path", "reason"} of every file that could not be used
    notes: tuple[str, ...] = field(default=())  # sentences that a reader of the results must know
