import numpy as np
import pytest

from pocket.data.split import stratified, uniform


def test_shares_are_kept_and_the_largest_remainder_gets_the_rest():
    y = np.repeat([0, 1, 2], [50, 30, 20])
    assert np.bincount(y[stratified(y, 10, 0)]).tolist() == [5, 3, 2]
    assert np.bincount(y[stratified(y, 11, 0)]).tolist() == [6, 3, 2]  # 5.5, 3.3, 2.2
    assert np.bincount(y[stratified(y, 1, 0)], minlength=3).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "draw", [lambda n, seed: stratified(np.arange(40) % 4, n, seed), lambda n, s: uniform(40, n, s)]
)
def test_draws_are_sorted_distinct_and_follow_the_seed(draw):
    first = draw(20, 1)
    assert (np.diff(first) > 0).all()
    np.testing.assert_array_equal(draw(20, 1), first)
    assert (draw(20, 2) != first).any()
    np.testing.assert_array_equal(draw(40, 1), np.arange(40))
    assert len(draw(0, 1)) == 0
    with pytest.raises(ValueError, match="41 samples"):
        draw(41, 1)
