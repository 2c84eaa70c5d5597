import numpy as np
import pytest

from pocket.data import digits


@pytest.fixture(scope="module")
def raw():
    return digits.read()


def test_shapes_counts_and_types(raw):
    assert raw.train.x.shape == (1437, 8, 8, 1)
    assert raw.test.x.shape == (360, 8, 8, 1)
    assert raw.train.x.dtype == np.uint8
    assert raw.train.y.dtype == np.int64


def test_sixteen_levels_fill_the_bytes(raw):
    levels = np.unique(raw.train.x).tolist()
    assert levels == [0, 16, 32, 48, 64, 80, 96, 112, 128, 143, 159, 175, 191, 207, 223, 239, 255]


def test_split_keeps_every_class_in_proportion_and_repeats(raw):
    train, test = np.bincount(raw.train.y), np.bincount(raw.test.y)
    np.testing.assert_allclose(test, (train + test) * 360 / 1797, atol=1)
    np.testing.assert_array_equal(digits.read().test.x, raw.test.x)
