"""Whole nets: the events of training, accumulation, prediction, weight files, and that every array is the pool's."""

import tracemalloc
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from pocket.contract import BatchReady, Epoch, Job, MicroBatch, Step, Transferred
from pocket.engine import gradcheck, memory, weights
from pocket.engine.initialise import initial_weights
from pocket.engine.kernels import cpu_convolution, threads
from pocket.engine.models import MODELS, model
from pocket.engine.ops.conv import Conv2d
from pocket.engine.tensor import Tape
from pocket.engine.train import Trainer, train, warm_up

from .tenfold import table_job

SHAPES = {"mlp": (20, 20, 3), "simple_cnn": (24, 24, 3), "resnet": (16, 16, 3)}
WIDTHS = {"mlp": 1.0, "simple_cnn": 0.5, "resnet": 0.25}


def batch(x, y, group_samples=None, ends_group=True):
    return MicroBatch(x, y, group_samples or len(x), ends_group)


def job_of(name, batches, updates, outputs=5, **settings):
    """A classification of uint8 images."""
    shape, width = SHAPES[name], WIDTHS[name]
    settings = {"model": name, "width": width, "batch_size": 32, "threads": 2, "learning_rate": 0.01, **settings}
    initial = initial_weights(name, shape, outputs, width, "he", 0)
    mean, std = np.full(3, 0.5, np.float32), np.full(3, 0.25, np.float32)
    return Job(settings, initial, lambda epoch: iter(batches), updates, shape, outputs, "classification", mean, std)


def images(name, count, outputs=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, *SHAPES[name]), dtype=np.uint8), rng.integers(0, outputs, count)


def line_job():
    """w x for y = 2 x + 1, x = 1..6 one at a time, groups of four: of 4 and of 2."""
    x = np.arange(1, 7, dtype=np.float32).reshape(-1, 1)
    y = 2 * x + 1
    parts = [batch(x[i : i + 1], y[i : i + 1], 4 if i < 4 else 2, i in (3, 5)) for i in range(6)]
    settings = {"model": "mlp", "width": 0.001, "momentum": 0.0, "learning_rate": 0.01, "dtype": "float64"}
    # a mlp one unit wide, that passes positive values on: its outer weights are 1 and stay so in the test
    ones = {f"fc{i}.weight": np.ones((1, 1), np.float32) for i in (1, 2, 3)}
    initial = ones | {f"fc{i}.bias": np.zeros(1, np.float32) for i in (1, 2, 3)}
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    return Job(settings, initial, lambda epoch: iter(parts), 2, (1,), 1, "regression", zero, one)


class TestEvents:
    def test_order_is_the_contracts(self):
        x, y = images("mlp", 12)
        parts = [batch(x[:4], y[:4], 8, False), batch(x[4:8], y[4:8], 8), batch(x[8:], y[8:])]
        events = [type(event) for event in train(job_of("mlp", parts, 2, epochs=2))]
        arrived = [BatchReady, Transferred]
        assert events == ([*arrived, *arrived, Step, *arrived, Step, Epoch]) * 2

    def test_step_and_epoch_say_what_they_are(self):
        x, y = images("mlp", 12)
        parts = [batch(x[:8], y[:8]), batch(x[8:], y[8:])]
        events = list(train(job_of("mlp", parts, 2, epochs=2)))
        assert [event.samples for event in events if isinstance(event, Step)] == [8, 4, 8, 4]
        assert [event.number for event in events if isinstance(event, Epoch)] == [0, 1]
        assert all(np.isfinite(float(event.loss)) for event in events if isinstance(event, Step))

    def test_max_updates_ends_training_in_the_middle_of_an_epoch(self):
        x, y = images("mlp", 4)
        events = list(train(job_of("mlp", [batch(x, y)] * 3, 3, epochs=5, max_updates=4)))
        assert sum(isinstance(event, Step) for event in events) == 4
        assert [event.number for event in events if isinstance(event, Epoch)] == [0, 1]

    @pytest.mark.parametrize("name", MODELS)
    def test_diverging_run_goes_on_and_its_loss_says_so(self, name):
        x, y = images(name, 64)
        events = list(train(job_of(name, [batch(x, y)] * 12, 12, learning_rate=1e12)))
        losses = [event.loss for event in events if isinstance(event, Step)]
        assert len(losses) == 12
        assert not np.isfinite(losses[-1]) or losses[-1] > 1e6
        assert events[-1].predict(x).shape == (64, 5)

    def test_precision_it_does_not_have_is_named(self):
        with pytest.raises(ValueError, match="amp"):
            next(train(job_of("mlp", [], 0, precision="amp")))

    @pytest.mark.parametrize(("key", "value"), [("model", "vgg"), ("optimizer", "lion"), ("schedule", "warm")])
    def test_unknown_name_lists_the_known(self, key, value):
        job = job_of("mlp", [], 0)
        job.settings[key] = value
        with pytest.raises(ValueError, match=f"{value}.*wanted one of"):
            list(train(job))


