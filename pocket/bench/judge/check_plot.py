"""Does a plot show what the records give: in its JSON, in its SVG's metadata, and in what is drawn?"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import matplotlib as mpl

from pocket.bench.draw.plot import drawn_in, plot_paths, render, series_text
from pocket.bench.judge.outcome import Outcome
from pocket.bench.judge.series import plots
from pocket.bench.page.markup import differences
from pocket.bench.plan.spec import Experiment

ABSENT = object()


def check_plots(experiment: Experiment, found: Mapping[str, Outcome], results: Path) -> tuple[list[str], list[str]]:
    """Problems, and for each drawing that another Matplotlib made, and that therefore is not compared, its version."""
    problems: list[str] = []
    elsewhere: list[str] = []
    for data in plots(experiment, found):
        where = f"plot {experiment.name}-{data['plot']}"
        paths = plot_paths(data, results)
        try:
            content = {ending: path.read_bytes() for ending, path in paths.items()}
        except OSError as wrong:
            problems.append(f"{where}: {wrong.filename} cannot be read: {wrong.strerror}")
            continue
        wanted = json.loads(series_text(data))
        problems += _series(f"{where}, JSON", _parsed(content["json"]), wanted)
        problems += _series(f"{where}, SVG metadata", drawn_in(content["svg"]), wanted)
        svg, png = _makers(content)
        if svg == png and svg not in ("", mpl.__version__):
            elsewhere.append(svg)
            continue
        if svg != mpl.__version__:
            problems.append(f"{where}: the SVG names Matplotlib {svg or 'nowhere'}, the PNG {png or 'nowhere'}")
        if mpl.__version__ in (svg, png):
            problems += _drawing(where, content, data)
    return problems, elsewhere


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _series(where: str, stands: Any, wanted: Any) -> Iterator[str]:
    if stands is None:
        yield f"{where}: holds no series that can be read"
        return
    for place, old, new in _unequal(stands, wanted, ()):
        said, right = ("nothing" if value is ABSENT else repr(value) for value in (old, new))
        yield f"{where}, {_named(wanted, place)}: it says {said}, the records {right}"


def _named(data: Any, place: tuple[Any, ...]) -> str:
    """`series engine, y, point 3` for ("series", 0, "y", 2)."""
    if len(place) > 1 and place[0] == "series" and place[1] < len(data["series"]):
        rest = [f"point {part + 1}" if isinstance(part, int) else str(part) for part in place[2:]]
        return ", ".join([f"series {data['series'][place[1]]['name']}", *rest])
    return " ".join(map(str, place)) or "the whole"


def _unequal(stands: Any, wanted: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    if isinstance(stands, dict) and isinstance(wanted, dict):
        keys: Iterable[Any] = dict.fromkeys([*wanted, *stands])
        inner = ((key, stands.get(key, ABSENT), wanted.get(key, ABSENT)) for key in keys)
    elif isinstance(stands, list) and isinstance(wanted, list):
        inner = ((n, a, b) for n, (a, b) in enumerate(zip_longest(stands, wanted, fillvalue=ABSENT)))
    else:
        if type(stands) is not type(wanted) or stands != wanted:
            yield place, stands, wanted
        return
    for key, a, b in inner:
        yield from _unequal(a, b, (*place, key))


def _makers(content: Mapping[str, bytes]) -> tuple[str, str]:
    """The versions of Matplotlib that the SVG and the PNG name in their metadata; empty where one names none."""
    chunk = re.search(rb"(.{4})tEXtSoftware\0", content["png"], flags=re.DOTALL)
    named = content["png"][chunk.end() :][: int.from_bytes(chunk.group(1)) - len("Software\0")] if chunk else b""
    found = (re.search(rb"Matplotlib (\d[\w.]*)", text) for text in (content["svg"], named))
    svg, png = (one.group(1).decode("ascii") if one else "" for one in found)
    return svg, png


def _drawing(where: str, content: Mapping[str, bytes], data: Mapping[str, Any]) -> Iterator[str]:
    """The drawn lines themselves."""
    svg, png = render(data)
    for _, old, new in differences(_drawn(content["svg"]), _drawn(svg)):
        yield f"{where}, drawing: the SVG has {old}, drawn from the records it has {new}"
    if content["png"] != png:
        yield f"{where}: the PNG is not what the records draw: {len(content['png'])} bytes, wanted {len(png)}"


def _drawn(svg: bytes) -> str:
    """The SVG without its metadata, whose series are compared by name."""
    return re.sub(r"<metadata>.*?</metadata>", "", svg.decode("utf-8", "replace"), flags=re.DOTALL)
