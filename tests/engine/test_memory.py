"""The pool: its account, its budget, and the life of its arrays."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest

from pocket.engine import memory
from pocket.engine.memory import Pool, PoolExhausted

MiB = 1 << 20


@pytest.fixture(params=["arena", "system"])
def pool(request):
    return Pool(backing=request.param)


def take(pool, mebibytes, category="temporary"):
    return pool.empty(mebibytes * MiB, np.uint8, category)


class TestPeakCounter:
    """RC-34, in MiB; pages that are not touched cost nothing."""

    def test_second_models_peak_leaves_out_the_first(self, pool):
        first = [take(pool, 256) for _ in range(4)]
        assert pool.peak_bytes == 1024 * MiB
        first.clear()
        pool.reset_peak()
        second = [take(pool, 256) for _ in range(2)]
        second.pop()
        assert (pool.live_bytes, pool.peak_bytes) == (256 * MiB, 512 * MiB)

    def test_reset_keeps_what_is_live(self, pool):
        held = take(pool, 1024)
        pool.reset_peak()
        assert (pool.live_bytes, pool.peak_bytes) == (1024 * MiB, 1024 * MiB)
        more = take(pool, 256)
        assert pool.peak_bytes == 1280 * MiB
        assert held.nbytes + more.nbytes == pool.live_bytes

    @pytest.mark.parametrize("backing", ["arena", "system"])
    def test_limit_counts_what_is_live_and_total_falls_after_freeing(self, backing):
        pool = Pool(budget_bytes=1024 * MiB, backing=backing)
        held = take(pool, 512)
        del held
        held = take(pool, 768)
        assert pool.live_bytes == 768 * MiB
        assert pool.reserved_bytes >= 768 * MiB
        del held
        pool.free_all()
        assert (pool.live_bytes, pool.reserved_bytes) == (0, 0)

    def test_everything_free_is_one_range_again(self):
        pool = Pool(capacity_bytes=64 * MiB)
        pieces = [take(pool, 1) for _ in range(64)]
        for index in np.random.default_rng(0).permutation(64):
            pieces[index] = None
        assert take(pool, 64).nbytes == 64 * MiB


def test_beyond_the_budget_says_what_was_asked_and_who_held_it():
    pool = Pool(budget_bytes=10 * MiB)
    weights, saved = take(pool, 2, "weights"), take(pool, 5, "saved")
    with pytest.raises(PoolExhausted) as error:
        take(pool, 4)
    assert isinstance(error.value, MemoryError)
    assert (error.value.asked_bytes, error.value.live_bytes, error.value.budget_bytes) == (4 * MiB, 7 * MiB, 10 * MiB)
    assert error.value.largest == [(saved.nbytes, "saved"), (weights.nbytes, "weights")]
    assert "4,194,304 bytes asked for, 7,340,032 live" in str(error.value)
    assert take(pool, 3).nbytes == 3 * MiB  # the refusal took nothing


def test_storage_lives_as_long_as_the_last_view(pool):
    array = take(pool, 1)
    view = array.reshape(2, -1)[1:]
    del array
    assert pool.live_bytes == MiB
    del view
    assert pool.live_bytes == 0


def test_freed_room_is_used_again_and_neighbours_never_overlap():
    pool = Pool()
    arrays = [pool.empty(1000 + i, np.uint8) for i in range(50)]
    for i, array in enumerate(arrays):
        array[:] = i
    reserved = pool.reserved_bytes
    del arrays[10:20]
    again = [pool.empty(1000 + i, np.uint8) for i in range(10, 20)]
    for array in again:
        array[:] = 255
    assert pool.reserved_bytes == reserved
    assert all((array == i).all() for i, array in zip([*range(10), *range(20, 50)], arrays, strict=True))


@pytest.mark.parametrize("shape", [(), (3,), (0, 5), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int64, np.float32, np.float64])
def test_arrays_are_ordinary_aligned_and_writable(pool, shape, dtype):
    array = pool.zeros(shape, dtype)
    assert (array.shape, array.dtype) == (shape, dtype)
    assert array.ctypes.data % memory.ALIGNMENT == 0
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert not array.any()


def test_categories_are_live_bytes_and_follow_assign(pool):
    weights, kept = take(pool, 1, "weights"), take(pool, 2)
    pool.assign(kept.reshape(2, -1), "saved")
    pool.assign(weights, "saved")  # weights stay weights, whoever saves them
    pool.assign(np.zeros(5), "saved")  # not the pool's: nothing to account
    assert pool.category_bytes == dict.fromkeys(memory.CATEGORIES, 0) | {"weights": MiB, "saved": 2 * MiB}
    del kept
    assert pool.category_bytes["saved"] == 0
    assert pool.peak_category_bytes["temporary"] == 2 * MiB  # as it was accounted when the peak was reached
    with pytest.raises(ValueError, match="wanted one of weights"):
        take(pool, 1, "other")


def test_timeline_is_every_event_in_order():
    pool = Pool()
    pool.recording = True
    first = take(pool, 1)
    second = take(pool, 2)
    del first, second
    assert pool.timeline == [(1, MiB), (2, 3 * MiB), (3, 2 * MiB), (4, 0)]


def test_free_all_leaves_living_arrays_readable():
    pool = Pool()
    array = pool.zeros(1000, np.float32)
    pool.free_all()
    fresh = pool.empty(1000, np.float32)
    fresh.fill(7)
    assert not array.any()
    del array  # must not free what belongs to the new arena
    assert pool.live_bytes == 4032


def test_system_backing_shows_live_bytes_to_tracemalloc():
    tracemalloc.start()
    try:
        pool = Pool(backing="system")
        before = tracemalloc.get_traced_memory()[0]
        held = [take(pool, 1) for _ in range(8)]
        seen = tracemalloc.get_traced_memory()[0] - before
        assert abs(seen - pool.live_bytes) < 64 * 1024
        held.clear()
        assert tracemalloc.get_traced_memory()[0] - before < 64 * 1024
    finally:
        tracemalloc.stop()


def test_arena_is_outside_the_interpreters_heap():
    tracemalloc.start()
    try:
        pool = Pool()
        before = tracemalloc.get_traced_memory()[0]
        held = [take(pool, 1) for _ in range(8)]
        assert tracemalloc.get_traced_memory()[0] - before < 64 * 1024
        assert pool.live_bytes == 8 * held[0].nbytes
    finally:
        tracemalloc.stop()


def test_threads_may_take_and_give_at_once():
    pool = Pool(capacity_bytes=512 * MiB)
    wrong = []

    def work(number):
        rng = np.random.default_rng(number)
        held = []
        for _ in range(500):
            array = pool.empty(int(rng.integers(1, 50_000)), np.uint8)
            array[:] = number
            held.append(array)
            if len(held) > 8:
                old = held.pop(int(rng.integers(len(held))))
                if not (old == number).all():
                    wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert pool.live_bytes == 0


def test_arrays_in_cycles_return_with_the_garbage_collector():
    pool = Pool()
    cycle = [pool.empty(1000, np.uint8)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert pool.live_bytes == 0


def test_use_makes_a_pool_current_and_restores_the_one_before():
    outer = memory.current()
    with memory.use(Pool()) as pool:
        array = memory.zeros((2, 2), np.float32, "input")
        assert memory.owner(array[1:]).pool is pool
        assert pool.category_bytes["input"] == 64
    assert memory.current() is outer
    assert memory.owner(np.zeros(3)) is None


def test_unknown_backing_is_refused():
    with pytest.raises(ValueError, match="wanted"):
        Pool(backing="file")
