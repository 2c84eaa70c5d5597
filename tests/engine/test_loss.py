"""Losses: huge logits, bad labels, empty batches, agreement with PyTorch."""

import numpy as np
import pytest
import torch

from pocket.engine.ops.loss import CrossEntropy, MeanSquaredError


def run(operator, *inputs, scale=1.0):
    """The loss and the gradient of the first input, started from `scale`."""
    loss, saved = operator.forward(inputs, {}, {}, None, True)
    return loss, operator.backward(np.asarray(scale, loss.dtype), saved, {}, {})[0]


@pytest.mark.parametrize(
    ("logits", "label", "loss", "gradient"),
    [
        ([1e8, 1e8], 1, 0.693147, [0.5, -0.5]),
        ([-431, 279, 427], 0, 858, [-1, 0, 1]),
        ([-1047, -981, 1891], 0, 2938, [-1, 0, 1]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_logits(logits, label, loss, gradient, dtype):
    value, dx = run(CrossEntropy(), np.array([logits], dtype), np.array([label]))
    assert value == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(dx[0], gradient, atol=1e-6)
    assert value.dtype == dx.dtype == dtype


def test_the_maximum_is_each_rows_own():
    logits = np.array([[1000, 999], [0, 1]], np.float32)
    _, (softmax, _) = CrossEntropy().forward((logits, np.array([0, 1])), {}, {}, None, True)
    np.testing.assert_allclose(softmax, [[0.731059, 0.268941], [0.268941, 0.731059]], rtol=1e-5)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (np.array([0, 1, 0, 1, -99]), ["row 4", "-99"]),
        (np.array([0, 1, 0, 1, 2]), ["row 4", " 2 "]),
        (np.array([0, -1, 0, 1, 1]), ["row 1", "-1"]),
        (np.array([0, 1, 0, 1, 1.0]), ["row 0", "float64"]),
        (np.array([False, True, False, True, True]), ["row 0", "bool"]),
        (np.array([[0], [1], [0], [1], [1]]), ["row 0", "(5, 1)"]),
        (np.array([0, 1]), ["row", "(2,)"]),
        (np.full(5, -100), ["row 0", "-100", "5 rows"]),
    ],
)
def test_bad_labels_name_the_row_and_the_range(labels, said):
    with pytest.raises(ValueError, match=r"0\.\.1") as caught:
        CrossEntropy().forward((np.zeros((5, 2)), labels), {}, {}, None, True)
    for part in said:
        assert part in str(caught.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64])
def test_every_integer_type_of_label_works(dtype):
    loss, _ = run(CrossEntropy(), np.zeros((3, 4)), np.array([0, 3, 1], dtype))
    assert loss == pytest.approx(np.log(4))


def test_an_empty_batch_gives_zero_and_gradient_zero():
    loss, dx = run(CrossEntropy(), np.zeros((0, 3)), np.zeros(0, np.int64))
    assert loss == 0
    assert dx.shape == (0, 3)
    loss, dx = run(MeanSquaredError(), np.zeros((0, 1)), np.zeros((0, 1)))
    assert loss == 0
    assert dx.shape == (0, 1)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_cross_entropy_agrees_with_pytorch(dtype, tolerance):
    rng = np.random.default_rng(0)
    logits, labels = (5 * rng.standard_normal((64, 10))).astype(dtype), rng.integers(0, 10, 64)
    x = torch.tensor(logits, requires_grad=True)
    wanted = torch.nn.functional.cross_entropy(x, torch.tensor(labels))
    (0.25 * wanted).backward()
    loss, dx = run(CrossEntropy(), logits, labels, scale=0.25)
    np.testing.assert_allclose(loss, wanted.item(), rtol=tolerance)
    np.testing.assert_allclose(dx, x.grad.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_mean_squared_error_agrees_with_pytorch(dtype, tolerance):
    rng = np.random.default_rng(0)
    outputs, targets = rng.standard_normal((64, 3)).astype(dtype), rng.standard_normal((64, 3)).astype(dtype)
    x = torch.tensor(outputs, requires_grad=True)
    wanted = torch.nn.functional.mse_loss(x, torch.tensor(targets))
    (0.25 * wanted).backward()
    loss, dx = run(MeanSquaredError(), outputs, targets, scale=0.25)
    np.testing.assert_allclose(loss, wanted.item(), rtol=tolerance)
    np.testing.assert_allclose(dx, x.grad.numpy(), rtol=tolerance, atol=tolerance)
    assert dx.dtype == dtype


def test_targets_that_would_broadcast_are_refused():
    with pytest.raises(ValueError, match=r"\(4,\).*\(4, 1\)"):
        MeanSquaredError().forward((np.zeros((4, 1)), np.zeros(4)), {}, {}, None, True)


@pytest.mark.parametrize("operator", [CrossEntropy(), MeanSquaredError()])
def test_a_float64_target_or_scale_widens_nothing(operator):
    target = np.array([0, 1]) if isinstance(operator, CrossEntropy) else np.zeros((2, 2), np.float64)
    loss, saved = operator.forward((np.ones((2, 2), np.float32), target), {}, {}, None, True)
    dx = operator.backward(np.asarray(np.float64(0.3)), saved, {}, {})[0]
    assert loss.dtype == dx.dtype == np.float32


@pytest.mark.parametrize("operator", [CrossEntropy(), MeanSquaredError()])
def test_mean_of_a_large_float32_batch_is_that_of_its_parts(operator):
    n, parts = 1 << 16, 64
    rng = np.random.default_rng(0)
    if isinstance(operator, CrossEntropy):
        x, target = rng.standard_normal((n, 3)).astype(np.float32), rng.integers(0, 3, n)
    else:
        x, target = (1 + rng.random((n, 3))).astype(np.float32), np.zeros((n, 3), np.float32)
    whole, _ = operator.forward((x, target), {}, {}, None, True)
    pieces = zip(np.split(x, parts), np.split(target, parts), strict=True)
    means = [np.float64(operator.forward(piece, {}, {}, None, True)[0]) for piece in pieces]
    exact = operator.forward((x.astype(np.float64), target.astype(target.dtype)), {}, {}, None, True)[0]
    assert whole == pytest.approx(np.mean(means), rel=1e-7)
    assert whole == pytest.approx(exact, rel=1e-7)
