"""Plots: SVG and PNG from one figure, and the series drawn, as JSON beside them and inside the SVG's metadata."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG

from pocket.bench.draw.drawing import draw
from pocket.bench.judge.outcome import outcomes
from pocket.bench.judge.series import plots
from pocket.bench.plan.spec import Experiment
from pocket.bench.record import place

Data = Mapping[str, Any]
PNG_DPI = 150
DESCRIPTION = "{http://purl.org/dc/elements/1.1/}description"


def series_text(data: Data) -> str:
    """Strict JSON, one text for equal data: what could not be drawn is null, never nan."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, sort_keys=True)


def render(data: Data) -> tuple[bytes, bytes]:
    """(SVG, PNG). The canvases are made here, whatever MPLBACKEND says, so no display is ever looked for.

    The SVG is the same text each time: ids come from a salt, and it holds no date.
    """
    figure = draw(data)
    svg, png = io.BytesIO(), io.BytesIO()
    figure.set_dpi(PNG_DPI)
    FigureCanvasAgg(figure).print_png(png, metadata={"Software": _drawn_by(), "Description": series_text(data)})
    with mpl.rc_context({"svg.hashsalt": f"{data['experiment']}-{data['plot']}", "svg.fonttype": "none"}):
        described = {"Date": None, "Creator": _drawn_by(), "Description": series_text(data)}
        FigureCanvasSVG(figure).print_svg(svg, metadata=described)
    return svg.getvalue(), png.getvalue()


def _drawn_by() -> str:
    return f"Matplotlib {mpl.__version__}"


def drawn_in(svg: bytes) -> dict[str, Any] | None:
    """The series that an SVG carries in its metadata; None when it carries none that can be read."""
    try:
        found = ElementTree.fromstring(svg).iter(DESCRIPTION)
        return json.loads(next(found).text or "")
    except (ElementTree.ParseError, StopIteration, ValueError):
        return None


def plot_paths(data: Data, results: Path) -> dict[str, Path]:
    stem = results / "plots" / f"{data['experiment']}-{data['plot']}"
    return {ending: stem.with_name(f"{stem.name}.{ending}") for ending in ("svg", "png", "json")}


def write_plots(experiment: Experiment, results: Path) -> list[Path]:
    """Write results/plots/NAME-N.svg, .png and .json for each plot of the experiment, N from 1."""
    written = []
    for data in plots(experiment, outcomes(experiment.runs, results)):
        paths = plot_paths(data, results)
        svg, png = render(data)
        for ending, content in (("svg", svg), ("png", png), ("json", (series_text(data) + "\n").encode("utf-8"))):
            place(paths[ending], content)
            written.append(paths[ending])
    return written