class TestLearning:
    def test_schedule_sets_the_rate_of_each_epoch(self):
        x, y = images("mlp", 8)
        job = job_of("mlp", [batch(x, y)], 1, epochs=4, schedule="step", momentum=0.0)
        fc3 = []
        for event in train(job):
            if isinstance(event, Epoch):
                fc3.append(event.predict(x))
        moved = [np.abs(b - a).max() for a, b in pairwise(fc3)]
        assert moved[1] < 0.3 * moved[0]  # the third epoch, from half of four on, learns at a tenth of the rate


class TestAccumulation:
    """Groups of 4 and of 2; the last one is divided by its own size."""

    def test_groups_equal_the_large_batches(self):
        small = [event.loss for event in train(line_job()) if isinstance(event, Step)]
        x = np.arange(1, 7, dtype=np.float32).reshape(-1, 1)
        large = [batch(x[:4], 2 * x[:4] + 1), batch(x[4:], 2 * x[4:] + 1)]
        whole = replace(line_job(), batches=lambda epoch: iter(large))
        np.testing.assert_allclose(small, [event.loss for event in train(whole) if isinstance(event, Step)], rtol=1e-12)


class TestPrediction:
    @pytest.mark.parametrize("name", MODELS)
    def test_evaluation_changes_nothing_and_does_not_depend_on_the_batch(self, name):
        x, y = images(name, 40)
        for event in train(job_of(name, [batch(x, y)] * 2, 2)):
            if isinstance(event, Epoch):
                whole = event.predict(x)
                single = np.concatenate([event.predict(x[i : i + 1]) for i in range(40)])
                assert event.predict(x[:0]).shape == (0, 5)
                again = event.predict(x)
        assert memory.owner(whole) is None
        np.testing.assert_array_equal(whole, again)
        np.testing.assert_allclose(whole, single, rtol=1e-4, atol=1e-5)

    def test_inputs_may_be_a_read_only_file(self, tmp_path):
        x, y = images("simple_cnn", 20)
        np.save(tmp_path / "x.npy", x)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        outputs = []
        for source in (x, mapped):
            for event in train(job_of("simple_cnn", [batch(source[:16], y[:16])], 1)):
                if isinstance(event, Epoch):
                    outputs.append(event.predict(source))
        np.testing.assert_array_equal(*outputs)
        assert len(cpu_convolution.convolve_images.translated().signatures) <= 4  # pixels and maps, in two types


class TestWeights:
    @pytest.mark.parametrize(
        ("name", "parameters"), [("mlp", 1_581_898), ("simple_cnn", 1_143_690), ("resnet", 4_622_410)]
    )
    def test_counts_are_the_articles(self, name, parameters):
        with memory.use(memory.Pool()):
            net = model(name, (64, 64, 3), 10)
            assert sum(array.size for array in net.parameters.values()) == parameters

    @pytest.mark.parametrize("name", MODELS)
    def test_file_restores_every_bit(self, name, tmp_path):
        x, y = images(name, 8)
        with memory.use(memory.Pool()):
            trainer = Trainer(job_of(name, [], 0))
            trainer.accumulate(x, y, 8)
            trainer.update()
            weights.save(trainer.net, tmp_path / "net.npz")
            other = Trainer(job_of(name, [], 0))
            weights.restore(other.net, tmp_path / "net.npz")
            np.testing.assert_array_equal(trainer.predict(x), other.predict(x))
        assert [path.name for path in tmp_path.iterdir()] == ["net.npz"]

    def test_failing_save_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "net.npz"
        with memory.use(memory.Pool()):
            net = model("mlp", (4,), 2)
            weights.save(net, path)
            before = path.read_bytes()

            def half(file, **arrays):
                file.write(b"half")
                raise OSError("disk full")

            monkeypatch.setattr(np, "savez", half)
            with pytest.raises(OSError, match="disk full"):
                weights.save(net, path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda arrays: arrays.pop("fc2.bias"), r"lack \['fc2.bias'\]"),
            (lambda arrays: arrays.update(fc9=np.zeros(1)), r"\['fc9'\] too many"),
            (lambda arrays: arrays.update({"fc2.bias": np.zeros(3)}), r"fc2.bias has shape \(3,\); wanted \(64,\)"),
        ],
    )
    def test_wrong_weights_change_nothing(self, change, message):
        with memory.use(memory.Pool()):
            net = model("mlp", (4,), 2)
            arrays = {name: np.ones_like(array) for name, array in weights.export(net).items()}
            change(arrays)
            with pytest.raises(ValueError, match=message):
                weights.load(net, arrays)
            assert not any(array.any() for array in net.parameters.values())


