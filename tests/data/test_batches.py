import numpy as np
import pytest

from pocket.data import Batches
from pocket.mistake import Mistake

from .made import image_set, table_set

ALL = ["crop", "flip", "cutout"]


def epoch(batches: Batches, number: int) -> tuple[np.ndarray, np.ndarray]:
    parts = list(batches(number))
    return np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts])


def test_an_epoch_is_every_sample_once_in_another_order():
    data = image_set(50)
    batches = Batches(data, 16)
    first, second = epoch(batches, 0)[1], epoch(batches, 1)[1]
    assert sorted(first) == sorted(second) == list(range(50))
    assert (first != second).any()
    x, y = epoch(batches, 0)
    np.testing.assert_array_equal(x, data.x_train[y])


def test_groups_and_micro_batches_keep_their_own_sizes():
    batches = Batches(image_set(30), batch_size=12, accumulation_steps=3)
    shape = [(len(part.x), part.group_samples, part.ends_group) for part in batches(0)]
    whole = [(4, 12, False), (4, 12, False), (4, 12, True)]
    assert shape == [*whole, *whole, (4, 6, False), (2, 6, True)]
    assert batches.updates_per_epoch == 3


def test_the_last_group_can_be_left_out():
    batches = Batches(image_set(30), batch_size=12, last_batch="drop")
    assert [len(part.x) for part in batches(0)] == [12, 12]
    assert batches.updates_per_epoch == 2


def test_a_set_smaller_than_a_batch_is_one_small_group():
    batches = Batches(image_set(5), batch_size=16, accumulation_steps=4)
    assert [(len(part.x), part.group_samples, part.ends_group) for part in batches(0)] == [(4, 5, False), (1, 5, True)]
    with pytest.raises(Mistake, match="batch_size 16 is more than the 5 training samples"):
        Batches(image_set(5), batch_size=16, last_batch="drop")


@pytest.mark.parametrize("augmentation", [[], ALL])
@pytest.mark.parametrize(("batch_size", "steps"), [(16, 4), (7, 1), (50, 2), (64, 1)])
def test_draws_do_not_depend_on_batches_or_micro_batches(augmentation, batch_size, steps):
    data = image_set(50)
    x, y = epoch(Batches(data, 16, 1, seed=3, augmentation=augmentation), 2)
    x_other, y_other = epoch(Batches(data, batch_size, steps, seed=3, augmentation=augmentation), 2)
    np.testing.assert_array_equal(y_other, y)
    np.testing.assert_array_equal(x_other, x)


def test_draws_follow_seed_and_epoch():
    data = image_set(50)
    x, y = epoch(Batches(data, 16, seed=1, augmentation=ALL), 0)
    for seed, number in ((2, 0), (1, 1)):
        x_other, y_other = epoch(Batches(data, 16, seed=seed, augmentation=ALL), number)
        assert (y_other != y).any()
        assert (x_other[np.argsort(y_other)] != x[np.argsort(y)]).any()


def test_another_augmentation_leaves_the_order_and_the_other_draws():
    data = image_set(50)
    y = epoch(Batches(data, 16), 0)[1]
    flipped, y_flip = epoch(Batches(data, 16, augmentation=["flip"]), 0)
    both, y_both = epoch(Batches(data, 16, augmentation=["flip", "cutout"]), 0)
    np.testing.assert_array_equal(y_flip, y)
    np.testing.assert_array_equal(y_both, y)
    untouched = both != round(0.3 * 255)
    np.testing.assert_array_equal(both[untouched], flipped[untouched])


def test_rows_come_as_they_are():
    data = table_set(10)
    x, y = epoch(Batches(data, 4), 0)
    assert x.dtype == y.dtype == np.float32
    assert y.shape == (10, 1)
    np.testing.assert_array_equal(x, data.x_train[y[:, 0].astype(int)])


def test_serving_leaves_the_source_alone():
    data = image_set(20)
    before = data.x_train.copy()
    for part in Batches(data, 8, augmentation=ALL)(0):
        part.x[:] = 0
        part.y[:] = 0
    np.testing.assert_array_equal(data.x_train, before)
    np.testing.assert_array_equal(data.y_train, np.arange(20))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch_size": 10, "accumulation_steps": 4}, "batch_size 10 .* accumulation_steps 4"),
        ({"batch_size": 0}, "batch_size 0"),
        ({"accumulation_steps": 0}, "accumulation_steps 0"),
        ({"augmentation": ["crop", "rotate"]}, "'rotate' is not known; wanted a list of crop, flip, cutout"),
        ({"augmentation": ["flip", "flip"]}, "names one twice"),
        ({"last_batch": "pad"}, "last_batch is 'pad', wanted keep or drop"),
    ],
)
def test_what_does_not_fit_is_said(change, words):
    with pytest.raises(Mistake, match=words):
        Batches(image_set(20), **{"batch_size": 8, **change})


def test_rows_cannot_be_flipped():
    with pytest.raises(Mistake, match="for pictures"):
        Batches(table_set(20), 4, augmentation=["flip"])
