"""The clock and the score: what an update's seconds hold, and that a grade does not depend on the batch size."""

import math
from itertools import count

import numpy as np
import pytest

from pocket.bench.measure import drive, stopwatch
from pocket.bench.measure.drive import TimedBatches, updates
from pocket.bench.measure.live import thinned
from pocket.bench.measure.score import score
from pocket.bench.measure.shortage import told
from pocket.bench.measure.stopwatch import Stopwatch
from pocket.contract import BatchReady, Epoch, Step, Transferred


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    moved = Clock()
    monkeypatch.setattr(stopwatch, "time", moved)
    monkeypatch.setattr(drive, "time", moved)
    return moved


def trainer(clock, batches, epochs=1, micro=1):
    """Building takes 50 s, a micro-batch 4 s to transfer and 8 s to compute, an update 16 s more."""
    clock.now += 50
    for epoch in range(epochs):
        numbers = count(1)
        for _batch in batches(epoch):
            yield BatchReady()
            clock.now += 4
            yield Transferred()
            clock.now += 8
            if next(numbers) % micro == 0:
                clock.now += 16
                yield Step(np.float32(0.5), 7)
        yield Epoch(epoch, lambda x: x)


def loader(clock, number):
    """Batches that take 2 s each."""

    def batches(epoch):
        for index in range(number):
            clock.now += 2
            yield index

    return batches


def test_an_updates_seconds_are_data_transfer_and_compute(clock):
    batches = TimedBatches(loader(clock, 3))
    watch = Stopwatch(None)
    found = []
    for update in updates(trainer(clock, batches, epochs=2), watch, batches, lambda event: {}):
        clock.now += 1000  # what the harness does between updates is nobody's
        found.append(update)
    assert found == [(0.5, 7, 2.0, 4.0, 24.0)] * 6
    assert found[0].seconds == 30.0
    assert isinstance(found[0].loss, float)


def test_micro_batches_add_up(clock):
    batches = TimedBatches(loader(clock, 4))
    found = list(updates(trainer(clock, batches, micro=2), Stopwatch(None), batches, lambda event: {}))
    assert found == [(0.5, 7, 4.0, 8.0, 32.0)] * 2


def test_scoring_is_answered_and_not_timed(clock):
    batches = TimedBatches(loader(clock, 2))

    def graded():
        answers = []

        def generator():
            for event in trainer(clock, batches, epochs=2):
                answer = yield event
                if isinstance(event, Epoch):
                    answers.append(answer)

        return answers, generator()

    answers, events = graded()

    def grade(event):
        clock.now += 500
        return {"correct": event.number}

    found = list(updates(events, Stopwatch(None), batches, grade))
    assert [update.seconds for update in found] == [30.0] * 4
    assert answers == [{"correct": 0}, {"correct": 1}]


def test_the_clock_waits_for_the_device(clock):
    """Work that was only queued when the event came still counts for the part that queued it."""
    queued = []

    def synchronise():
        clock.now += sum(queued)
        queued.clear()

    def events():
        for _batch in batches(0):
            yield BatchReady()
            queued.append(4)
            yield Transferred()
            queued.append(24)
            yield Step(1.0, 1)

    batches = TimedBatches(loader(clock, 2))
    found = list(updates(events(), Stopwatch(synchronise), batches, lambda event: {}))
    assert found == [(1.0, 1, 2.0, 4.0, 24.0)] * 2


def test_a_foreign_event_is_refused(clock):
    batches = TimedBatches(loader(clock, 1))
    with pytest.raises(TypeError, match="yielded 'hello'; wanted an event"):
        list(updates((word for word in ["hello"]), Stopwatch(None), batches, lambda event: {}))


def test_a_stopwatch_needs_a_synchronise():
    with pytest.raises(TypeError, match="synchronise"):
        Stopwatch()


