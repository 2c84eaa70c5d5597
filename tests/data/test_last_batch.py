import pytest

from pocket.data import describe_last_batch, smallest_map
from pocket.mistake import Mistake


def test_seventeen_samples_in_batches_of_sixteen():
    with pytest.raises(Mistake, match=r"17 samples in batches of 16 .*BatchNorm.*set last_batch: drop"):
        describe_last_batch(17, 16, 1, "keep", smallest_map=1)
    kept = describe_last_batch(17, 16, 1, "keep", smallest_map=4)
    assert kept == "the last batch of each epoch has 1 of 16 samples, and its loss is the mean over those 1"
    assert describe_last_batch(17, 16, 1, "keep", smallest_map=None) == kept
    assert "leaves out 1 of 17 samples" in describe_last_batch(17, 16, 1, "drop", smallest_map=1)


def test_a_micro_batch_of_one_at_the_end_of_a_group():
    with pytest.raises(Mistake, match="drop"):
        describe_last_batch(37, 16, 4, "keep", smallest_map=1)  # 16, 16, then 4 and 1
    assert "5 of 16" in describe_last_batch(37, 16, 2, "keep", smallest_map=1)  # then 5 alone
    with pytest.raises(Mistake, match="larger micro-batches"):
        describe_last_batch(32, 16, 16, "keep", smallest_map=1)


def test_whole_batches():
    assert describe_last_batch(32, 16, 1, "keep", 1) == "32 samples fill 2 batches of 16 exactly"


@pytest.mark.parametrize(
    ("model", "shape", "positions"),
    [("mlp", (8, 8, 1), None), ("simple_cnn", (17, 8, 3), 8), ("resnet", (4, 3, 3), 1), ("resnet", (9, 32, 3), 24)],
)
def test_positions_a_batch_norm_averages_over(model, shape, positions):
    assert smallest_map(model, shape) == positions
