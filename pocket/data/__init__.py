"""Data sets for both trainers: prepared once into plain arrays, then mapped and served as micro-batches.

Preparing may import Pillow and scikit-learn; a run only calls `load` and `Batches`, which need NumPy alone.
"""

from pathlib import Path

from pocket.data.batches import Batches
from pocket.data.dataset import Dataset, load
from pocket.data.last_batch import describe_last_batch, smallest_map

__all__ = ["Batches", "Dataset", "describe_last_batch", "load", "prepare", "smallest_map"]


def prepare(
    dataset: str,
    resolution: int | None,
    train_samples: int | None,
    test_samples: int | None,
    destination: Path,
    strict: bool = False,
) -> None:
    """Writes x_train.npy, y_train.npy, x_test.npy, y_test.npy and meta.json into the folder `destination`.

    dataset: digits, color_digits, fashion_mnist, cifar10, tabular or folder:PATH. resolution: pixels a side, None for
    the pictures' own. train_samples, test_samples: a seeded draw that keeps the classes' shares, None for all. strict:
    refuse unreadable pictures instead of listing them in meta.json. Downloads go to the folder `downloads` beside
    `destination`. Mistake, in one line, when the source is missing or damaged or the arguments do not fit it;
    `destination` is then untouched.
    """
    from pocket.data.preparation import write  # Pillow and the network's modules: a run needs neither

    write(dataset, resolution, train_samples, test_samples, Path(destination), strict)
