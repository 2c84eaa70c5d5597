"""Whole nets: they overfit one batch, repeat bit for bit, and stay float32 whatever the settings came as."""

import numpy as np
import pytest

from pocket.engine.nn import Layer, Net
from pocket.engine.ops.linear import Linear
from pocket.engine.tensor import Tape
from pocket.engine.train import Trainer

from .tenfold import SHAPES, UPDATES, WIDTHS, engine_losses, job


def one_batch(model, batch=12):
    """The same images in every update."""
    images = np.random.default_rng(9).integers(0, 256, (1, batch, *SHAPES[model]), dtype=np.uint8)
    return np.repeat(images, UPDATES, axis=0)


@pytest.mark.parametrize("model", WIDTHS)
def test_overfits_one_batch(model):
    a_job = job(model, "adam", dtype="float32", images=one_batch(model), learning_rate=3e-3)
    first = next(a_job.batches(0))
    trainer = Trainer(a_job)
    losses = []
    for _ in range(60):
        losses.append(trainer.accumulate(first.x, first.y, len(first.x)))
        trainer.update()
    assert losses[0] > 1
    assert losses[-1] < 0.05
    tape = Tape()
    logits = trainer.net.forward(tape, first.x).data
    np.testing.assert_array_equal(logits.argmax(axis=1), first.y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("model", WIDTHS)
def test_repeats_bit_for_bit(model, dtype):
    first, second = (engine_losses(job(model, "momentum", dtype=dtype)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_another_seed_gives_another_run():
    assert np.all(engine_losses(job("mlp", seed=3)) != engine_losses(job("mlp", seed=4)))


class Watch:
    """Types of everything that backward passes along."""

    def __init__(self):
        self.types = set()

    def before(self, node, incoming):
        self.types.add(incoming.dtype)
        self.types.update(x.dtype for x in node.saved if isinstance(x, np.ndarray) and x.ndim > 1)

    def after(self, node, outgoing):
        self.types.update(dx.dtype for dx in outgoing if dx is not None)


@pytest.mark.parametrize("optimizer", ["momentum", "adam", "adamw"])
@pytest.mark.parametrize("model", WIDTHS)
def test_numpys_float64_numbers_widen_nothing(model, optimizer):
    wide = {"learning_rate": np.float64(0.1), "weight_decay": np.float64(1e-3), "momentum": np.float64(0.9)}
    a_job = job(model, optimizer, dtype="float32", **wide)
    name = "fc.weight" if model == "resnet" else "fc2.weight"
    a_job.weights[name] = a_job.weights[name] * np.sqrt(2)
    assert a_job.weights[name].dtype == np.float64
    watch = Watch()
    trainer = Trainer(a_job, [watch])
    for number, batch in zip(range(3), a_job.batches(0), strict=False):
        trainer.accumulate(batch.x, batch.y, batch.group_samples)
        trainer.optimizer.learning_rate = np.float64(0.1) / np.float64(number + 1)
        trainer.update()
    float32 = np.dtype(np.float32)
    state = [a for of_one in trainer.optimizer.state_dict()["state"].values() for a in of_one]
    running = [array for name, array in trainer.net.state.items() if "tracked" not in name]
    kept = [*trainer.net.parameters.values(), *trainer.optimizer.gradients.values(), *state, *running]
    assert {array.dtype for array in kept} == {float32}
    assert watch.types <= {float32, np.dtype(np.uint8), np.dtype(np.bool_)}
    assert trainer.net.predict(next(a_job.batches(0)).x).dtype == float32


def test_a_float64_batch_is_cast_to_the_nets_type():
    trainer = Trainer(job("mlp", dtype="float32"))
    x = np.random.default_rng(0).uniform(0, 255, (4, *SHAPES["mlp"]))
    assert x.dtype == np.float64
    assert trainer.net.forward(Tape(), x).data.dtype == np.float32


def test_pixels_do_not_wrap():
    trainer = Trainer(job("mlp", dtype="float32"))
    standardise = trainer.net.layers[0].operator
    x = np.zeros((1, 1, 3, 3), np.uint8)
    x[0, 0, 1], x[0, 0, 2] = 1, 255
    y, _ = standardise.forward((x,), {}, {}, None, True)
    wanted = (x.astype(np.float64) / 255 - [0.4, 0.5, 0.6]) / [0.2, 0.25, 0.3]
    np.testing.assert_allclose(y, wanted, rtol=1e-6)
    assert y.dtype == np.float32


@pytest.mark.parametrize("name", ["", "fc"])
def test_two_layers_of_one_name_are_refused(name):
    with pytest.raises(ValueError, match=f"two layers have a parameter '{name + '.' if name else ''}weight'"):
        Net([Layer(Linear(4, 3), name), Layer(Linear(3, 2), name)])


def test_labels_outside_the_classes_stop_training_before_an_update():
    trainer = Trainer(job("mlp", dtype="float32"))
    before = {name: w.copy() for name, w in trainer.net.parameters.items()}
    x = np.zeros((4, *SHAPES["mlp"]), np.uint8)
    with pytest.raises(ValueError, match=r"row 2 is -100.*0\.\.6"):
        trainer.accumulate(x, np.array([0, 1, -100, -100]), 4)
    for name, w in trainer.net.parameters.items():
        np.testing.assert_array_equal(w, before[name])
