"""What a run ran on: processor, memory, system, versions, BLAS, GPU. Found without importing any of those libraries."""

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from pocket.bench.machine.gpu import device, the_gpu, used_now

__all__ = ["device", "machine", "processor", "used_now"]

VERSIONS = {
    "numpy": ("numpy",),
    "numba": ("numba",),
    "torch": ("torch",),
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
}


def machine(device_kind: str, threads: int | None, environment: dict[str, str]) -> dict[str, Any]:
    """The machine as the run's worker finds it; `environment` is the worker's. What only the loaded libraries know
    (BLAS kernel, CUDA version) is added by the worker. A missing value is None, with a reason beside it."""
    forced = environment.get("OPENBLAS_CORETYPE")
    found: dict[str, Any] = {
        "cpu": processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "os": _system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "python": platform.python_version(),
        "threads": threads,
        "blas_kernel_forced": forced,
    }
    for name, distributions in VERSIONS.items():
        found[name] = next((version for one in distributions if (version := _version(one))), None)
        if found[name] is None:
            found[f"{name}_reason"] = "not installed"
    return found | _gpu(device_kind)


def processor() -> str:
    """The processor's model name."""
    lines = _lines("/proc/cpuinfo")
    for key in ("model name", "Model", "Hardware", "cpu model"):
        for line in lines:
            if line.split(":")[0].strip() == key:
                return " ".join(line.split(":", 1)[1].split())
    return platform.processor() or platform.machine()


def _gpu(device_kind: str) -> dict[str, Any]:
    # A CPU run does not ask: nvidia-smi takes a second where a driver sleeps, and eight where it hangs.
    gpu, reason = (None, "the run used the CPU") if device_kind == "cpu" else the_gpu()
    return {"gpu": gpu} if gpu else {"gpu": None, "gpu_reason": reason}


def _system() -> str:
    for line in _lines("/etc/os-release"):
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip().strip('"')
    return platform.system()


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
