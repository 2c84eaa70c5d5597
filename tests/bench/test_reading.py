"""Raw values of small records whose numbers can be worked out by hand."""

import pytest

from pocket.bench.judge import reading
from pocket.bench.judge.curve import CURVES, mean_curve

TRAIN = {
    "values": {
        "updates": {
            "loss": [4.0, 3.0, 2.0, 1.0],
            "samples": [10, 10, 10, 5],
            "data_seconds": [9.0, 0.1, 0.2, 0.1],
            "transfer_seconds": [9.0, 0.1, 0.1, 0.1],
            "compute_seconds": [9.0, 0.8, 0.7, 0.3],
            "warmup": 1,
        },
        "epochs": [
            {"number": 0, "updates": 2, "correct": 30, "total": 100, "loss_sum": 90.0},
            {"number": 1, "updates": 4, "correct": 86, "total": 100, "loss_sum": 50.0},
        ],
    }
}


def test_a_step_is_data_transfer_and_compute_after_warmup():
    assert reading.step_seconds(TRAIN) == pytest.approx([1.0, 1.0, 0.5])
    assert reading.samples_per_second(TRAIN) == pytest.approx([10.0, 10.0, 10.0])


def test_scores_are_those_of_the_last_epoch_and_weighted_by_samples():
    assert reading.accuracy(TRAIN) == [0.86]
    assert reading.test_loss(TRAIN) == [0.5]
    assert reading.final_loss(TRAIN) == pytest.approx([(2.0 * 10 + 1.0 * 5) / 15])


def test_regression_scores():
    record = {"values": {"epochs": [{"total": 50, "squared_error_sum": 5.0, "target_square_sum": 20.0}]}}
    assert reading.r2(record) == [0.75]
    assert reading.test_loss(record) == [0.1]
    assert reading.accuracy(record) == []


def test_ratio_of_each_quad_cancels_a_linear_drift():
    # Side a takes twice as long as b; the machine slows by one tenth a block.
    seconds = {"a": 2.0, "b": 1.0}
    blocks = [
        {"side": side, "step_seconds": [seconds[side] * (1 + 0.1 * n)] * 3} for n, side in enumerate("abbaabbaab")
    ]
    ratios = reading.step_ratios({"values": {"blocks": blocks}})
    assert ratios == pytest.approx([2.0, 2.0])  # two complete quads; the last two blocks are none
    naive = sum(b["step_seconds"][0] for b in blocks[0:1]) / blocks[1]["step_seconds"][0]
    assert naive != pytest.approx(2.0, rel=0.05)


def test_curves_of_an_epoch_and_of_first_updates():
    assert CURVES["loss_curve"].axes["update"](TRAIN) == [(1, 4.0), (2, 3.0), (3, 2.0), (4, 1.0)]
    assert CURVES["loss_curve"].axes["epoch"](TRAIN) == [(1, 3.5), (2, pytest.approx(25 / 15))]
    assert CURVES["accuracy_curve"].axes["epoch"](TRAIN) == [(1, 0.3), (2, 0.86)]
    timeline = {"values": {"memory": {"timeline": [[5.0, 10], [5.5, 30], [7.0, 20]]}}}
    assert CURVES["memory_timeline"].axes["seconds"](timeline) == [(0.0, 10), (25.0, 30), (100.0, 20)]


def test_a_joined_curve_has_a_gap_where_one_seed_has_no_finite_value():
    (x1, first), (x2, second) = mean_curve([[(1, 2.0), (2, None)], [(1, 4.0), (2, 1.0)]])
    assert (x1, first.value, first.n) == (1, 3.0, 2)
    assert (x2, second) == (2, None)
