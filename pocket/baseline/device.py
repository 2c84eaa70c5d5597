"""Where a run computes and in which numbers."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def device(settings: Mapping[str, Any]) -> torch.device:
    """The setting `device`. ValueError for anything but cpu and cuda, and for cuda where PyTorch finds no card."""
    name = settings["device"]
    if name not in ("cpu", "cuda"):
        raise ValueError(f"device {name!r} is not supported; wanted cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("device 'cuda' was asked for, but PyTorch finds no CUDA card here; set device: cpu")
    return torch.device(name)


def dtype(settings: Mapping[str, Any]) -> torch.dtype:
    """The setting `dtype`, float32 unless set. ValueError when it is neither float32 nor float64."""
    name = settings.get("dtype", "float32")
    if name not in DTYPES:
        raise ValueError(f"dtype {name!r} is not supported; wanted float32 or float64")
    return DTYPES[name]


def is_mixed(settings: Mapping[str, Any]) -> bool:
    """Whether the setting `precision` asks for AMP. ValueError when it is neither fp32 nor amp, or amp of float64."""
    precision = settings.get("precision", "fp32")
    if precision not in ("fp32", "amp"):
        raise ValueError(f"precision {precision!r} is not supported; wanted fp32 or amp")
    if precision == "amp" and dtype(settings) != torch.float32:
        raise ValueError("precision 'amp' mixes with float32 only; set dtype: float32")
    return precision == "amp"


def autocast(device: torch.device, enabled: bool) -> AbstractContextManager:
    """Convolutions and products in half precision: float16 on a card, bfloat16 on a CPU. Parameters stay float32."""
    half = torch.float16 if device.type == "cuda" else torch.bfloat16
    return torch.autocast(device.type, dtype=half, enabled=enabled)


def memory_format(settings: Mapping[str, Any]) -> torch.memory_format:
    """The setting `memory_format`: channels_last (N H W C in memory) unless set to contiguous (N C H W)."""
    formats = {"channels_last": torch.channels_last, "contiguous": torch.contiguous_format}
    name = settings.get("memory_format") or "channels_last"
    if name not in formats:
        raise ValueError(f"memory_format {name!r} is not supported; wanted {' or '.join(formats)}")
    return formats[name]
