"""The message for a name that nobody knows: what came, the nearest known name, all known names."""

import difflib
from collections.abc import Iterable


def unknown(what: str, name: object, known: Iterable[str], where: str) -> str:
    """One line, such as: unknown setting 'batchsize' in a.yaml, grid; nearest: 'batch_size'; known: ..."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"nearest: {near[0]!r}; " if near else ""
    return f"unknown {what} {name!r} in {where}; {hint}known: {', '.join(names)}"
