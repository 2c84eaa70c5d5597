"""A prepared data set: four mapped arrays and what is known about them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pocket.data.digest import ARRAYS, DESCRIBING, digest
from pocket.mistake import Mistake


@dataclass(frozen=True)
class Dataset:
    """Images: uint8 N H W C and labels int64 N. Table rows: float32 N F and targets float32 N 1. Read-only."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    folder: Path
    meta: dict[str, Any]  # meta.json: name, task, classes, class_names, input_shape, counts, mean, std, digest, …

    @property
    def task(self) -> str:
        """ "classification" or "regression"."""
        return self.meta["task"]

    @property
    def outputs(self) -> int:
        """Classes, or regression targets."""
        return self.meta["classes"] if self.task == "classification" else self.y_train.shape[1]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """(H, W, C) of an image, (F,) of a table row."""
        return tuple(self.meta["input_shape"])

    @property
    def mean(self) -> np.ndarray:
        """float32, per channel of pixels / 255 or per feature, of the training split."""
        return np.array(self.meta["mean"], dtype=np.float32)

    @property
    def std(self) -> np.ndarray:
        """float32, like `mean`."""
        return np.array(self.meta["std"], dtype=np.float32)

    @property
    def digest(self) -> str:
        """The digest written when the data were prepared."""
        return self.meta["digest"]

    def check(self) -> None:
        """Reads everything and compares its digest with the one in meta.json. Mistake when they differ."""
        came = digest({name: getattr(self, name) for name in ARRAYS}, self.meta)
        if came != self.digest:
            raise Mistake(f"{self.folder}: digest is {came[:12]}…, meta.json says {self.digest[:12]}…; {AGAIN}")


AGAIN = "remove the folder so that it is prepared again"


def load(folder: Path) -> Dataset:
    """Maps the arrays; nothing is read before it is used. Mistake when a file is missing, cut or does not fit."""
    folder = Path(folder)
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in ARRAYS}
    except FileNotFoundError as error:
        raise Mistake(f"{error.filename} is missing: this data set was not prepared, or not wholly; {AGAIN}") from error
    except (OSError, ValueError, EOFError) as error:
        raise Mistake(f"{folder}: a damaged data set ({error}); {AGAIN}") from error
    missing = [key for key in (*DESCRIBING, "digest", "train_samples", "test_samples") if key not in meta]
    if missing:
        raise Mistake(f"{folder / 'meta.json'}: lacks {', '.join(missing)}; {AGAIN}")
    for part in ("train", "test"):
        _check_split(folder, part, arrays[f"x_{part}"], arrays[f"y_{part}"], meta)
    return Dataset(**arrays, folder=folder, meta=meta)


def _check_split(folder: Path, part: str, x: np.ndarray, y: np.ndarray, meta: dict[str, Any]) -> None:
    wanted = (meta[f"{part}_samples"], *meta["input_shape"])
    if x.shape != wanted or len(y) != len(x):
        raise Mistake(f"{folder}: {part} is {x.shape} with {len(y)} answers, meta.json says {wanted}; {AGAIN}")
