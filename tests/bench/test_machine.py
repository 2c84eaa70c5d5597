"""What nvidia-smi answers, sensibly or not, and what is known of the machine without it."""

import os
import subprocess
import sys
import time

import pytest

from pocket.bench.machine import blas, gpu, machine
from pocket.bench.supervisor import allocator, process
from pocket.mistake import Mistake

CARD = "NVIDIA GeForce RTX 2070 SUPER, GPU-11111111-aaaa, 535.1, 8192, 412, 1770, 2100, 215.00"
SECOND = "NVIDIA GeForce GTX 1660, GPU-22222222-bbbb, 535.1, 6144, 3, 300, 2130, 120.00"


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """Puts a program of that name, with the given body, alone on PATH."""

    def put(body: str) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!{sys.executable}\n{body}\n")
        program.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return put


def test_one_card_is_read_in_bytes_hertz_and_watts(nvidia_smi):
    nvidia_smi(f"print({CARD!r})")
    card, reason = gpu.the_gpu()
    assert reason is None
    assert card == {
        "index": 0,
        "name": "NVIDIA GeForce RTX 2070 SUPER",
        "uuid": "GPU-11111111-aaaa",
        "driver": "535.1",
        "memory_bytes": 8192 << 20,
        "memory_used_bytes": 412 << 20,
        "clock_hertz": 1_770_000_000,
        "clock_max_hertz": 2_100_000_000,
        "power_limit_watts": 215,
    }
    assert machine.device("auto") == "cuda"


@pytest.mark.parametrize("said", ["[N/A]", "[Not Supported]", "[Unknown Error]", "N/A", "", "ERR!"])
def test_a_number_that_is_not_there_is_null_with_a_reason(said, nvidia_smi):
    """RC-43: never 0."""
    nvidia_smi(f"print({CARD.replace('8192', said).replace('215.00', said)!r})")
    card, _ = gpu.the_gpu()
    assert card["memory_bytes"] is None
    assert card["memory_bytes_reason"] == f"nvidia-smi says {said!r}"
    assert card["power_limit_watts"] is None
    assert card["memory_used_bytes"] == 412 << 20


def test_units_that_were_not_asked_for_are_understood(nvidia_smi):
    nvidia_smi(f"print({CARD.replace('8192', '8192 MiB').replace('215.00', '215.00 W')!r})")
    card, _ = gpu.the_gpu()
    assert (card["memory_bytes"], card["power_limit_watts"]) == (8192 << 20, 215)


@pytest.mark.parametrize(
    ("chosen", "name"),
    [(None, "RTX 2070"), ("1", "GTX 1660"), ("1,0", "GTX 1660"), ("GPU-2222", "GTX 1660"), ("0", "RTX 2070")],
)
def test_of_two_cards_the_visible_one_counts(chosen, name, nvidia_smi, monkeypatch):
    nvidia_smi(f"print({CARD!r}); print({SECOND!r})")
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    card, _ = gpu.the_gpu()
    assert name in card["name"]


@pytest.mark.parametrize("chosen", ["", "-1", "7"])
def test_a_hidden_card_is_no_card(chosen, nvidia_smi, monkeypatch):
    nvidia_smi(f"print({CARD!r})")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    card, reason = gpu.the_gpu()
    assert card is None
    assert "shows none of 1 GPUs" in reason
    assert machine.device("auto") == "cpu"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import sys; print('No devices were found'); sys.exit(9)", "ended with status 9: No devices were found"),
        ("import sys; sys.exit(6)", "ended with status 6: no word"),
        ("print('No devices were found')", "listed no GPU: 'No devices were found'"),
        ("print('')", "listed no GPU"),
        ("print('[N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A]')", "listed no GPU"),
        ("import sys; sys.stdout.buffer.write(bytes(range(256)))", "listed no GPU"),
    ],
)
def test_an_answer_without_a_card_is_a_reason(body, reason, nvidia_smi):
    nvidia_smi(body)
    card, why = gpu.the_gpu()
    assert card is None
    assert reason in why
    assert machine.device("auto") == "cpu"
    with pytest.raises(Mistake, match="device is 'cuda', but nvidia-smi"):
        machine.device("cuda")


