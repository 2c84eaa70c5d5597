"""Threads, translation, register tiles, and the kernels that operators' own tests do not reach."""

import os
import pwd
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pocket.engine import kernels
from pocket.engine.kernels import compile as compiling
from pocket.engine.kernels import cpu, cpu_normalise, cpu_tile, threads
from pocket.engine.kernels.compile import compiled
from pocket.engine.kernels.cpu_tile import TILE, tile_of_pixels, tile_of_weights


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=[1, 2, 3])
def thread_count(request):
    before = threads.count()
    threads.set_count(request.param)
    yield request.param
    threads.set_count(before)


class TestThreads:
    @pytest.mark.parametrize("items", [0, 1, 2, 7, 100])
    def test_every_item_is_done_once(self, thread_count, items):
        done, shares = np.zeros(items, int), []

        def work(first, last, thread):
            done[first:last] += 1
            shares.append(thread)

        threads.over(items, work)
        assert (done == 1).all()
        assert sorted(shares) == list(range(max(1, min(items, thread_count))))

    def test_little_work_stays_on_the_calling_thread(self, thread_count):
        names = []
        threads.over(15, lambda i, j, t: names.append(threading.current_thread()), 10)
        assert names == [threading.current_thread()]

    @pytest.mark.parametrize("failing", [0, 1])
    def test_error_in_any_share_is_raised_after_all_have_ended(self, failing):
        ended = []

        def work(first, last, thread):
            if thread == failing:
                raise MemoryError(f"in share {thread}")
            ended.append(thread)

        before = threads.count()
        threads.set_count(2)
        try:
            with pytest.raises(MemoryError, match=f"in share {failing}"):
                threads.over(2, work)
        finally:
            threads.set_count(before)
        assert ended == [1 - failing]

    def test_error_waits_for_the_shares_behind_it(self):
        ended = []

        def work(first, last, thread):
            if thread == 1:
                raise MemoryError("in share 1")
            time.sleep(0.1 * thread)
            ended.append(thread)

        before = threads.count()
        threads.set_count(3)
        try:
            with pytest.raises(MemoryError, match="in share 1"):
                threads.over(3, work)
            assert ended == [0, 2]
        finally:
            threads.set_count(before)

    def test_none_at_all_is_refused(self):
        with pytest.raises(ValueError, match="threads 0"):
            threads.set_count(0)


@compiled
def _double(x):
    for i in range(x.size):
        x[i] = _twice(x[i])


@compiled
def _twice(value):
    return value + value