@pytest.mark.parametrize("batch_size", [1, 7, 30, 100])
def test_accuracy_and_loss_are_weighted_by_samples(batch_size):
    """RC-13: 100 samples, of each 30, 30, 30 and 10 right are 27, 24, 30 and 5: 0.86, not 0.80."""
    right = np.concatenate([np.arange(n) < k for n, k in ((30, 27), (30, 24), (30, 30), (10, 5))])
    labels = np.arange(100) % 3
    x = np.eye(3)[np.where(right, labels, (labels + 1) % 3)] * 2.0
    found = score(lambda inputs: inputs, x, labels, "classification", batch_size)
    assert found["correct"] / found["total"] == 0.86
    wanted = 86 * math.log(1 + 2 * math.exp(-2)) + 14 * (2 + math.log(1 + 2 * math.exp(-2)))
    assert found["loss_sum"] == pytest.approx(wanted, rel=1e-12)


def test_huge_logits_keep_the_loss_finite():
    logits = np.array([[1e8, 1e8], [-1e8, 1e8]], dtype=np.float32)
    found = score(lambda inputs: inputs, logits, np.array([0, 0]), "classification", 2)
    assert found["loss_sum"] == pytest.approx(2e8 + math.log(2), rel=1e-12)
    assert found["correct"] == 1


@pytest.mark.parametrize("batch_size", [1, 3, 4, 100])
def test_regression_gives_the_sums_of_r2(batch_size):
    y = np.array([[1.0], [2.0], [3.0], [6.0]], dtype=np.float32)
    x = np.array([[1.0], [2.0], [2.0], [4.0]], dtype=np.float32)
    found = score(lambda inputs: inputs[:, 0], x, y, "regression", batch_size)
    assert found == {"total": 4, "squared_error_sum": 5.0, "target_square_sum": 14.0}


def test_predictions_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match="gave 1 outputs for 2 inputs"):
        score(lambda inputs: inputs[:1], np.zeros((2, 2)), np.zeros(2, int), "classification", 2)
    with pytest.raises(ValueError, match="task 'detection'; wanted"):
        score(lambda inputs: inputs, np.zeros((2, 2)), np.zeros(2, int), "detection", 2)


@pytest.mark.parametrize(
    ("problem", "asked", "live"),
    [
        (MemoryError("Unable to allocate 1.50 GiB for an array with shape (3,)"), 3 << 29, None),
        (MemoryError(), None, None),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory"), None, None),
        (
            type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory. Tried to allocate 20.00 MiB. GPU"),
            20 << 20,
            7,
        ),
    ],
)
def test_a_shortage_is_told_in_numbers(problem, asked, live):
    found = told(problem, live)
    assert (found.asked_bytes, found.live_bytes) == (asked, live)
    values = found.values(3)
    assert values["update"] == 3
    assert (values["asked_bytes"] is None) == ("asked_bytes_reason" in values)
    assert "at update 3" in found.reason(3)


@pytest.mark.parametrize(
    "text",
    [
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
    ],
)
def test_what_the_libraries_of_a_gpu_say_is_a_shortage_of_it(text):
    found = told(RuntimeError(text), 7, "cuda")
    assert (found.status, found.asked_bytes, found.live_bytes) == ("oom_device", None, 7)


class Full(MemoryError):
    """A budget's error."""

    asked_bytes, live_bytes = 3, 5


@pytest.mark.parametrize(
    ("problem", "device", "status"),
    [
        (MemoryError("Unable to allocate 1.50 GiB for an array with shape (3,)"), "cuda", "oom_host"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "cuda", "oom_host"),
        (MemoryError(), "cpu", "oom_device"),
        (Full(), "cuda", "oom_device"),
    ],
)
def test_what_the_host_refused_in_a_run_on_a_gpu_is_of_the_host(problem, device, status):
    assert told(problem, 7, device).status == status


def test_another_error_is_no_shortage():
    assert told(ValueError("shapes do not fit")) is None
    assert told(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) is None


def test_a_long_timeline_is_thinned_and_keeps_its_peaks():
    points = [[float(i), i % 100] for i in range(10_000)]
    points[5001][1] = 10**6
    kept = thinned(points, most=200)
    assert len(kept) <= 200
    assert [5001.0, 10**6] in kept
    assert kept == sorted(kept)
    assert thinned(points[:50], most=200) == points[:50]
