"""Crop, flip and Cutout of whole micro-batches, on the host, in uint8, by draws made beforehand.

Pixels are only moved or replaced by a fixed colour: no arithmetic is done in uint8, so nothing can wrap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pocket.mistake import Mistake

NAMES = ("crop", "flip", "cutout")
STREAM = {"crop": 1, "flip": 2, "cutout": 3}  # each draws from its own generator: adding one leaves the others' draws


@dataclass(frozen=True)
class Draws:
    """What happens to the pictures of one epoch, by their place in its order."""

    shifts: np.ndarray  # int N 2: rows and columns that the crop window moves down and right
    flips: np.ndarray  # bool N
    centres: np.ndarray | None  # int N 2: row and column of the Cutout square's centre


def padding(side: int) -> int:
    """Pixels by which a crop may shift: an eighth of the side, as 4 of 32 (He et al. 2016, section 4.2)."""
    return max(1, round(side / 8))


def cutout_side(side: int) -> int:
    """Side of the Cutout square: half of the picture's, as 16 of 32 (DeVries & Taylor 2017)."""
    return max(1, side // 2)


def check_names(augmentation: Sequence[str], images: bool) -> None:
    """Mistake for an unknown name, one given twice, or any at all for table rows."""
    for name in augmentation:
        if name not in NAMES:
            raise Mistake(f"augmentation {name!r} is not known; wanted a list of {', '.join(NAMES)}")
    if len(set(augmentation)) != len(augmentation):
        raise Mistake(f"augmentation {list(augmentation)} names one twice; list each once")
    if augmentation and not images:
        raise Mistake(f"augmentation {list(augmentation)} is for pictures, these are table rows; leave the list empty")


def draw(augmentation: Sequence[str], samples: int, height: int, width: int, seed: int, epoch: int) -> Draws:
    """The draws of one epoch: they depend on seed, epoch and the number of samples, not on batches or the trainer."""

    def stream(name: str) -> np.random.Generator:
        return np.random.default_rng([seed, epoch, STREAM[name]])

    shifts = np.zeros((samples, 2), dtype=np.int64)
    if "crop" in augmentation:
        limits = np.array([padding(height), padding(width)])
        shifts = stream("crop").integers(-limits, limits + 1, size=(samples, 2))
    flips = stream("flip").random(samples) < 0.5 if "flip" in augmentation else np.zeros(samples, dtype=bool)
    centres = stream("cutout").integers([height, width], size=(samples, 2)) if "cutout" in augmentation else None
    return Draws(shifts, flips, centres)


def gather(x: np.ndarray, indices: np.ndarray, draws: Draws, start: int, fill: np.ndarray) -> np.ndarray:
    """The pictures x[indices], augmented by the draws `start`, `start` + 1, …

    Crop: the window moves by the shift over the picture with black (0) around it. Flip: left and right change places,
    after the crop. Cutout: a square, cut off at the border, gets the colour `fill`.

    x: uint8 N H W C; fill: uint8 C. Returns a new uint8 array n H W C; x is not changed.
    """
    height, width = x.shape[1:3]
    batch = np.empty((len(indices), *x.shape[1:]), dtype=x.dtype)
    for place, index in enumerate(indices.tolist()):
        row, column = draws.shifts[start + place].tolist()
        out = batch[place, :, ::-1] if draws.flips[start + place] else batch[place]
        _copy_shifted(out, x[index], row, column)
    if draws.centres is not None:
        half = np.array([cutout_side(height), cutout_side(width)])
        corners = draws.centres[start : start + len(indices)] - half // 2
        for place, (top, left) in enumerate(corners.tolist()):
            batch[place, max(top, 0) : max(top + half[0], 0), max(left, 0) : max(left + half[1], 0)] = fill
    return batch


def _copy_shifted(out: np.ndarray, picture: np.ndarray, row: int, column: int) -> None:
    height, width = picture.shape[:2]
    if row or column:
        out[:] = 0
    rows = slice(max(-row, 0), height - max(row, 0)), slice(max(row, 0), height - max(-row, 0))
    columns = slice(max(-column, 0), width - max(column, 0)), slice(max(column, 0), width - max(-column, 0))
    out[rows[0], columns[0]] = picture[rows[1], columns[1]]
