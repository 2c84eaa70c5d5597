"""Numbers as a reader wants them: bytes as MiB or GiB, seconds as ms, shares as per cent; settings as words."""

from collections.abc import Mapping
from typing import Any

MIB, GIB = 2.0**20, 2.0**30
NO_BREAK = "\N{NO-BREAK SPACE}"

# Unit of a record -> (divisor, unit shown) when one unit must serve a whole axis or column.
SHOWN = {
    "s": (1e-3, "ms"),
    "bytes": (MIB, "MiB"),
    "fraction": (1e-2, "%"),
    "1/s": (1.0, "samples/s"),
    "ratio": (1.0, "×"),
}

SETTING_LABELS = {
    "batch_size": "batch size",
    "learning_rate": "learning rate",
    "memory_format": "format",
    "malloc": "allocator",
    "accumulation_steps": "accumulation steps",
    "divide_loss": "loss divided",
    "allocation_bytes": "allocation",
    "train_samples": "training samples",
    "test_samples": "test samples",
    "last_batch": "last batch",
    "max_updates": "updates at most",
    "memory_budget": "memory budget",
    "weight_decay": "weight decay",
}

# Settings that say themselves whether they are on: (false, true).
SWITCHES = {"divide_loss": ("loss not divided", "loss divided"), "nesterov": ("without Nesterov", "with Nesterov")}

SETTING_UNITS = {"resolution": "pixels", "allocation_bytes": "bytes"}

TRAINERS = {"engine": "engine", "torch": "PyTorch"}


def digits(value: float, significant: int = 3) -> str:
    """Three significant digits without an exponent where that reads well: 0.0123, 1.32, 147, 12,400."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 10**significant:
        return f"{value:,.0f}"
    if size < 1e-4:
        return f"{value:.{significant - 1}e}"
    text = f"{value:.{significant}g}"
    return text if "e" not in text else f"{value:.0f}"


def fixed(value: float, reference: float) -> str:
    """`value` with as many decimals as three significant digits of `reference` have: intervals line up with values."""
    text = digits(reference)
    if "e" in text:
        return digits(value)
    decimals = _decimals(reference)
    return f"{value:,.{decimals}f}"


def _decimals(reference: float) -> int:
    if reference == 0:
        return 2
    size = abs(reference)
    return next((decimals for decimals, limit in enumerate((100, 10, 1, 0.1, 0.01, 0.001)) if size >= limit), 6)


def shown(value: float, unit: str, reference: float | None = None) -> tuple[str, str]:
    """(number, unit) as printed. `reference`, where given, decides scale and decimals in place of `value`."""
    guide = value if reference is None else reference
    divisor, name = SHOWN.get(unit, (1.0, unit))
    if unit == "bytes" and abs(guide) >= GIB:
        divisor, name = GIB, "GiB"
    if unit == "fraction":
        return f"{value / divisor:.2f}", name
    if unit == "ratio":
        return f"{value:.3f}" if abs(guide - 1) < 0.1 else f"{value:.2f}", name
    return fixed(value / divisor, guide / divisor), name


def quantity_text(value: float, unit: str) -> str:
    """`46.0 MiB`, with a space at which no line breaks."""
    number, name = shown(value, unit)
    glue = "" if name in ("", "×") else NO_BREAK
    return f"{number}{glue}{name}"


def signed(value: float, decimals: int = 2) -> str:
    """+0.37 or −0.83, with a minus sign as printed; what rounds to zero has no sign."""
    text = f"{value:+.{decimals}f}".replace("-", "−")
    return text if text.strip("+−0.") else text[1:]


def per_cent(share: float) -> str:
    return f"{share * 100:.0f}{NO_BREAK}%"


def setting_label(name: str) -> str:
    return SETTING_LABELS.get(name, name.replace("_", " "))


def setting_value(name: str, value: Any) -> str:
    """A setting's value in words: names stay as they are, an opponent lists what differs."""
    if name == "trainer" and isinstance(value, str):
        return TRAINERS.get(value, value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "all" if name.endswith("_samples") else "none"
    if isinstance(value, Mapping):
        return ", ".join(setting_words(value)) or "itself"
    if isinstance(value, list | tuple):
        return " + ".join(str(one) for one in value) or "none"
    return str(value)


_NAMES_ITSELF = {"trainer", "precision", "model", "dataset", "optimizer", "kind"}


def setting_words(settings: Mapping[str, Any]) -> list[str]:
    """Each setting in a few words: `PyTorch`, `amp`, `batch size 64`, `allocator raised`."""
    return [_setting_words(name, value) for name, value in settings.items()]


def _setting_words(name: str, value: Any) -> str:
    if name in _NAMES_ITSELF:
        return setting_value(name, value)
    if name in SWITCHES and isinstance(value, bool):
        return SWITCHES[name][value]
    return f"{setting_label(name)} {setting_value(name, value)}"