class TestTranslation:
    def test_kernel_may_name_other_kernels_and_keeps_its_plain_form(self):
        for run in (_double, compiled(lambda x: _double(x)), _double.plain):
            x = np.arange(4.0)
            if run is not _double.plain:
                run(x)
                np.testing.assert_array_equal(x, [0, 2, 4, 6])
        assert _twice.plain(3) == 6

    def test_first_calls_from_several_threads_at_once(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        kernel, results = compiled(_twice.plain), []
        workers = [threading.Thread(target=lambda: results.append(kernel(21))) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert results == [42] * 4
        assert list(tmp_path.iterdir()) == []  # translations go to their folder, never to the working directory

    def test_folder_follows_the_environment_and_the_sources(self, tmp_path, monkeypatch):
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
        assert compiling.folder.__wrapped__().parent == tmp_path

    def test_nan_and_infinity_are_not_optimised_away(self, rng):
        x = np.array([[np.nan, -1, np.inf, -np.inf, 2]], np.float32)
        out = np.empty_like(x)
        cpu.scale_shift(x, np.ones(5, np.float32), np.zeros(5, np.float32), 0.0, out)
        np.testing.assert_array_equal(out, [[np.nan, 0, np.inf, 0, 2]])


@compiled
def _tile_over_pixels(x, w, start, out, x_p, x_o, outer, inner):
    size = x.itemsize
    width = w.shape[2]
    tile_of_pixels(
        x, x.ctypes.data, x_p * size, x_o * size, size, outer, inner, w.ctypes.data, inner * width * size,
        width * size, start.ctypes.data, 0, out.ctypes.data, width * size,
    )  # fmt: skip


@compiled
def _tile_over_weights(x, w, start, out, x_o, x_i, outer, inner):
    size = x.itemsize
    width = w.shape[2]
    tile_of_weights(
        x, x.ctypes.data, size, x_o * size, x_i * size, outer, inner, w.ctypes.data, inner * width * size,
        width * size, start.ctypes.data, 0, out.ctypes.data, width * size,
    )  # fmt: skip


NARROW = """
import numpy as np
from numpy._core import _multiarray_umath
_multiarray_umath.__cpu_features__["AVX512F"] = False
from pocket.engine.kernels import cpu, cpu_tile
assert not cpu_tile.WIDE and cpu_tile.block("float32") == 16
rng = np.random.default_rng(0)
x, w, dy = rng.normal(size=(2, 9, 7, 3)), rng.normal(size=(3, 3, 3, 5)), rng.normal(size=(2, 5, 4, 5))
step, dw, expected_dw = ((2, 2), (1, 1)), np.zeros_like(w), np.zeros_like(w)
np.testing.assert_allclose(cpu.convolve(x, w, None, *step)[0], cpu.patch_convolution(x, w, None, *step))
dx = cpu.convolve_gradient(x, dy, w, *step, dw)
np.testing.assert_allclose(dx, cpu.patch_convolution_gradient(x, dy, w, *step, expected_dw, True))
np.testing.assert_allclose(dw, expected_dw)
"""


def test_narrow_registers_give_the_same(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", NARROW], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestTile:
    """out[p, c] = start[c] + sum over o, i of x[p, o, i] w[o, i, c], against NumPy."""

    def operands(self, rng, dtype):
        width = cpu_tile.block(dtype)
        x, w = rng.normal(size=2000).astype(dtype), rng.normal(size=(3, 5, width)).astype(dtype)
        return x, w, rng.normal(size=width).astype(dtype), np.empty((TILE, width), dtype)

    @pytest.mark.parametrize(("outer", "inner"), [(1, 1), (3, 5)])
    def test_over_pixels(self, rng, dtype, outer, inner):
        x, w, start, out = self.operands(rng, dtype)
        w = np.ascontiguousarray(w[:outer, :inner])
        _tile_over_pixels(x, w, start, out, 7, 100, outer, inner)
        p, o, i = np.ogrid[:TILE, :outer, :inner]
        expected = start + np.einsum("poi,oic->pc", x[7 * p + 100 * o + i].astype(float), w.astype(float))
        np.testing.assert_allclose(out, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-5)

    def test_over_weights(self, rng, dtype):
        x, w, start, out = self.operands(rng, dtype)
        _tile_over_weights(x, w, start, out, 100, 9, 3, 5)
        p, o, i = np.ogrid[:TILE, :3, :5]
        expected = start + np.einsum("poi,oic->pc", x[p + 100 * o + 9 * i].astype(float), w.astype(float))
        np.testing.assert_allclose(out, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-5)


class TestMoments:
    @pytest.mark.parametrize("rows", [1, 63, 64, 65, 5000])
    def test_against_numpy(self, rng, thread_count, rows):
        x = rng.normal(size=(rows, 5))
        mean, var = cpu.moments(x)
        np.testing.assert_allclose(mean, x.mean(0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(var, x.var(0), rtol=1e-11, atol=1e-25)

    def test_large_mean_costs_no_digits_of_the_variance(self, rng):
        x = (rng.normal(size=(20_000, 4)) + 3000).astype(np.float32)
        mean, var = cpu.moments(x)
        np.testing.assert_allclose(mean, x.mean(0, np.float64), rtol=1e-7)
        np.testing.assert_allclose(var, x.astype(np.float64).var(0), rtol=1e-5)

    def test_long_sums_do_not_drift(self):
        ones = np.ones((200_000, 3), np.float32)
        sums = np.zeros(3, np.float32)
        cpu.add_channel_sums(ones * np.float32(0.1), sums)
        np.testing.assert_allclose(sums, 20_000, rtol=1e-6)


class TestProduct:
    @pytest.mark.parametrize("shape", [(3, 4, 5), (300, 200, 100), (100, 200, 900), (0, 4, 5)])
    @pytest.mark.parametrize("transposed", [False, True])
    def test_against_numpy(self, rng, thread_count, shape, transposed):
        M, K, N = shape
        a = rng.normal(size=(M, K))
        b = rng.normal(size=(N, K)).T if transposed else rng.normal(size=(K, N))
        out, added = np.empty((M, N)), np.ones((M, N))
        cpu.product(a, b, out)
        cpu.add_product(a, b, added)
        np.testing.assert_allclose(out, a @ b, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(added, 1 + a @ b, rtol=1e-12, atol=1e-12)


class TestNormalisedWhereRead:
    """A convolution that makes its input or its output gradient as it reads them, against one that is given them."""

    def operands(self, rng):
        x, w = rng.normal(size=(3, 7, 6, 5)), rng.normal(size=(3, 3, 5, 4))
        return x, w, rng.normal(size=5), rng.normal(size=5)

    def test_input(self, rng, thread_count):
        x, w, scale, shift = self.operands(rng)
        y, moments = cpu.convolve(cpu.Normalised(x, scale, shift, 0.0), w, None, (2, 2), (1, 1))
        np.testing.assert_allclose(y, cpu.convolve(np.maximum(x * scale + shift, 0), w, None, (2, 2), (1, 1))[0])
        assert moments is None

    def test_residual_and_moments(self, rng, thread_count):
        x, w, *_ = self.operands(rng)
        residual = rng.normal(size=(3, 7, 6, 4))
        y, (mean, var) = cpu.convolve(x, w, np.arange(4.0), (1, 1), (1, 1), residual, moments=True)
        expected = cpu.convolve(x, w, np.arange(4.0), (1, 1), (1, 1))[0] + residual
        np.testing.assert_allclose(y, expected)
        np.testing.assert_allclose(mean, expected.mean((0, 1, 2)))
        np.testing.assert_allclose(var, expected.var((0, 1, 2)))

    def test_output_gradient(self, rng, thread_count):
        x, w, *_ = self.operands(rng)
        y, dz = rng.normal(size=(2, 3, 7, 6, 4))
        scale, shift, slope, offset = rng.normal(size=(4, 4))
        dy = scale * np.where(y * scale + shift > 0, dz, 0) - slope * y - offset
        dw, expected_dw = np.zeros_like(w), np.zeros_like(w)
        gradient = cpu.GradientOfNormalised(dz, y, scale, shift, slope, offset, cpu.NORMALISED)
        dx = cpu.convolve_gradient(x, gradient, w, (1, 1), (1, 1), dw)
        np.testing.assert_allclose(dx, cpu.convolve_gradient(x, dy, w, (1, 1), (1, 1), expected_dw))
        np.testing.assert_allclose(dw, expected_dw)

    def test_input_gradient_in_the_storage_of_what_was_read(self, rng, thread_count):
        x, w, *_ = self.operands(rng)
        w = rng.normal(size=(3, 3, 5, 8))
        dy = rng.normal(size=(3, 7, 6, 8))
        dw, expected_dw = np.zeros_like(w), np.zeros_like(w)
        expected = cpu.convolve_gradient(x, dy, w, (1, 1), (1, 1), expected_dw)
        dx = cpu.convolve_gradient(x, dy, w, (1, 1), (1, 1), dw, into=dy)
        assert np.shares_memory(dx, dy)
        np.testing.assert_array_equal(dx, expected)
        np.testing.assert_array_equal(dw, expected_dw)


def test_unknown_array_library_is_named():
    with pytest.raises(ValueError, match="wanted a numpy array"):
        kernels.of([1, 2])


def test_sums_are_taken_in_parts_short_enough_for_float32():
    assert cpu_normalise.ROWS_AT_ONCE <= 256


def test_translations_find_a_place_where_the_package_may_not_be_written(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    places = []
    may_write = os.access
    monkeypatch.setattr(os, "access", lambda path, how: "__pycache__" not in str(path) and may_write(path, how))
    places.append(compiling.folder.__wrapped__())
    assert places[0].parent == tmp_path / ".cache" / "pocketnn"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))  # no home to write to, either
    places.append(compiling.folder.__wrapped__())
    assert places[1].parent.name.startswith("pocketnn-")
    assert places[0].name == places[1].name
    shutil.rmtree(places[1].parent)


def test_translations_find_a_place_for_a_user_without_a_home(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)  # a KeyError, as for a number without a name
    with pytest.raises(RuntimeError):
        Path.home()
    assert compiling.folder.__wrapped__().parent.name == "__pycache__"
    may_write = os.access
    monkeypatch.setattr(os, "access", lambda path, how: "__pycache__" not in str(path) and may_write(path, how))
    place = compiling.folder.__wrapped__()
    assert place.parent.name.startswith("pocketnn-")
    shutil.rmtree(place.parent, ignore_errors=True)
