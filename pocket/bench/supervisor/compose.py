"""Puts a record together: what the workers reported, what was seen from outside, and how it ended."""

from collections.abc import Mapping
from typing import Any

Results = Mapping[str, Mapping[str, Any] | None]  # side -> the worker's last message, None where none came


def device(kind: str, machine: Mapping[str, Any]) -> dict[str, Any]:
    """`device` of a record."""
    gpu = machine["gpu"] or {}
    return {"kind": kind, "name": machine["cpu"] if kind == "cpu" else gpu.get("name"), "uuid": gpu.get("uuid")}


def whole_machine(found: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """The machine as seen from outside and by the workers; of a pair each side's own view stands under `sides`."""
    told = {name: dict((result or {}).get("machine") or {}) for name, result in results.items()}
    whole = dict(found)
    for view in reversed(told.values()):
        whole |= view
    for name in [name for name in whole if name.endswith("_reason") and whole.get(name[: -len("_reason")]) is not None]:
        del whole[name]
    return whole if len(told) < 2 else whole | {"sides": told}


def seconds(results: Results, total: float, waited: float) -> dict[str, Any]:
    """`seconds` of a record. overhead = total - import - train - score; sides of a pair import side by side, and train
    and score in turns. `total` holds no waiting for the device."""
    told = [(result or {}).get("seconds") or {} for result in results.values()]
    found: dict[str, Any] = {"total": total}
    for name, together in (("import", max), ("prepare", max), ("train", sum), ("score", sum)):
        parts = [part[name] for part in told if name in part]
        found[name] = together(parts) if parts else None
    spent = sum(found[name] or 0.0 for name in ("import", "train", "score"))
    return found | {"overhead": max(0.0, total - spent), "waited": waited}


def values(
    kind: str, results: Results, blocks: list[Any], peak_bytes: int, gpu: Mapping[str, Any] | None
) -> dict[str, Any]:
    """`values` of a record: the worker's, with the process's peak as the system charges it."""
    found: dict[str, Any] = {}
    for result in reversed(list(results.values())):
        found |= (result or {}).get("values") or {}
    if kind == "pair":
        return found | {"blocks": blocks}
    if "memory" in found:
        found["memory"] = _charged(dict(found["memory"]), peak_bytes, gpu)
    return found


def _charged(memory: dict[str, Any], peak_bytes: int, gpu: Mapping[str, Any] | None) -> dict[str, Any]:
    used = memory.pop("device_used_bytes", None)
    host = max(memory["process_peak_bytes"] or 0, peak_bytes) or None
    if gpu is None:
        memory["process_peak_bytes"] = host
        memory["process_method"] = "resident set of the process tree, from /proc"
        reason = "nothing was sampled after warm-up"
    else:  # what the host holds of a run on a GPU is another number
        before = gpu.get("memory_used_bytes")
        known = used is not None and before is not None
        memory["process_host_peak_bytes"] = host
        memory["process_before_bytes"] = before
        memory["process_peak_bytes"] = max(0, used - before) if known else None
        memory["process_method"] = "device used after the run's training minus used before it began"
        reason = "what the device held was not read " + ("at the end" if used is None else "before the run")
    if memory["process_peak_bytes"] is None:
        memory["process_peak_bytes_reason"] = reason
    return memory
