"""Intervals against values known from tables, and the rules that choose between them."""

import numpy as np
import pytest

from pocket.bench.judge import stats


def test_student_interval_equals_the_printed_quantiles():
    # t(0.975, 2) = 4.302653, t(0.95, 4) = 2.131847 (tables of Student's t); s of 1 2 3 is 1.
    low, high = stats.student_interval([1.0, 2.0, 3.0], 0.95)
    assert low == pytest.approx(2 - 4.302653 / 3**0.5, abs=1e-6)
    assert high == pytest.approx(2 + 4.302653 / 3**0.5, abs=1e-6)
    low, high = stats.student_interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.90)
    assert high - 3 == pytest.approx(2.131847 * 2.5**0.5 / 5**0.5, abs=1e-6)


def test_standard_deviation_divides_by_n_minus_one():
    assert stats.mean_estimate([0.9, 0.8]).std == pytest.approx(0.0707107, abs=1e-7)


def test_one_value_has_neither_interval_nor_standard_deviation():
    for estimate in (stats.mean_estimate, stats.ratio_estimate, stats.spread_estimate, stats.range_estimate):
        one = estimate([0.5])
        assert (one.value, one.low, one.high, one.std, one.n) == (0.5, None, None, None, 1)


def test_nine_values_take_student_and_ten_the_bootstrap():
    nine, ten = [float(i) for i in range(9)], [float(i) for i in range(10)]
    assert (stats.mean_estimate(nine).low, stats.mean_estimate(nine).high) == stats.student_interval(nine, 0.95)
    assert (stats.mean_estimate(ten).low, stats.mean_estimate(ten).high) == stats.bootstrap_interval(ten, 0.95)
    assert stats.bootstrap_interval(ten, 0.95) != stats.student_interval(ten, 0.95)


def test_bootstrap_repeats_itself_and_has_the_width_of_theory():
    # Of n values with variance v (divisor n) the bootstrapped mean is nearly normal with variance v / n.
    values = [float(i) for i in range(100)]
    low, high = stats.bootstrap_interval(values, 0.95)
    assert (low, high) == stats.bootstrap_interval(values, 0.95)
    half = 1.959964 * np.std(values) / 10
    assert low == pytest.approx(49.5 - half, abs=0.15)
    assert high == pytest.approx(49.5 + half, abs=0.15)


def test_ratio_interval_is_symmetric_under_inversion():
    ratios = [1.2, 1.3, 1.25, 1.4, 1.31]
    forth, back = stats.ratio_estimate(ratios), stats.ratio_estimate([1 / r for r in ratios])
    assert forth.value == 1.3
    assert back.low == pytest.approx(1 / forth.high, rel=1e-12)
    assert back.high == pytest.approx(1 / forth.low, rel=1e-12)
    logs = np.log(ratios)
    assert forth.high == pytest.approx(np.exp(logs.mean() + 2.776445 * logs.std(ddof=1) / 5**0.5), rel=1e-6)


def test_ratio_of_ten_and_more_bootstraps_the_median():
    ratios = [1.0] * 9 + [50.0]
    assert stats.ratio_estimate(ratios).high < 2  # the mean's interval would reach far above


def test_ratio_refuses_zero():
    with pytest.raises(ValueError, match="positive ratios"):
        stats.ratio_estimate([1.0, 0.0])


def test_spread_is_median_and_quartiles():
    estimate = stats.spread_estimate([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (estimate.low, estimate.value, estimate.high, estimate.n) == (2.0, 3.0, 4.0, 5)


def test_paired_difference_uses_shared_seeds_only():
    # Paired, the constant offset 0.1 has no variance at all; unpaired it would drown in that of the seeds.
    difference = stats.paired_difference({0: 0.6, 1: 0.8, 2: 0.4, 7: 0.0}, {0: 0.5, 1: 0.7, 2: 0.3, 9: 1.0})
    assert difference.n == 3
    assert difference.value == pytest.approx(0.1)
    assert difference.high - difference.low < 1e-12
    assert stats.paired_difference({1: 0.5}, {2: 0.5}) is None


def test_inside_judges_the_interval_and_not_the_value():
    assert stats.inside(stats.Estimate(1.0, 0.98, 1.02, 0.0, 5), 0.97, 1.03) is True
    assert stats.inside(stats.Estimate(1.0, 0.96, 1.02, 0.0, 5), 0.97, 1.03) is False
    assert stats.inside(stats.Estimate(1.0, None, None, None, 1), 0.97, 1.03) is None
