"""Numbers that JSON can hold: nan and inf become null with a reason beside them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

NAMED = 5  # places written out in a reason before "and … more"


def strict(value: Any) -> Any:
    """A copy of `value` in which no number is nan or inf, ready for `json.dumps(..., allow_nan=False)`.

    In a mapping, a non-finite number under `name` becomes null and `name_reason` says what it was; in a list under
    `name`, each becomes null and `name_reason` says where they stood ("nan at 7, inf at 9"). Elsewhere it becomes
    null. Tuples become lists.
    """
    if isinstance(value, Mapping):
        return _strict_mapping(value)
    if isinstance(value, (list, tuple)):
        return [None if _lost(item) else strict(item) for item in value]
    return None if _lost(value) else value


def _strict_mapping(mapping: Mapping[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = {}
    for name, value in mapping.items():
        copy[name] = strict(value)
        reason = _reason(value)
        if reason and f"{name}_reason" not in mapping:
            copy[f"{name}_reason"] = reason
    return copy


def _lost(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _reason(value: Any) -> str | None:
    if _lost(value):
        return f"it was {value}"
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        places = [f"{item} at {index}" for index, item in enumerate(value) if _lost(item)]
        more = f" and {len(places) - NAMED} more" if len(places) > NAMED else ""
        return ", ".join(places[:NAMED]) + more or None
    return None