OPTIMIZERS = {
    "sgd": {"optimizer": "sgd", "momentum": 0.0},
    "momentum": {"optimizer": "sgd", "momentum": 0.9},
    "adam": {"optimizer": "adam"},
    "adamw": {"optimizer": "adamw", "weight_decay": 0.01},
}


class Elsewhere:
    """The most bytes at once that one forward, one backward or one update took outside the pool."""

    def __init__(self, monkeypatch):
        self.took = []
        apply = Tape.apply
        monkeypatch.setattr(Tape, "apply", lambda *operands, **more: self.during(lambda: apply(*operands, **more)))

    def during(self, work):
        self.start()
        result = work()
        self.took.append(tracemalloc.get_traced_memory()[1] - self.held)
        return result

    def start(self):
        tracemalloc.reset_peak()
        self.held = tracemalloc.get_traced_memory()[0]

    def before(self, node, incoming):
        self.start()

    def after(self, node, outgoing):
        self.took.append(tracemalloc.get_traced_memory()[1] - self.held)


def trainer_of(name, **settings):
    job = job_of(name, [], 0, **settings)
    threads.set_count(2)
    return Trainer(job)


BUFFER = 8192 * 4  # bytes that NumPy works with inside one function, whatever the arrays' size; twice that in float64


def took_elsewhere(work):
    """The most bytes at once that Python's own allocator gave; the second time, when everything is warm."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def table_of(rows):
    """A regression of `rows` float32 rows in float64, so that the targets have to be cast, too."""
    x = np.random.default_rng(0).standard_normal((rows, 3), dtype=np.float32)
    return table_job("adam"), x, x.sum(axis=1, keepdims=True)


def classification_of(rows):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (rows, 4, 4, 3), dtype=np.uint8)
    job = replace(
        job_of("mlp", [], 0), weights=initial_weights("mlp", (4, 4, 3), 5, 1.0, "he", 0), input_shape=(4, 4, 3)
    )
    return job, x, rng.integers(0, 5, rows)


class TestPool:
    @pytest.mark.parametrize("optimizer", OPTIMIZERS)
    @pytest.mark.parametrize("name", MODELS)
    def test_no_array_of_a_step_comes_from_elsewhere(self, name, optimizer, monkeypatch):
        x, y = images(name, 64)
        with memory.use(memory.Pool()) as pool:
            trainer = trainer_of(name, **OPTIMIZERS[optimizer])
            for _ in range(2):
                trainer.accumulate(x, y, 64)
                trainer.update()
            pool.reset_peak()
            reserved = pool.reserved_bytes
            watch = Elsewhere(monkeypatch)
            trainer.observers.append(watch)
            tracemalloc.start()
            try:
                trainer.accumulate(x, y, 64)
                watch.during(trainer.update)
            finally:
                tracemalloc.stop()
            assert len(watch.took) > 2 * 6  # a forward and a backward of each layer
            assert max(watch.took) < 64 * 1024
            assert pool.peak_bytes > 1 << 20
            assert pool.reserved_bytes == reserved

    @pytest.mark.parametrize(("make", "rows"), [(table_of, 20_000), (classification_of, 10_000)])
    def test_no_array_of_a_large_batch_comes_from_elsewhere(self, make, rows):
        job, x, y = make(rows)
        with memory.use(memory.Pool()):
            threads.set_count(2)
            trainer = Trainer(job)
            took = took_elsewhere(lambda: (trainer.accumulate(x, y, rows), trainer.update()))
        assert took < 2.5 * BUFFER

    @pytest.mark.parametrize("groups", [1, 3])
    def test_no_array_of_a_grouped_convolution_comes_from_elsewhere(self, groups):
        operator = Conv2d(96, 384, 3, padding=1, groups=groups)
        rng = np.random.default_rng(0)
        with memory.use(memory.Pool()):
            parameters = gradcheck.draw_parameters(operator, rng, np.float32)
            gradients = {name: np.zeros_like(array) for name, array in parameters.items()}
            x = rng.standard_normal((2, 9, 9, 96)).astype(np.float32)
            y, saved = operator.forward((x,), parameters, {}, None, True)
            assert took_elsewhere(lambda: operator.forward((x,), parameters, {}, None, True)) < 4 * BUFFER
            assert took_elsewhere(lambda: operator.backward(y, saved, parameters, gradients)) < 4 * BUFFER

    @pytest.mark.parametrize("name", MODELS)
    def test_hundred_steps_leak_nothing(self, name):
        x, y = images(name, 4)
        with memory.use(memory.Pool()) as pool:
            trainer = trainer_of(name)
            losses, live = [], []
            for step in range(100):
                losses.append(trainer.accumulate(x, y, 4))
                trainer.update()
                if step in (9, 99):
                    live.append((pool.live_bytes, pool.reserved_bytes))
            assert live[0] == live[1]
            assert len(losses) == 100

    def test_account_names_the_five_parts(self):
        x, y = images("simple_cnn", 64)
        with memory.use(memory.Pool()) as pool:
            trainer = trainer_of("simple_cnn", optimizer="adam")
            held = sum(array.nbytes for array in trainer.net.parameters.values())
            trainer.accumulate(x, y, 64)
            peak = pool.peak_category_bytes
            rest = pool.category_bytes
        assert held <= peak["weights"] < held + 10_000
        assert held <= peak["gradients"] < held + 10_000
        assert 2 * held <= peak["optimizer"] < 2 * held + 10_000
        # convolution outputs, each pooled to a quarter that the next one saves: 16, 32, 64 channels at 24, 12, 6 pixels
        outputs = 64 * 4 * (24 * 24 * 16 + 12 * 12 * 32 + 6 * 6 * 64)
        pooled = 64 * 4 * (12 * 12 * 16 + 6 * 6 * 32)
        assert outputs + pooled <= peak["saved"] < 1.1 * (outputs + pooled)
        assert rest["saved"] == rest["temporary"] == 0

    def test_budget_ends_a_run_with_who_held_what(self):
        x, y = images("simple_cnn", 64)
        pool = memory.Pool(budget_bytes=3 << 20)
        with pytest.raises(memory.PoolExhausted, match="largest buffers"):
            list(train(job_of("simple_cnn", [batch(x, y)], 1), pool))

    def test_system_backing_trains_the_same(self):
        x, y = images("simple_cnn", 20)
        job = job_of("simple_cnn", [batch(x, y)] * 3, 3)
        arena, system = (
            [event.loss for event in train(job, memory.Pool(backing=backing)) if isinstance(event, Step)]
            for backing in ("arena", "system")
        )
        assert arena == system


def test_block_that_refuses_a_batch_has_counted_it_in_neither_norm():
    with memory.use(memory.Pool()):
        trainer = trainer_of("resnet")
        before = weights.export(trainer.net)
        x, y = np.full((1, 2, 2, 3), 9, np.uint8), np.zeros(1, int)  # the second stage has one pixel
        with pytest.raises(ValueError, match="PreActivationBlock got 1 value a channel"):
            trainer.accumulate(x, y, 1)
        after = weights.export(trainer.net)
        assert before["stages.1.0.norm1.num_batches_tracked"] == after["stages.1.0.norm1.num_batches_tracked"] == 0


def test_observer_sees_every_layer():
    x, y = images("simple_cnn", 8)
    seen = []
    watch = SimpleNamespace(before=lambda node, dy: seen.append(node.name), after=lambda node, dx: None)
    list(train(job_of("simple_cnn", [batch(x, y)], 1), observers=[watch]))
    assert seen == ["loss", "fc2", "", "fc1", "", "block3", "block2", "block1"]


def test_warm_up_leaves_nothing_to_translate():
    warm_up()
    before = len(cpu_convolution.convolve_images.translated().signatures)
    x, y = images("resnet", 4)
    list(train(job_of("resnet", [batch(x, y)], 1)))
    assert len(cpu_convolution.convolve_images.translated().signatures) == before
