import numpy as np
import pytest

from pocket.data import Batches, augment

from .made import image_set

NOTHING = np.zeros(3, dtype=np.uint8)


def draws(shift=(0, 0), flip=False, centre=None):
    centres = None if centre is None else np.array([centre])
    return augment.Draws(np.array([shift]), np.array([flip]), centres)


def one(x, drawn, fill=NOTHING):
    return augment.gather(x[None], np.array([0]), drawn, 0, fill)[0]


@pytest.fixture
def picture():
    return np.random.default_rng(0).integers(1, 256, (6, 8, 3), dtype=np.uint8)


@pytest.mark.parametrize("row", [-2, 0, 1])
@pytest.mark.parametrize("column", [-1, 0, 2])
def test_crop_is_a_window_of_the_picture_with_black_around(picture, row, column):
    padded = np.pad(picture, ((2, 2), (2, 2), (0, 0)))
    wanted = padded[2 + row : 8 + row, 2 + column : 10 + column]
    np.testing.assert_array_equal(one(picture, draws((row, column))), wanted)


def test_flip_follows_the_crop(picture):
    moved = one(picture, draws((1, 2)))
    np.testing.assert_array_equal(one(picture, draws((1, 2), flip=True)), moved[:, ::-1])


@pytest.mark.parametrize(
    ("centre", "rows", "columns"), [((3, 4), (2, 5), (2, 6)), ((0, 0), (0, 2), (0, 2)), ((5, 7), (4, 6), (5, 8))]
)
def test_cutout_is_a_square_cut_off_at_the_border(picture, centre, rows, columns):
    fill = np.array([1, 128, 255], dtype=np.uint8)
    wanted = picture.copy()
    wanted[slice(*rows), slice(*columns)] = fill
    np.testing.assert_array_equal(one(picture, draws(centre=centre), fill), wanted)


def test_sizes_scale_with_the_picture():
    assert [augment.padding(side) for side in (1, 8, 32, 64, 224)] == [1, 1, 4, 8, 28]
    assert [augment.cutout_side(side) for side in (1, 8, 32, 64, 224)] == [1, 4, 16, 32, 112]


def test_draws_cover_their_whole_range():
    drawn = augment.draw(["crop", "flip", "cutout"], 4000, 32, 16, seed=0, epoch=0)
    assert drawn.shifts[:, 0].min() == -4
    assert drawn.shifts[:, 0].max() == 4
    assert drawn.shifts[:, 1].min() == -2
    assert drawn.shifts[:, 1].max() == 2
    assert 0.45 < drawn.flips.mean() < 0.55
    assert set(drawn.centres[:, 0].tolist()) == set(range(32))
    assert set(drawn.centres[:, 1].tolist()) == set(range(16))


def test_draws_change_with_the_epoch_and_do_not_hang_together():
    names = ["crop", "flip", "cutout"]
    first, second = (augment.draw(names, 4000, 33, 33, seed=0, epoch=epoch) for epoch in (0, 1))
    for kind in ("shifts", "flips", "centres"):
        assert (getattr(first, kind) != getattr(second, kind)).any()
    columns = np.column_stack([first.shifts, first.flips, first.centres]).astype(float)
    assert np.abs(np.corrcoef(columns.T) - np.eye(5)).max() < 0.08


def test_no_pixel_ever_wraps():
    """Every byte that comes out is black, the mean or in the source: no 1 - 2 = 255 and no 200 + 100 = 44."""
    data = image_set(64, channels=3, mean=0.999)
    data.x_train[...] = np.where(data.x_train > 128, 200, 2)
    batches = Batches(data, 16, augmentation=["crop", "flip", "cutout"])
    assert batches.fill.tolist() == [255, 255, 255]
    came = {int(level) for number in range(5) for part in batches(number) for level in np.unique(part.x)}
    assert came == {0, 2, 200, 255}
