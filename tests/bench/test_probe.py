"""Known amounts of memory, measured: by PyTorch's profiler, by tracemalloc, by counting, by the operating system."""

import gc
import mmap

import numpy as np
import pytest
import tiny
import torch

from pocket.bench.measure import resident
from pocket.bench.measure.aside import aside
from pocket.bench.measure.probe_pool import PoolProbe
from pocket.bench.measure.probe_torch import BudgetExceeded, CountedStorages, TorchProbe
from pocket.contract import MicroBatch
from pocket.engine.memory import Pool

MIB = 1 << 20


def test_a_known_allocation_of_torch_is_seen_within_a_percent():
    with TorchProbe("cpu", None) as probe:
        kept = torch.ones(8 * MIB, dtype=torch.uint8)
        early = torch.ones(64 * MIB, dtype=torch.uint8)
        del early
        probe.warm()
        late = torch.ones(32 * MIB, dtype=torch.uint8)
        del late
        probe.watch()
        again = torch.ones(16 * MIB, dtype=torch.uint8)
        found = probe.numbers()
    assert found["live_peak_bytes"] == pytest.approx(40 * MIB, rel=0.01)  # not the 72 of warm-up
    assert [live for _, live in found["timeline"]][-1] == pytest.approx(24 * MIB, rel=0.01)
    assert found["timeline"][0][0] >= 0
    assert found["method"] == "torch.profiler"
    assert kept.numel() + again.numel() == 24 * MIB


def test_a_training_step_of_torch_is_seen_whole():
    """Weights, gradients and momentum of one linear layer, and the batch that was made by torch."""
    with TorchProbe("cpu", None) as probe:
        layer = torch.nn.Linear(1024, 1024, bias=False)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
        x = torch.ones(256, 1024)
        for step in range(3):
            if step == 2:
                probe.warm()
            optimizer.zero_grad(set_to_none=True)
            layer(x).sum().backward()
            optimizer.step()
        found = probe.numbers()
    floor = 4 * (3 * 1024 * 1024 + 256 * 1024)
    assert floor <= found["live_peak_bytes"] <= 1.35 * floor


def test_counted_storages_follow_a_step_and_let_go():
    with CountedStorages(64 * MIB) as counted:
        x = torch.ones(MIB, dtype=torch.uint8)
        assert counted.live_bytes == MIB
        view = x[:10].view(2, 5)  # a view holds no storage of its own
        assert counted.live_bytes == MIB
        y = x + 1
        assert counted.live_bytes == 2 * MIB
        del x, y
        assert counted.live_bytes == MIB  # the view keeps it
        del view
        gc.collect()
        assert (counted.live_bytes, counted.peak_bytes) == (0, 2 * MIB)
        counted.forget()
        assert counted.peak_bytes == 0


def test_counting_agrees_with_the_profiler_on_a_network():
    counted = TorchProbe("cpu", 1 << 40)
    with counted as probe:
        layer = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10))
        optimizer = torch.optim.Adam(layer.parameters())
        for step in range(3):
            if step == 2:
                probe.warm()
            optimizer.zero_grad()
            layer(torch.ones(512, 512)).square().mean().backward()
            optimizer.step()
        found = probe.numbers()
    assert found["account_peak_bytes"] == pytest.approx(found["live_peak_bytes"], rel=0.05)


def test_the_imitated_card_refuses_what_it_does_not_hold():
    with CountedStorages(10 * MIB) as counted:
        first = torch.ones(6 * MIB, dtype=torch.uint8)
        with pytest.raises(
            BudgetExceeded, match=r"6,291,456 bytes asked for, 6,291,456 live of a budget of 10,485,760"
        ):
            torch.ones(6 * MIB, dtype=torch.uint8)
        del first
        gc.collect()
        assert counted.live_bytes == 0
        assert torch.ones(6 * MIB, dtype=torch.uint8).numel() == 6 * MIB


