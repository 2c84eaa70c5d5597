"""Plots: headless, deterministic, honest about what they cannot draw, and carrying the series they show."""

import io
import json
import math
import os
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import synthetic
from PIL import Image

from pocket.bench.draw import palette
from pocket.bench.draw.drawing import draw
from pocket.bench.draw.plot import drawn_in, render, series_text, write_plots
from pocket.bench.judge.outcome import outcomes
from pocket.bench.judge.series import plot_data, plots


def series(y, x=None, name="engine", trainer="engine", spread=None):
    low, high = (None, None) if spread is None else spread
    n = len(y)
    x = list(range(1, n + 1)) if x is None else x
    return {
        "name": name,
        "key": {"trainer": trainer},
        "x": x,
        "y": y,
        "low": [low] * n,
        "high": [high] * n,
        "n": [1] * n,
    }


def data(*shown, kind="line", scale="auto", y="step_seconds", unit="s", x="batch_size", notes=()):
    return {
        "experiment": "x",
        "plot": 1,
        "kind": kind,
        "scale": scale,
        "x": {"name": x, "label": x, "unit": ""},
        "y": {"name": y, "label": y, "unit": unit, "spread": "median"},
        "series": list(shown),
        "notes": list(notes),
    }


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")) if text.get_text()]


def coloured_pixels(png, colour):
    """How many pixels of the axes, the legend above them left out, have a colour."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    pixels = pixels[len(pixels) // 5 :]
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(pixels - wanted).sum(axis=2) < 12).sum())


@pytest.mark.parametrize("kind", ["line", "bars"])
def test_zero_and_nan_on_a_logarithmic_axis_are_gaps_with_a_note(kind):
    shown = data(series([0.0, 10.0, math.nan]), scale="log", kind=kind)
    figure = draw(shown)
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    assert any("2 of 3 values not finite, zero or negative" in text for text in texts(figure))
    if kind == "line":
        drawn = axes.lines[0].get_ydata()
        assert [math.isnan(y) for y in drawn] == [True, False, True]


def test_a_series_of_zeros_takes_a_linear_axis_even_when_a_logarithmic_one_was_asked_for():
    figure = draw(data(series([0.0, 0.0, 0.0]), scale="log"))
    assert figure.axes[0].get_yscale() == "linear"
    assert figure.axes[0].get_ylim()[0] <= 0


@pytest.mark.parametrize("shown", [[], [series([])], [series([None, None])]])
@pytest.mark.parametrize("kind", ["line", "bars"])
def test_an_empty_plot_says_no_data(shown, kind):
    svg, png = render(data(*shown, kind=kind))
    assert b">no data<" in svg
    assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize("x", ["batch_size", "epoch", "update"])
def test_a_single_point_is_visible(x):
    _, png = render(data(series([3.0]), x=x, unit=""))
    assert coloured_pixels(png, palette.COLOURS["engine"]) > 60


def test_a_single_point_among_many_gaps_is_visible():
    lonely = [None] * 100
    lonely[50] = 3.0
    _, png = render(data(series(lonely), x="update", unit=""))
    assert coloured_pixels(png, palette.COLOURS["engine"]) > 60


def test_no_display_is_looked_for(tmp_path):
    code = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "import test_plot\n"
        "from pocket.bench.draw.plot import render\n"
        "import pathlib\n"
        "pathlib.Path(sys.argv[2]).write_bytes(render(test_plot.data(test_plot.series([1.0, 2.0])))[1])\n"
        "assert 'tkinter' not in sys.modules\n"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    here, png = os.path.dirname(__file__), tmp_path / "a.png"
    command = [sys.executable, "-W", "error", "-c", code, here, str(png)]
    subprocess.run(command, env=environment | {"MPLBACKEND": "TkAgg"}, check=True)
    with Image.open(png) as image:
        assert image.size[0] > 600


def test_fifty_plots_leave_no_figure_open():
    for _ in range(50):
        draw(data(series([1.0, 2.0])))
    assert plt.get_fignums() == []


def test_the_same_data_give_the_same_bytes():
    shown = data(series([1.0, 2.0], spread=(0.5, 2.5)), series([2.0, 3.0], trainer="torch"))
    assert render(shown) == render(shown)
    assert b"<dc:date>" not in render(shown)[0]


def test_the_svg_carries_its_series_and_odd_names_stay_text():
    name = '<b>x</b> & "q" $a$ \\frac{'
    shown = data(series([1.0, None], name=name))
    svg, _ = render(shown)
    assert drawn_in(svg) == json.loads(series_text(shown))
    assert b"<b>x</b>" not in svg
    assert re.search(rb"<text[^>]*>[^<]*\$a\$", svg)
    assert name in texts(draw(shown))


def test_series_with_a_nan_are_refused_as_json():
    with pytest.raises(ValueError, match="not JSON compliant"):
        series_text(data(series([math.nan])))


def test_an_svg_without_series_gives_none():
    for broken in (b"", b"<svg", b"<svg></svg>"):
        assert drawn_in(broken) is None


def test_trainers_keep_their_colours_whatever_their_order_and_number():
    torch_first = [series([1.0], trainer="torch"), series([1.0]), series([1.0], trainer="torch")]
    assert palette.looks(data(*torch_first)) == [("#D55E00", 0), ("#0072B2", 0), ("#D55E00", 1)]


def test_axes_carry_units_and_error_bars_the_interval():
    figure = draw(data(series([0.010], spread=(0.008, 0.013)), kind="bars", unit="s"))
    (axes,) = figure.axes
    assert axes.get_ylabel() == "step_seconds, ms"
    (segments,) = [line.get_segments() for line in axes.collections]
    assert sorted(point[1] for point in segments[0]) == pytest.approx([8.0, 13.0])


@pytest.mark.parametrize("ratios", [[0.57, 0.87], [1.4, 2.5]])
@pytest.mark.parametrize("kind", ["line", "bars"])
def test_a_plot_of_ratios_shows_the_line_of_equality(ratios, kind):
    (axes,) = draw(data(series(ratios), kind=kind, unit="ratio", y="step_ratio")).axes
    low, high = axes.get_ylim()
    assert low < 1 < high
    assert any(set(line.get_ydata()) == {1.0} for line in axes.lines)


def test_an_interval_that_reaches_zero_stays_above_it_on_a_logarithmic_axis():
    figure = draw(data(series([10.0, 20.0], spread=(-5.0, 40.0)), scale="log", unit=""))
    (segments,) = [line.get_segments() for line in figure.axes[0].collections]
    assert min(point[1] for segment in segments for point in segment) > 0


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    plan = synthetic.plan_of(folder / "e")
    amp = next(
        run for run in plan.runs if run.settings["trainer"] == "torch" and run.settings.get("precision") == "amp"
    )
    synthetic.write_all(plan, folder, {amp.id: synthetic.failed("oom_host", "exit status 137")})
    return plan, folder, {name: write_plots(plan.experiment(name), folder) for name in synthetic.EXPERIMENTS}


def test_each_plot_is_written_three_times(written):
    _, folder, paths = written
    assert [path.name for path in paths["batch_sweep"]] == [
        f"batch_sweep-{n}.{ending}" for n in (1, 2) for ending in ("svg", "png", "json")
    ]
    for path in (folder / "plots").glob("*.json"):
        assert drawn_in(path.with_suffix(".svg").read_bytes()) == json.loads(path.read_text())


def of(written, name, number):
    plan, folder, _ = written
    experiment = plan.experiment(name)
    return plots(experiment, outcomes(experiment.runs, folder))[number - 1]


def test_a_sweep_has_a_point_for_each_value_and_a_series_for_each_trainer(written):
    shown = of(written, "batch_sweep", 1)
    assert [one["name"] for one in shown["series"]] == ["engine", "PyTorch"]
    assert [one["x"] for one in shown["series"]] == [[64, 128, 256]] * 2
    assert all(value for one in shown["series"] for value in one["y"])


def test_failed_runs_are_gaps_with_a_note(written):
    shown = of(written, "amp", 1)
    assert any("oom_host" in note for note in shown["notes"])
    assert any("unsupported" in note for note in shown["notes"])
    assert [one["y"][1] for one in shown["series"] if one["name"] == "engine"] == [None]


def test_curves_of_several_seeds_have_a_band(written):
    shown = of(written, "engine_vs_torch", 2)
    assert [one["name"] for one in shown["series"]] == [
        "engine, allocator default",
        "PyTorch, allocator default",
        "PyTorch, allocator raised",
    ]
    assert all(n == 3 for one in shown["series"] for n in one["n"])
    bands = [(one["low"][-1], one["y"][-1], one["high"][-1]) for one in shown["series"]]
    assert all(low <= y <= high for low, y, high in bands)
    assert any(low < y < high for low, y, high in bands)


def test_a_pair_stands_at_its_opponents_allocator(written):
    (shown,) = of(written, "engine_vs_torch", 3)["series"]
    assert shown["x"] == ["default", "raised"]
    assert shown["y"][0] < 1 < shown["y"][1]


def test_a_long_curve_shows_its_running_mean_and_every_point_behind_it(written):
    shown = of(written, "tabular", 1)
    assert shown["window"] == 1  # epochs
    plan, folder, _ = written
    experiment = plan.experiment("tabular")
    spec = {"x": "update", "y": "loss_curve", "by": "trainer", "kind": "line"}
    found = outcomes(experiment.runs, folder)
    shown = plot_data("tabular", 1, spec, list(found.values()), ["trainer"])
    assert len(shown["series"][0]["y"]) == 625
    assert shown["window"] == 15
    assert shown["notes"] == ["lines: running mean of 15 updates; faint: each update"]
    faint, mean = draw(shown).axes[0].lines[:2]
    raw = np.array(shown["series"][0]["y"])
    assert list(faint.get_ydata()) == pytest.approx(raw)
    assert mean.get_ydata()[100] == pytest.approx(raw[93:108].mean())
    assert mean.get_ydata()[0] == pytest.approx(raw[:8].mean())
