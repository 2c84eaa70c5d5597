"""Which functions an operator's backward reaches: its own helpers, and the kernels under it, found by name."""

import dataclasses
import functools
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from pocket.engine import kernels
from pocket.engine.kernels import cpu_patch, cpu_product, threads
from pocket.engine.kernels.compile import Kernel

OURS = ("pocket.engine.ops.", "pocket.engine.kernels.")
# Not arithmetic: who calls a kernel, and how work is shared out, which changes no result.
NOT_FOLLOWED = {kernels.of, threads.over, threads.count, cpu_product._smallest, cpu_patch._rows_of_a_strip}


def reached(operator: type) -> set[FunctionType]:
    """Every function of ours behind operator.backward, itself included, forward excluded."""
    members = {name: f for base in reversed(operator.__mro__) for name, f in functions_of(base).items()}
    skipped = NOT_FOLLOWED | {members["forward"]} | {members.get(field.name) for field in dataclasses.fields(operator)}
    fields = {field.name for field in dataclasses.fields(operator)}
    seen: set[FunctionType] = {members["backward"]}
    classes: set[type] = set()
    while True:
        # a class that was met may own a method that a function seen before named: so until nothing is new
        named = [part for function in seen for part in _named_by(function, members, classes, fields)]
        new_classes = {part for part in named if inspect.isclass(part)} - classes
        new = {part for part in named if not inspect.isclass(part)} - seen - skipped
        if not new and not new_classes:
            return seen
        seen, classes = seen | new, classes | new_classes


def _named_by(function: FunctionType, members: dict, classes: set[type], fields: set[str]) -> Iterator[Any]:
    """What of ours a function names: globals exactly, attributes among the operator, the kernels and classes met."""
    exported = functions_of(kernels.of(np.ones(1))) if function.__module__.startswith(OURS[0]) else {}
    for name in names_in(function.__code__):
        part = function.__globals__.get(name)
        if part is not None:
            candidates = [part if inspect.isclass(part) else plain(part)]
        elif name in fields:
            candidates = []
        else:
            methods = [functions_of(owner).get(name) for owner in classes]
            candidates = [exported.get(name), members.get(name), *methods]
        yield from (c for c in candidates if c is not None and c.__module__.startswith(OURS))
    for owner in classes:
        yield from (f for name, f in functions_of(owner).items() if name in ("__init__", "__iter__"))


def functions_of(owner: Any) -> dict[str, FunctionType]:
    """name -> function, of a module or of a class; those that a decorator wrote are left out."""
    found = {name: plain(part) for name, part in vars(owner).items()}
    return {name: f for name, f in found.items() if f is not None and not f.__code__.co_filename.startswith("<")}


def plain(part: Any) -> FunctionType | None:
    """The function under a kernel, a property, a cache or a method."""
    if isinstance(part, Kernel):
        return part.plain
    if isinstance(part, functools.cached_property):
        return part.func
    if isinstance(part, property):
        return part.fget
    part = inspect.unwrap(part) if callable(part) else part
    return part if isinstance(part, FunctionType) else None


def names_in(code: CodeType) -> Iterator[str]:
    """Every global and attribute that the code names, inside nested functions too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)
