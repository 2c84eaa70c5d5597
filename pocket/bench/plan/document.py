"""The experiment files of a folder, read and checked as far as they can be before a suite is chosen."""

import re
from pathlib import Path
from typing import Any

from pocket.bench.plan import strict_yaml
from pocket.bench.plan.nearest import unknown
from pocket.bench.plan.show import validate_show
from pocket.mistake import Mistake

SUITES = ("quick", "cpu", "gpu", "full", "bench")
_KEYS = ("question", "title", "order", "notes", "base", "grid", "seeds", "suites", "show")
LAST = 100  # the order of an experiment that names none
_OVERRIDES = ("base", "grid", "seeds")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # Windows opens devices by these


def read_all(folder: Path) -> dict[Path, dict[str, Any]]:
    """Path -> checked document of every *.yaml of the folder, `show` completed, in the report's order.

    Raises Mistake.
    """
    misnamed = sorted(folder.glob("*.yml"))
    if misnamed:
        raise Mistake(f"{misnamed[0]} would be passed over; rename it to {misnamed[0].with_suffix('.yaml').name}")
    paths = sorted(path for path in folder.glob("*.yaml") if not path.name.startswith("."))
    if not paths:
        raise Mistake(f"no experiment found: {folder}/*.yaml is empty; name another folder with --experiments")
    checked = {path: _checked(strict_yaml.read(path), path) for path in paths}
    return dict(sorted(checked.items(), key=lambda item: (item[1].get("order", LAST), item[0].name)))


def _checked(document: dict[str, Any], path: Path) -> dict[str, Any]:
    _check_name(path)
    for key in document:
        if key not in _KEYS:
            raise Mistake(unknown("key", key, _KEYS, str(path)))
    question = document.get("question")
    if not isinstance(question, str) or not question.strip().endswith("?"):
        raise Mistake(f'{path}: question is {question!r}; wanted a text that ends in "?"')
    for key in ("title", "notes"):
        if not isinstance(document.get(key, ""), str):
            raise Mistake(f"{path}: {key} is {document[key]!r}; wanted a text")
    order = document.get("order", LAST)
    if isinstance(order, bool) or not isinstance(order, int):
        raise Mistake(f"{path}: order is {order!r}; wanted a whole number: the report shows smaller ones first")
    _check_suites(document.get("suites"), f"{path}: suites")
    return {**document, "show": validate_show(document.get("show"), f"{path}: show")}


def _check_name(path: Path) -> None:
    if not _NAME.fullmatch(path.stem) or ".." in path.stem or _RESERVED.fullmatch(path.stem):
        wanted = (
            "ASCII letters, digits, _ . + and -, beginning with a letter or digit, not a device of Windows (con, nul)"
        )
        raise Mistake(f"{path}: an experiment is not named {path.stem!r}; wanted {wanted}; rename the file")


def _check_suites(suites: Any, where: str) -> None:
    if not isinstance(suites, dict) or not suites:
        raise Mistake(f"{where} is {suites!r}; wanted suites with their overrides, such as {{quick: {{}}, cpu: {{}}}}")
    for suite, overrides in suites.items():
        if suite not in SUITES:
            raise Mistake(unknown("suite", suite, SUITES, where))
        if overrides is not None and not isinstance(overrides, dict):
            raise Mistake(f"{where}.{suite} is {overrides!r}; wanted overrides of: {', '.join(_OVERRIDES)}")
        for key in overrides or {}:
            if key not in _OVERRIDES:
                raise Mistake(unknown("key", key, _OVERRIDES, f"{where}.{suite}"))
