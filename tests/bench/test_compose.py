"""A record on the memory of a process: on a GPU the device's, on a CPU the resident set, never one for the other."""

import pytest

from pocket.bench.supervisor import compose

WORKER = {"live_peak_bytes": 1, "reserved_peak_bytes": 2, "process_peak_bytes": 300, "process_before_bytes": 200}
GPU = {"memory_used_bytes": 40}


def memory(gpu, peak_bytes=500, **more):
    results = {"a": {"values": {"memory": {**WORKER, **more}}}}
    return compose.values("train", results, [], peak_bytes, gpu)["memory"]


def test_on_a_cpu_it_is_the_resident_set():
    found = memory(None, device_used_bytes=None)
    assert found["process_peak_bytes"] == 500
    assert found["process_before_bytes"] == 200
    assert "device_used_bytes" not in found
    assert memory(None, peak_bytes=0, process_peak_bytes=None)["process_peak_bytes_reason"]


def test_on_a_gpu_it_is_what_the_device_holds_more_than_before():
    found = memory(GPU, device_used_bytes=1040)
    assert found["process_peak_bytes"] == 1000
    assert found["process_before_bytes"] == 40
    assert found["process_host_peak_bytes"] == 500


@pytest.mark.parametrize(
    ("gpu", "used", "reason"),
    [
        (GPU, {}, "what the device held was not read at the end"),
        (GPU, {"device_used_bytes": None}, "what the device held was not read at the end"),
        ({"memory_used_bytes": None}, {"device_used_bytes": 7}, "what the device held was not read before the run"),
    ],
)
def test_what_the_device_did_not_say_is_null_and_not_the_hosts(gpu, used, reason):
    found = memory(gpu, **used)
    assert found["process_peak_bytes"] is None
    assert found["process_peak_bytes_reason"] == reason
    assert found["process_host_peak_bytes"] == 500
