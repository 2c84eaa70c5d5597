"""Handwritten digits: 1,797 grey pictures of 8 x 8 pixels and 10 classes, carried in scikit-learn's wheel.

Alpaydin & Kaynak 1998, Optical Recognition of Handwritten Digits. scikit-learn carries its test part.
"""

import numpy as np

from pocket.data.raw import Raw, Split
from pocket.data.split import stratified

TEST_SAMPLES = 360
SPLIT_SEED = 0


def read() -> Raw:
    """The digits, 1,437 for training and 360 for testing, each class in proportion; the split never changes.

    Values 0..16 become round(255 value / 16): uint8 N 8 8 1.
    """
    from sklearn.datasets import load_digits  # 1.5 s, and only preparing needs it

    digits = load_digits()
    x = np.rint(digits.images * (255 / 16)).astype(np.uint8)[..., None]
    y = digits.target.astype(np.int64)
    test = stratified(y, TEST_SAMPLES, SPLIT_SEED)
    train = np.setdiff1d(np.arange(len(y)), test)
    return Raw(
        train=Split(x[train], y[train]),
        test=Split(x[test], y[test]),
        task="classification",
        source="scikit-learn's load_digits",
        class_names=tuple(str(digit) for digit in range(10)),
    )
