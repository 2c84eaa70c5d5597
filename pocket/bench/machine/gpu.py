"""What nvidia-smi says of the GPUs, whatever it says: a number that is not there is null with a reason, never 0."""

import os
import re
import shutil
import signal
import subprocess
from typing import Any

from pocket.mistake import Mistake

SECONDS_TO_ANSWER = 8.0
# Our name -> nvidia-smi's field, and the factor from its unit to ours.
NUMBERS = {
    "memory_bytes": ("memory.total", 1 << 20),
    "memory_used_bytes": ("memory.used", 1 << 20),
    "clock_hertz": ("clocks.sm", 1_000_000),
    "clock_max_hertz": ("clocks.max.sm", 1_000_000),
    "power_limit_watts": ("power.limit", 1),
}
TEXTS = {"name": "name", "uuid": "uuid", "driver": "driver_version"}
FIELDS = (*TEXTS.values(), *(field for field, _ in NUMBERS.values()))


def gpus() -> tuple[list[dict[str, Any]], str | None]:
    """Every GPU that nvidia-smi lists, and the reason why there is none. Takes under 10 s, even when it hangs.

    Each has `index`, `name`, `uuid`, `driver`, `memory_bytes`, `memory_used_bytes`, `clock_hertz`, `clock_max_hertz`,
    `power_limit_watts`; a value that nvidia-smi does not know is None, with the reason under `<name>_reason`.
    """
    text, reason = _ask(FIELDS)
    if reason:
        return [], reason
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    found = [
        _gpu(index, row) for index, row in enumerate(rows) if len(row) == len(FIELDS) and row[1].startswith("GPU-")
    ]
    if not found:
        return [], f"nvidia-smi listed no GPU: {text.strip()[:100]!r}"
    return found, None


def visible(found: list[dict[str, Any]], chosen: str | None = None) -> dict[str, Any] | None:
    """The GPU that CUDA calls device 0, by CUDA_VISIBLE_DEVICES (an index, a UUID or its beginning); None if hidden."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES") if chosen is None else chosen
    if chosen is None:
        return found[0] if found else None
    first = chosen.split(",")[0].strip()
    for gpu in found:
        if first == str(gpu["index"]) or (len(first) > 3 and str(gpu["uuid"]).startswith(first)):
            return gpu
    return None


def the_gpu() -> tuple[dict[str, Any] | None, str | None]:
    """The GPU a run would use, or None and the reason."""
    found, reason = gpus()
    gpu = visible(found)
    if gpu is None and reason is None:
        reason = f"CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES')!r} shows none of {len(found)} GPUs"
    return gpu, reason


def used_now(gpu: dict[str, Any]) -> dict[str, Any]:
    """The same GPU as it is at this moment; what it uses of its memory is null where it does not answer again."""
    found, reason = gpus()
    fresh = next((one for one in found if one["uuid"] == gpu["uuid"]), None)
    if fresh is not None:
        return fresh
    return {**gpu, "memory_used_bytes": None, "memory_used_bytes_reason": reason or "nvidia-smi lists it no more"}


def device(asked: str = "auto") -> str:
    """The device to plan for: `auto` is "cuda" where nvidia-smi lists a GPU that we may see, else "cpu".

    Raises Mistake for "cuda" where there is no such GPU.
    """
    if asked == "cpu":
        return "cpu"
    gpu, reason = the_gpu()
    if asked == "cuda" and gpu is None:
        raise Mistake(f"device is 'cuda', but {reason}; wanted a GPU that nvidia-smi lists, or device: cpu")
    return "cuda" if gpu else "cpu"


def _ask(fields: tuple[str, ...]) -> tuple[str, str | None]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return "", "nvidia-smi is not on PATH"
    command = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        asked = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError as problem:
        return "", f"nvidia-smi could not be started: {problem.strerror}"
    with asked:
        try:
            output, errors = asked.communicate(timeout=SECONDS_TO_ANSWER)
        except subprocess.TimeoutExpired:
            os.killpg(asked.pid, signal.SIGKILL)  # and its children: one that held the pipe would keep us waiting
            return "", f"nvidia-smi gave no answer in {SECONDS_TO_ANSWER:.0f} s"
    if asked.returncode != 0:
        said = (errors or output).decode(errors="replace").strip().splitlines()
        return "", f"nvidia-smi ended with status {asked.returncode}: {said[0][:150] if said else 'no word'}"
    return output.decode(errors="replace"), None


def _gpu(index: int, row: list[str]) -> dict[str, Any]:
    cells = dict(zip(FIELDS, row, strict=True))
    gpu: dict[str, Any] = {"index": index, **{ours: cells[field] for ours, field in TEXTS.items()}}
    for ours, (field, factor) in NUMBERS.items():
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:\s*(?:MiB|MHz|W))?", cells[field])
        gpu[ours] = round(float(found[1]) * factor) if found else None
        if not found:
            gpu[f"{ours}_reason"] = f"nvidia-smi says {cells[field]!r}"
    return gpu