def test_the_imitated_card_refuses_inside_backward():
    x = torch.ones(512, 512, requires_grad=True)
    with CountedStorages(3 * MIB), pytest.raises(BudgetExceeded):
        (((x * 1.5).exp() * 2).sum()).backward()


def test_tracemalloc_and_the_pool_agree_within_a_mebibyte():
    pool = Pool(backing="system")
    with PoolProbe(lambda: pool) as probe:
        weights = pool.empty((4 * MIB,), np.uint8, "weights")
        early = pool.empty((64 * MIB,), np.uint8)
        del early
        objects = [object() for _ in range(200_000)]  # Python's own, not the trainer's arrays
        probe.warm()
        for _ in range(3):
            saved = pool.empty((16 * MIB,), np.uint8, "saved")
            extra = pool.empty((8 * MIB,), np.uint8)
            del saved, extra
        probe.watch()
        last = pool.empty((2 * MIB,), np.uint8)
        found = probe.numbers()
    assert found["account_peak_bytes"] == 28 * MIB
    assert abs(found["live_peak_bytes"] - found["account_peak_bytes"]) < MIB
    assert found["method"] == "tracemalloc"
    assert len(weights) + len(last) + len(objects) > 6 * MIB


def test_tracemalloc_sees_what_the_pool_does_not():
    """A trainer that keeps an array beside its pool is found out."""
    pool = Pool(backing="system")
    with PoolProbe(lambda: pool) as probe:
        probe.warm()
        hidden = np.ones(8 * MIB, np.uint8)
        found = probe.numbers()
    assert found["account_peak_bytes"] == 0
    assert found["live_peak_bytes"] == pytest.approx(len(hidden), abs=MIB / 4)


def test_batches_put_aside_are_the_same_and_nobodys():
    x, y = np.arange(4 * MIB, dtype=np.uint8).reshape(4, -1), np.arange(4)
    pool = Pool(backing="system")
    with PoolProbe(lambda: pool) as probe:
        probe.warm()
        (batch,) = aside(lambda epoch: iter([MicroBatch(x, y, 4, True)]))(0)
        found = probe.numbers()
    assert np.array_equal(batch.x, x)
    assert np.array_equal(batch.y, y)
    assert batch.x.flags.writeable
    assert (batch.group_samples, batch.ends_group) == (4, True)
    assert found["live_peak_bytes"] < MIB / 4


def test_the_resident_peak_leaves_out_what_lies_between_stretches():
    peak = resident.ResidentPeak()
    peak.begin()
    peak.end()
    quiet = peak.peak_bytes
    between = mmap.mmap(-1, 64 * MIB)
    between.write(b"\1" * (64 * MIB))
    between.close()
    gc.collect()
    peak.begin()
    peak.end()
    assert peak.peak_bytes < quiet + 32 * MIB
    peak.begin()
    during = mmap.mmap(-1, 64 * MIB)
    for page in range(0, 64 * MIB, mmap.PAGESIZE):
        during[page] = 1
    during.close()
    peak.end()
    assert peak.peak_bytes > quiet + 48 * MIB


@pytest.mark.parametrize("asked", [1 << 26, 1 << 27])
def test_an_allocation_run_finds_what_was_asked(asked, tmp_path):
    values = tiny.supervised(tmp_path, kind="allocation", allocation_bytes=asked)["values"]
    assert values["asked_bytes"] == asked
    assert values["live_bytes"] == pytest.approx(asked, rel=0.01)
    assert values["process_bytes"] == pytest.approx(asked, rel=0.05)


def test_a_memory_run_is_recorded(tmp_path):
    made = tiny.supervised(tmp_path, kind="memory")
    assert made["status"] == "ok"
    memory = made["values"]["memory"]
    assert 1000 < memory["live_peak_bytes"] < MIB
    assert memory["timeline"]
    assert memory["account_peak_bytes"] is None
    assert memory["account_peak_bytes_reason"]
