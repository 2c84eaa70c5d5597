"""Optimizers against PyTorch's, the field's values, both spellings of accumulation, and exact resume."""

import numpy as np
import pytest
import torch

from pocket.engine import memory, optim

SETTINGS = {
    "sgd": ("sgd", {}),
    "sgd decay": ("sgd", {"weight_decay": 0.1}),
    "momentum": ("sgd", {"momentum": 0.9}),
    "momentum decay": ("sgd", {"momentum": 0.9, "weight_decay": 0.05}),
    "dampening": ("sgd", {"momentum": 0.9, "dampening": 0.5}),
    "nesterov": ("sgd", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "adam": ("adam", {}),
    "adam decay": ("adam", {"weight_decay": 0.1}),
    "adamw": ("adamw", {"weight_decay": 0.3}),
}
TORCH = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def one(rule, learning_rates, gradients, start=1.0):
    """The parameter, one number, after each update."""
    p = np.array([start])
    optimizer = optim.Optimizer({"p": p}, rule, learning_rates[0])
    values = []
    for learning_rate, gradient in zip(learning_rates, gradients, strict=True):
        optimizer.learning_rate = learning_rate
        optimizer.zero_grad()
        optimizer.gradients["p"] += gradient
        optimizer.step()
        values.append(p[0])
    return values


@pytest.mark.parametrize(
    ("rule", "learning_rates", "gradients", "start", "wanted"),
    [
        (optim.Adam(epsilon=1e-2), [0.1] * 3, [1e-3] * 3, 1, [0.9909091, 0.9818182, 0.9727273]),
        (optim.adamw(weight_decay=0.5), [0.1] * 2, [0, 0], 2, [1.9, 1.805]),
        (optim.Adam(weight_decay=0.5), [0.1] * 2, [0, 0], 2, [1.900000001, 1.8001665]),
        (optim.SGD(momentum=0.9), [0.1, 0.1, 0.01], [1] * 3, 1, [0.9, 0.71, 0.6829]),
        (optim.SGD(momentum=0.9, nesterov=True), [0.1, 0.1, 0.01], [1] * 3, 1, [0.81, 0.539, 0.50461]),
        (optim.SGD(momentum=0.9, dampening=0.5), [0.1] * 3, [1] * 3, 1, [0.9, 0.76, 0.584]),
    ],
)
def test_conventions_of_the_field(rule, learning_rates, gradients, start, wanted):
    assert one(rule, learning_rates, gradients, float(start)) == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_ten_updates_agree_with_pytorch(setting, dtype, tolerance):
    name, options = SETTINGS[setting]
    rng = np.random.default_rng(1)
    start = {"a": rng.standard_normal((3, 5)).astype(dtype), "b": rng.standard_normal(40_000).astype(dtype)}
    ours = {key: value.copy() for key, value in start.items()}
    theirs = {key: torch.tensor(value, requires_grad=True) for key, value in start.items()}
    optimizer = optim.optimizer(name, ours, 0.01, **options)
    reference = TORCH[name](theirs.values(), lr=0.01, **({"weight_decay": 0} | options))
    for _ in range(10):
        optimizer.zero_grad()
        for key, tensor in theirs.items():
            gradient = rng.standard_normal(tensor.shape).astype(dtype)
            tensor.grad = torch.tensor(gradient)
            optimizer.gradients[key] += gradient
        optimizer.step()
        reference.step()
    for key, tensor in theirs.items():
        assert ours[key].dtype == dtype
        np.testing.assert_allclose(ours[key], tensor.detach().numpy(), rtol=tolerance, atol=tolerance)


def test_default_weight_decay_is_pytorchs():
    assert optim.adamw().weight_decay == torch.optim.AdamW([torch.zeros(1)]).defaults["weight_decay"]
    assert optim.optimizer("adamw", {}, 0.1).rule.weight_decay == 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_float64_learning_rate_widens_nothing(setting):
    name, options = SETTINGS[setting]
    p = {"p": np.ones(10, np.float32)}
    wide = {key: np.float64(value) if isinstance(value, float) else value for key, value in options.items()}
    optimizer = optim.optimizer(name, p, np.float64(0.1), **wide)
    for _ in range(3):
        optimizer.gradients["p"] += 1
        optimizer.step()
        optimizer.learning_rate = np.float64(0.05) * optimizer.learning_rate
    state = [array for buffers in optimizer.state_dict()["state"].values() for array in buffers]
    assert {array.dtype for array in [p["p"], optimizer.gradients["p"], *state]} == {np.dtype(np.float32)}
    assert type(optimizer.learning_rate) is float


def test_buffers_come_from_the_pool_in_their_categories():
    pool = memory.Pool(capacity_bytes=1 << 20)
    with memory.use(pool):
        kept = optim.optimizer("adam", {"p": np.zeros(1024, np.float32)}, 0.1)
    assert pool.category_bytes["gradients"] == 4096
    assert pool.category_bytes["optimizer"] == 8192
    del kept
    assert pool.live_bytes == 0


def test_updates_only_at_the_kth_micro_batch():
    p, history = np.array([1.0]), []
    optimizer = optim.Optimizer({"p": p}, optim.SGD(momentum=0.9), 0.1, accumulation_steps=2)
    for gradient in (1.0, 2.0, 3.0, 4.0):
        optimizer.gradients["p"] += gradient
        optimizer.step()
        optimizer.zero_grad()
        history.append(p[0])
    assert history[0] == 1.0
    assert history[1] == history[2] == pytest.approx(1 - 0.1 * 1.5)
    assert history[3] == pytest.approx(1 - 0.1 * 1.5 - 0.1 * (0.9 * 1.5 + 3.5))
    assert optimizer.updates == 2


def test_zero_grad_inside_a_group_does_nothing():
    p = np.array([1.0])
    optimizer = optim.Optimizer({"p": p}, optim.SGD(), 1.0, accumulation_steps=2)
    optimizer.gradients["p"] += 3
    assert not optimizer.step()
    optimizer.zero_grad()
    assert optimizer.gradients["p"] == 3
    optimizer.gradients["p"] += 1
    assert optimizer.step()
    optimizer.zero_grad()
    assert optimizer.gradients["p"] == 0
    assert p == -1


@pytest.mark.parametrize("setting", ["sgd", "momentum", "nesterov", "adam", "adamw"])
@pytest.mark.parametrize("stop", [3, 4])  # between two updates of a group of two, and right after one
def test_resume_is_bitwise_exact(setting, stop):
    name, options = SETTINGS[setting]
    gradients = np.random.default_rng(0).standard_normal((8, 5)).astype(np.float32)

    def feed(optimizer, rows):
        for row in rows:
            optimizer.gradients["p"] += row
            optimizer.step()
            optimizer.zero_grad()

    whole, halves = np.ones(5, np.float32), np.ones(5, np.float32)
    make = lambda p: optim.optimizer(name, {"p": p}, 0.1, accumulation_steps=2, **options)  # noqa: E731 two uses below
    feed(make(whole), gradients)
    first = make(halves)
    feed(first, gradients[:stop])
    second = make(halves)
    second.load_state_dict(first.state_dict())
    feed(second, gradients[stop:])
    np.testing.assert_array_equal(whole, halves)


def test_moments_and_step_count_survive_a_resume():
    p = np.array([1.0])
    first = optim.Optimizer({"p": p}, optim.Adam(), 0.1)
    for _ in range(3):
        first.gradients["p"][...] = 1
        first.step()
    second = optim.Optimizer({"p": p}, optim.Adam(), 0.1)
    second.load_state_dict(first.state_dict())
    second.gradients["p"][...] = -2
    second.step()
    assert p[0] == pytest.approx(0.6903534168, rel=1e-9)


def test_state_of_another_rule_or_model_is_refused():
    saved = optim.optimizer("adam", {"a": np.ones(1)}, 0.1).state_dict()
    with pytest.raises(ValueError, match=r"Adam.*wanted.*SGD"):
        optim.optimizer("sgd", {"a": np.ones(1)}, 0.1).load_state_dict(saved)
    with pytest.raises(ValueError, match=r"\['a', 'b'\]"):
        optim.optimizer("adam", {"b": np.ones(1)}, 0.1).load_state_dict(saved)


def of_two(first, second, micro_batches=1):
    """An optimizer of two parameters in groups of three, after three groups and `micro_batches` more."""
    made = optim.Optimizer({"a": np.ones(first), "b": np.ones(second)}, optim.Adam(), 0.1, accumulation_steps=3)
    for _ in range(9 + micro_batches):
        for g in made.gradients.values():
            g += 1
        made.step()
        made.zero_grad()
    return made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda saved: saved.update(of_two(2, 4).state_dict()),
            r"b has shapes \[\(4,\), \(4,\), \(4,\)\]; wanted \[\(1,\)",
        ),
        (lambda saved: saved["state"].update(b=saved["state"]["b"][:1]), "state of b has shapes"),
        (lambda saved: saved["gradients"].update(b=np.ones(7)), "state of b has shapes"),
        (lambda saved: saved["gradients"].pop("b"), r"differ in parameters \['b'\]"),
    ],
)
def test_state_that_does_not_fit_changes_nothing(change, message):
    saved = of_two(2, 1).state_dict()
    change(saved)
    optimizer = of_two(2, 1, micro_batches=0)
    optimizer.learning_rate = 0.7
    before = optimizer.state_dict()
    with pytest.raises(ValueError, match=message):
        optimizer.load_state_dict(saved)
    np.testing.assert_equal(optimizer.state_dict(), before)
    assert not any(g.any() for g in optimizer.gradients.values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optim.optimizer("adagrad", {}, 0.1), "adagrad.*sgd, adam, adamw"),
        (lambda: optim.SGD(nesterov=True), "Nesterov"),
        (lambda: optim.SGD(momentum=0.9, dampening=0.1, nesterov=True), "dampening 0"),
        (lambda: optim.optimizer("sgd", {}, 0.1, accumulation_steps=0), "accumulation_steps is 0"),
        (lambda: optim.optimizer("sgd", {"w": np.ones((2, 3)).T}, 0.1), "parameter w.*C-contiguous"),
        (lambda: optim.optimizer("sgd", {"w": np.ones(3, int)}, 0.1), "parameter w is int64"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
