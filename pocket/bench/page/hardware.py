"""The machine as the records name it, every version and size, and what a run costs beside its own work."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from pocket.bench.judge.outcome import Outcome
from pocket.bench.page.sheet import Sheet, column, number_cell, sheet, text_cell
from pocket.bench.page.unit import quantity_text, setting_value

ALLOWED_OVERHEAD_SECONDS = 1.0
LABELS = {
    "cpu": "CPU",
    "gpu": "GPU",
    "blas": "BLAS",
    "cuda": "CUDA",
    "os": "system",
    "libc": "C library",
    "uuid": "UUID",
}
SEEN_TWICE = ("sides",)  # what each process of a pair saw for itself; the whole holds it, the first process first


def machine_line(found: Iterable[Outcome]) -> str:
    """Processor, cores, memory, BLAS kernels (and card), in one line; sizes are those of the first record."""
    machines = [one.record["machine"] for one in found if one.record]
    if not machines:
        return "No record yet"
    machine = machines[0]
    parts = [str(machine.get("cpu") or "unknown processor")]
    if machine.get("usable_cores"):
        parts.append(f"{machine['usable_cores']} cores")
    if machine.get("memory_bytes"):
        parts.append(quantity_text(machine["memory_bytes"], "bytes"))
    kernels = dict.fromkeys(str(one["blas"]["kernel"]) for one in machines if one.get("blas"))
    if kernels:
        parts.append(f"BLAS kernel {' and '.join(kernels)}")
    gpu = machine.get("gpu")
    if isinstance(gpu, Mapping):
        parts.append(str(gpu.get("name")))
    return ", ".join(parts)


def dates(found: Iterable[Outcome]) -> str:
    """First and last start of the records. The page holds no date of its own: the same records give the same page."""
    started = sorted(one.record["started"] for one in found if one.record)
    if not started:
        return ""
    first, last = (text[:16].replace("T", " ") for text in (started[0], started[-1]))
    if first == last:
        return f"Measured {first} UTC."
    return f"Measured {first} to {last[11:] if first[:10] == last[:10] else last} UTC."


def machine_sheet(found: Iterable[Outcome]) -> Sheet:
    """Each field of the records' machines with its values; where records differ, each value and how many have it."""
    machines = [one.record["machine"] for one in found if one.record]
    values: dict[str, dict[str, int]] = {}
    for machine in machines:
        for name, text in _flat(machine):
            seen = values.setdefault(name, {})
            seen[text] = seen.get(text, 0) + 1
    if "torch" in values:
        values["torch"] = _one_name(values["torch"])
    rows = []
    for name, seen in values.items():
        told = ", ".join(text if len(seen) == 1 else f"{text} ({n} runs)" for text, n in seen.items())
        label = " ".join(LABELS.get(word, word) for word in name.replace("_", " ").split())
        rows.append({"name": name, "cells": [text_cell("field", label), text_cell("value", told)]})
    return sheet("machine", [column("field"), column("value")], rows)


def _one_name(seen: Mapping[str, int]) -> dict[str, int]:
    """`2.14.1` is `2.14.1+cu130` as a wheel names it that leaves out for which CUDA it was built."""
    whole: dict[str, int] = {}
    for text, runs in seen.items():
        longer = [other for other in seen if other.startswith(f"{text}+")]
        name = longer[0] if len(longer) == 1 else text
        whole[name] = whole.get(name, 0) + runs
    return whole


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for name, inner in value.items():
        if name.endswith("_reason") or name in SEEN_TWICE:
            continue
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{prefix}{name} ")
        elif inner is None:
            reason = value.get(f"{name}_reason")
            yield f"{prefix}{name}", f"none: {reason}" if reason else "none"
        elif name.endswith("_bytes") and isinstance(inner, int | float):
            yield f"{prefix}{name.removesuffix('_bytes')}", quantity_text(inner, "bytes")
        elif isinstance(inner, bool):
            yield f"{prefix}{name}", "yes" if inner else "no"
        else:
            yield f"{prefix}{name}", ", ".join(map(str, inner)) if isinstance(inner, list) else str(inner)


def overhead_sheet(found: Iterable[Outcome]) -> Sheet:
    """Median and largest overhead, import and total seconds, by trainer and kind of run."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in found:
        if one.ok and one.record:
            settings = one.run.settings
            trainer = "torch" if (settings.get("opponent") or {}).get("trainer") == "torch" else settings["trainer"]
            groups.setdefault((trainer, one.kind), []).append(one.record["seconds"])
    columns = [
        *(column("trainer"), column("kind of run"), column("runs", True)),
        *(column("overhead, median", True, "s"), column("largest", True, "s"), column("import, median", True, "s")),
        column("whole run, median", True, "s"),
    ]
    rows = [
        {"name": f"{trainer} {kind}", "cells": _overhead_cells(trainer, kind, seconds)}
        for (trainer, kind), seconds in sorted(groups.items())
    ]
    caption = "A run of two trainers stands with the one whose library takes longer to import."
    return sheet("overhead", columns, rows, caption)


def _overhead_cells(trainer: str, kind: str, seconds: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    overhead = [one["overhead"] for one in seconds if one["overhead"] is not None]
    imports = [one["import"] for one in seconds if one["import"] is not None]
    largest = max(overhead, default=None)
    over = largest is not None and largest > ALLOWED_OVERHEAD_SECONDS
    return [
        text_cell("trainer", setting_value("trainer", trainer), trainer=trainer),
        text_cell("kind of run", kind),
        number_cell("runs", len(seconds), str(len(seconds))),
        _seconds_cell("overhead median", median(overhead) if overhead else None),
        _seconds_cell("overhead largest", largest) | ({"detail": "over 1.0 s", "short": True} if over else {}),
        _seconds_cell("import median", median(imports) if imports else None),
        _seconds_cell("total median", median(one["total"] for one in seconds)),
    ]


def _seconds_cell(name: str, value: float | None) -> Sheet:
    return number_cell(name, value, "–" if value is None else f"{value:.2f}")
