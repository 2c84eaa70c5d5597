"""The message for a name that nobody knows: what came, the nearest known name, all known names."""

import difflib
from collections.abc import Iterable


def unknown(what: str, name: object, known: Iterable[str], where: str) -> str:
    """One line, such as: unknown setting 'batchsize' in a.yaml: grid; nearest: 'batch_size'; known: ..."""
    names = list(known)
    near = nearest(str(name), names)
    hint = f"nearest: {near!r}; " if near else ""
    return f"unknown {what} {name!r} in {where}; {hint}known: {', '.join(names)}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant: begun alike (batch), spelt alike, or by its initials (lr); else None."""
    names = list(known)
    begun = [other for other in names if other.startswith(name)] if len(name) > 2 else []
    initials = {"".join(word[0] for word in other.split("_")): other for other in names if "_" in other}
    short = [initials[near] for near in difflib.get_close_matches(name, initials, n=1, cutoff=0.75)]
    exact = short if name in initials else []
    return next(iter([*exact, *begun, *difflib.get_close_matches(name, names, n=1, cutoff=0.5), *short]), None)
