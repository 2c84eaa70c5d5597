"""From a source to four arrays and meta.json, written whole or not at all."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pocket.data.array_file import write_rows
from pocket.data.digest import ARRAYS, digest
from pocket.data.picture import resized
from pocket.data.raw import Raw, Split
from pocket.data.source import read_source
from pocket.data.split import stratified, uniform
from pocket.data.statistics import image_statistics, table_statistics
from pocket.data.whole_folder import whole_folder
from pocket.mistake import Mistake

SUBSET_SEED = 0


def write(
    dataset: str,
    resolution: int | None,
    train_samples: int | None,
    test_samples: int | None,
    destination: Path,
    strict: bool = False,
) -> None:
    """See `pocket.data.prepare`."""
    for name, number in (("resolution", resolution), ("train_samples", train_samples), ("test_samples", test_samples)):
        if number is not None and number < 1:
            raise Mistake(f"{name} is {number}, wanted 1 or more, or null; change it in the experiment")
    raw = read_source(dataset, destination.parent / "downloads", strict)
    if resolution is not None and raw.task == "regression":
        raise Mistake(f"dataset {dataset!r} has rows, not pictures: resolution must be null, not {resolution}")
    train = _chosen(raw, raw.train, train_samples, "train_samples")
    test = _chosen(raw, raw.test, test_samples, "test_samples")
    with whole_folder(destination) as folder:
        shape = _write_split(folder, "train", raw.train, train, resolution, None)
        _write_split(folder, "test", raw.test, test, resolution, shape)
        meta = _described(folder, dataset, raw, shape)
        (folder / "meta.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _chosen(raw: Raw, split: Split, samples: int | None, setting: str) -> np.ndarray:
    total = len(split.y)
    if samples is None:
        return np.arange(total)
    if samples > total:
        raise Mistake(f"{setting} is {samples}, but {raw.source} has {total}; lower it or use null for all")
    if raw.task == "regression":
        return uniform(total, samples, SUBSET_SEED)
    return stratified(split.y, samples, SUBSET_SEED)


def _write_split(
    folder: Path, part: str, split: Split, chosen: np.ndarray, resolution: int | None, shape: tuple[int, ...] | None
) -> tuple[int, ...]:
    first = next(_rows(split, chosen[:1], resolution, None))
    shape = shape or first.shape
    write_rows(folder / f"x_{part}.npy", (len(chosen), *shape), first.dtype, _rows(split, chosen, resolution, shape))
    np.save(folder / f"y_{part}.npy", split.y[chosen])
    return shape


def _rows(
    split: Split, chosen: np.ndarray, resolution: int | None, shape: tuple[int, ...] | None
) -> Iterator[np.ndarray]:
    for index in chosen:
        row = split.x[index] if resolution is None else resized(split.x[index], resolution)
        if shape is not None and row.shape != shape:
            came, wanted = "x".join(map(str, row.shape)), "x".join(map(str, shape))
            raise Mistake(f"pictures differ in size ({came} and {wanted}); set resolution, so that all become alike")
        yield row


def _described(folder: Path, dataset: str, raw: Raw, shape: tuple[int, ...]) -> dict[str, Any]:
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
    images = arrays["x_train"].dtype == np.uint8
    mean, std = (image_statistics if images else table_statistics)(arrays["x_train"])
    meta: dict[str, Any] = {
        "name": dataset,
        "task": raw.task,
        "classes": len(raw.class_names) if raw.task == "classification" else None,
        "class_names": list(raw.class_names),
        "input_shape": list(shape),
        "train_samples": len(arrays["x_train"]),
        "test_samples": len(arrays["x_test"]),
        "mean": mean,
        "std": std,
        "source": raw.source,
        "skipped": list(raw.skipped),
        "notes": list(raw.notes),
    }
    return {**meta, "digest": digest(arrays, meta)}
