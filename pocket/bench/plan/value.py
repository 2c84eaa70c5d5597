"""What a setting may hold: each function makes a parser that returns the value or raises ValueError(what is wanted)."""

import math
import re
from collections.abc import Callable
from typing import Any

Parse = Callable[[Any], Any]

_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?")
_LEADING_ZERO = re.compile(r"[-+]?0\d")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B")


def whole(least: int) -> Parse:
    """A whole number of at least `least`; 64.0, 1e3 and the text '1_000' are whole numbers, true and '010' are not."""
    return lambda value: int(
        _bounded(value, f"a whole number of at least {least}", lambda x: x.is_integer() and x >= least)
    )


def number(least: float, *, open_below: bool = False) -> Parse:
    """A finite number of at least `least`, or above it; 1e-3 and '1e-3' are numbers, nan and true are not."""
    wanted = f"a number {'above' if open_below else 'of at least'} {least:g}"
    return lambda value: _bounded(value, wanted, lambda x: x > least if open_below else x >= least)


def choice(*names: str) -> Parse:
    """One of some names."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"one of: {', '.join(names)}")
        return value

    return parse


def flag(value: Any) -> bool:
    """True or false; no other word, and no number, passes for one."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def optional(parse: Parse) -> Parse:
    """Null, or what `parse` takes."""

    def parse_or_none(value: Any) -> Any:
        if value is None:
            return None
        try:
            return parse(value)
        except ValueError as error:
            raise ValueError(f"null or {error}") from None

    return parse_or_none


def names_from(*known: str) -> Parse:
    """A list of names, each at most once; it is put into the order of `known`, in which they are applied."""

    def parse(value: Any) -> list[str]:
        if not isinstance(value, list) or any(name not in known for name in value) or len(set(value)) < len(value):
            raise ValueError(f"a list with each of these at most once: {', '.join(known)}")
        return [name for name in known if name in value]

    return parse


def dataset(*known: str) -> Parse:
    """A data set's name, or folder:PATH."""

    def parse(value: Any) -> str:
        if isinstance(value, str) and (value in known or (value.startswith("folder:") and len(value) > len("folder:"))):
            return value
        raise ValueError(f"one of: {', '.join(known)}, or folder:PATH")

    return parse


def size_bytes(text: Any) -> int:
    """Bytes of "8GB" (powers of 1000) or "512 MiB" (powers of 1024)."""
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if not match or not float(match[1]):
        raise ValueError('a size such as "8GB" (powers of 1000) or "512MiB" (powers of 1024)')
    return int(float(match[1]) * (1024 if match[3] else 1000) ** (" KMGT".index(match[2])))


def size(value: Any) -> str:
    """A size as text, without blanks."""
    size_bytes(value)
    return value.replace(" ", "")


def mapping(value: Any) -> dict[str, Any]:
    """Names and values; what they may be is checked where they are used."""
    if not isinstance(value, dict):
        raise ValueError("names and values, such as {trainer: torch, malloc: raised}")
    return value


def _bounded(value: Any, wanted: str, allowed: Callable[[float], bool]) -> float:
    number = _as_float(value)
    if number is None or not math.isfinite(number) or not allowed(number):
        raise ValueError(wanted)
    return number + 0.0  # -0.0 and 0.0 are one setting


def _as_float(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value) and not _LEADING_ZERO.match(value):
        value = value.replace("_", "")
    elif not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):
        return None
