"""Small prepared data sets for the tests, made in memory."""

from pathlib import Path

import numpy as np

from pocket.data.dataset import Dataset


def image_set(samples: int, height: int = 8, width: int = 8, channels: int = 1, mean: float = 0.3) -> Dataset:
    """Pictures of noise; the label is the sample's own number, so that a test can tell which one came."""
    rng = np.random.default_rng(7)
    x = rng.integers(1, 256, (samples, height, width, channels), dtype=np.uint8)
    meta = {
        "task": "classification",
        "classes": 10,
        "input_shape": [height, width, channels],
        "mean": [mean] * channels,
        "std": [0.25] * channels,
        "digest": "",
    }
    return Dataset(x, np.arange(samples), x[:2], np.arange(2), Path("made"), meta)


def table_set(samples: int) -> Dataset:
    """Rows of five features; the target is the row's own number."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((samples, 5)).astype(np.float32)
    y = np.arange(samples, dtype=np.float32)[:, None]
    meta = {
        "task": "regression",
        "classes": None,
        "input_shape": [5],
        "mean": [0.0] * 5,
        "std": [1.0] * 5,
        "digest": "",
    }
    return Dataset(x, y, x[:2], y[:2], Path("made"), meta)
