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


def plot_problems(experiment: Experiment, found: Mapping[str, Outcome], results: Path) -> Iterator[str]:
    for data in plots(experiment, found):
        where = f"plot {experiment.name}-{data['plot']}"
        paths = plot_paths(data, results)
        try:
            content = {ending: path.read_bytes() for ending, path in paths.items()}
        except OSError as wrong:
            yield f"{where}: {wrong.filename} cannot be read: {wrong.strerror}"
            continue
        wanted = json.loads(series_text(data))
        yield from _series(f"{where}, JSON", _parsed(content["json"]), wanted)
        yield from _series(f"{where}, SVG metadata", drawn_in(content["svg"]), wanted)
        yield from _drawing(where, content, data)


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


def _drawing(where: str, content: Mapping[str, bytes], data: Mapping[str, Any]) -> Iterator[str]:
    """The drawn lines themselves; another version of Matplotlib draws the same series in other bytes."""
    drawn_by = re.search(rb"Matplotlib (\d[\w.]*)", content["svg"])
    version = drawn_by.group(1).decode("ascii") if drawn_by else "unknown"
    if version != mpl.__version__:
        if not drawn_by:
            yield f"{where}: the SVG does not say what drew it, wanted Matplotlib {mpl.__version__}"
        return
    svg, png = render(data)
    for _, old, new in differences(_drawn(content["svg"]), _drawn(svg)):
        yield f"{where}, drawing: the SVG has {old}, drawn from the records it has {new}"
    if content["png"] != png:
        yield f"{where}: the PNG is not what the records draw: {len(content['png'])} bytes, wanted {len(png)}"


def _drawn(svg: bytes) -> str:
    """The SVG without its metadata, whose series are compared by name."""
    return re.sub(r"<metadata>.*?</metadata>", "", svg.decode("utf-8", "replace"), flags=re.DOTALL)
