"""The digits in colour: each ink and paper of its own, so that a network for RGB pictures has embedded data.

The grey value g of a pixel (0 paper, 255 ink) mixes two colours drawn for the picture, paper dark and ink light:
x = (1 - g / 255) paper + (g / 255) ink, per channel, rounded. The draws are seeded and never change.
"""

import dataclasses

import numpy as np

from pocket.data import digits
from pocket.data.raw import Raw, Split

SEED = 0
DARKEST_INK, LIGHTEST_PAPER = 160, 96


def read() -> Raw:
    """As `digits.read`, in colour: uint8 N 8 8 3."""
    grey = digits.read()
    rng = np.random.default_rng(SEED)
    return dataclasses.replace(
        grey,
        train=Split(_tinted(np.asarray(grey.train.x), rng), grey.train.y),
        test=Split(_tinted(np.asarray(grey.test.x), rng), grey.test.y),
        source=f"{grey.source}, tinted",
    )


def _tinted(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    ink = rng.integers(DARKEST_INK, 256, (len(x), 1, 1, 3))
    paper = rng.integers(0, LIGHTEST_PAPER + 1, (len(x), 1, 1, 3))
    share = x / 255.0
    return np.rint((1 - share) * paper + share * ink).astype(np.uint8)
