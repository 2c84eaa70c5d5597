"""Running means of long curves."""

import math

import pytest

from pocket.bench.judge.smoothing import running_mean, window


def test_windows_are_odd_and_short_curves_have_none():
    assert [window(n) for n in (0, 149, 150, 625, 4000)] == [1, 1, 3, 15, 101]


def test_each_mean_is_of_its_neighbours_and_a_gap_stays_a_gap():
    assert running_mean([1.0, 2.0, 6.0, 4.0], 3) == pytest.approx([1.5, 3.0, 4.0, 5.0])
    means = running_mean([1.0, math.nan, 3.0, 4.0, 5.0], 3)
    assert [math.isnan(mean) for mean in means] == [True, True, True, False, False]