def test_a_card_is_asked_again_what_it_holds(nvidia_smi):
    nvidia_smi(f"print({SECOND!r}); print({CARD!r})")
    card, _ = gpu.the_gpu()
    nvidia_smi(f"print({CARD!r}); print({SECOND.replace(' 3,', ' 77,')!r})")
    assert gpu.used_now(card)["memory_used_bytes"] == 77 << 20
    nvidia_smi("print('')")
    silent = gpu.used_now(card)
    assert silent["memory_used_bytes"] is None
    assert "listed no GPU" in silent["memory_used_bytes_reason"]
    assert silent["uuid"] == card["uuid"]


def test_no_program_and_a_broken_one(nvidia_smi, tmp_path):
    assert gpu.gpus() == ([], "nvidia-smi is not on PATH")
    (tmp_path / "nvidia-smi").write_bytes(b"\x7fELF rubbish")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert "could not be started" in gpu.gpus()[1]


def test_one_that_hangs_is_given_up_with_all_below_it(nvidia_smi, tmp_path, monkeypatch):
    """RC-43: the start-up check ends in under 10 s, and leaves no child of the program behind."""
    assert gpu.SECONDS_TO_ANSWER < 10
    monkeypatch.setattr(gpu, "SECONDS_TO_ANSWER", 2.0)
    note = tmp_path / "pid"
    nvidia_smi(f"import os, time\nif not os.fork(): open({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
    before = time.monotonic()
    assert gpu.gpus() == ([], "nvidia-smi gave no answer in 2 s")
    assert time.monotonic() - before < 30  # sixty, were it waited for
    end = time.monotonic() + 10  # a killed process may still have to be scheduled once to die
    while (child := process.look(int(note.read_text()))) and child.state not in "ZX" and time.monotonic() < end:
        time.sleep(0.01)
    assert child is None or child.state in "ZX"


def test_a_cpu_run_says_cpu_and_asks_no_card(nvidia_smi, tmp_path):
    asked = tmp_path / "asked"
    nvidia_smi(f"open({str(asked)!r}, 'w'); print({CARD!r})")
    found = machine.machine("cpu", 2, {"OPENBLAS_CORETYPE": "Haswell"})
    assert found["gpu"] is None
    assert found["gpu_reason"]
    assert not asked.exists()
    assert found["blas_kernel_forced"] == "Haswell"
    assert machine.machine("cuda", 2, {})["gpu"]["name"].startswith("NVIDIA")
    assert machine.machine("cuda", 2, {})["blas_kernel_forced"] is None


def test_the_machine_is_described():
    found = machine.machine("cpu", 2, {})
    for name in ("cpu", "cores", "memory_bytes", "os", "kernel", "libc", "python", "numpy", "torch", "threads"):
        assert found[name], name
    assert found["memory_bytes"] > 1 << 28
    assert all(found[f"{name}_reason"] for name in found if found[name] is None and name != "blas_kernel_forced")


@pytest.mark.parametrize("malloc", ["default", "raised"])
def test_the_allocators_thresholds_take_effect(malloc):
    """In a process of its own: glibc reads them once, at its start."""
    inherited = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1024", "GLIBC_TUNABLES": "glibc.malloc.mmap_max=0"}
    environment = allocator.environment(malloc, inherited)
    code = "from pocket.bench.supervisor import allocator; print(allocator.maps_large_requests())"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(malloc == "default")


def test_an_unknown_allocator_setting_is_refused():
    with pytest.raises(ValueError, match="malloc is 'tiny'; wanted 'default' or 'raised'"):
        allocator.environment("tiny", {})


def test_numpys_own_blas_is_named_beside_another_copy(monkeypatch):
    def pool(folder, version):
        path = str(blas.SITE / folder / "libopenblas.so")
        kind = {"user_api": "blas", "internal_api": "openblas", "architecture": "Zen"}
        return {**kind, "filepath": path, "version": version}

    both = [pool("scipy.libs", "1"), pool("numpy.libs", "2")]
    monkeypatch.setattr(blas, "threadpool_info", lambda: both)
    assert blas.blas()["blas"]["version"] == "2"
    monkeypatch.setattr(blas, "threadpool_info", lambda: both[:1])
    assert blas.blas()["blas"]["version"] == "1"  # a NumPy that was built against a shared one
