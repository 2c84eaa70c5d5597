"""The digits in colour are the grey ones, mixed from two colours."""

import numpy as np

from pocket.data import color_digits, digits


def test_grey_values_order_the_colours():
    grey, colour = digits.read(), color_digits.read()
    assert colour.train.x.shape == (1437, 8, 8, 3)
    assert colour.train.x.dtype == np.uint8
    assert np.array_equal(colour.train.y, grey.train.y)
    whole = next(n for n, x in enumerate(grey.test.x) if x.min() == 0 and x.max() == 255)
    for channel in range(3):
        picture, mixed = grey.test.x[whole, ..., 0].astype(int), colour.test.x[whole, ..., channel].astype(int)
        paper, ink = mixed[picture == 0][0], mixed[picture == 255][0]
        assert paper <= color_digits.LIGHTEST_PAPER < color_digits.DARKEST_INK <= ink
        assert np.array_equal(mixed, np.rint(paper + (ink - paper) * (picture / 255)))


def test_every_reading_gives_the_same_colours():
    assert np.array_equal(color_digits.read().train.x, color_digits.read().train.x)
    assert len(np.unique(color_digits.read().train.x[:, 0, 0], axis=0)) > 1000
