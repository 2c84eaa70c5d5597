"""Whatever is altered after a report was made is named, with what stands there and what should."""

import json
import re
import shutil

import pytest
import synthetic
from PIL import Image

from pocket.bench import record as records
from pocket.bench.draw import plot as drawing
from pocket.bench.draw.plot import write_plots
from pocket.bench.judge.collate import write_table
from pocket.bench.judge.verify import Verification, verify
from pocket.bench.page.report import write_report
from pocket.cli import main


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify")
    return synthetic.build(folder, {name: synthetic.EXPERIMENTS[name] for name in ("batch_sweep", "self_test")})


@pytest.fixture
def copied(pristine, tmp_path):
    plan, results = pristine
    shutil.copytree(results, tmp_path / "results")
    return plan, tmp_path / "results"


def edit(path, old, new, count=1):
    text = path.read_bytes().decode("utf-8")
    assert old in text, f"{old!r} is not in {path.name}"
    path.write_bytes(text.replace(old, new, count).encode("utf-8"))


def only(problems, *words):
    """Every problem is of this one alteration, and one of them has all the words."""
    assert problems
    assert any(all(word in problem for word in words) for problem in problems), problems
    return problems


def test_a_fresh_report_has_no_problem(pristine):
    assert verify(*pristine) == Verification((), ())


def test_an_altered_field_of_a_record_is_named(copied):
    plan, results = copied
    run = next(run for run in plan.runs if run.settings["kind"] == "train")
    edit(results / "records" / f"{run.id}.json", '"correct": 3', '"correct": 2')
    only(verify(plan, results).problems, f"record {run.id}", "values.epochs", "altered")


def test_a_record_sealed_again_with_another_number_contradicts_table_plot_and_page(copied):
    plan, results = copied
    run = next(run for run in plan.runs if run.settings["kind"] == "memory" and run.settings["trainer"] == "torch")
    path = results / "records" / f"{run.id}.json"
    record = records.read(path)
    record["values"]["memory"]["live_peak_bytes"] += 2**20
    path.unlink()
    records.write(records.seal(record), path)
    problems = verify(plan, results).problems
    for place in ("table batch_sweep", "plot batch_sweep-1, JSON", "plot batch_sweep-1, SVG metadata", "page, "):
        assert any(problem.startswith(place) for problem in problems), place


def test_an_altered_table_cell_is_named_with_both_values(copied):
    plan, results = copied
    path = results / "tables" / "batch_sweep.csv"
    cell = path.read_text().splitlines()[1].split(",")[5]
    edit(path, cell, "123.0")
    (problem,) = verify(plan, results).problems
    assert problem == (
        f"table batch_sweep, row 1, column live_peak_bytes: the table says '123.0', the records {cell!r}"
    )


@pytest.mark.parametrize("change", ["lost row", "added row", "lost cell", "renamed column", "gone", "empty"])
def test_an_altered_shape_of_a_table_is_named(copied, change):
    plan, results = copied
    path = results / "tables" / "self_test.csv"
    lines = path.read_text().splitlines()
    changed = {
        "lost row": lines[:-1],
        "added row": [*lines, lines[-1]],
        "lost cell": [*lines[:-1], lines[-1].rsplit(",", 1)[0]],
        "renamed column": [lines[0].replace("step_ratio", "ratio"), *lines[1:]],
        "empty": [],
    }
    path.unlink()
    if change in changed:
        path.write_text("".join(f"{line}\n" for line in changed[change]))
    (problem,) = verify(plan, results).problems
    assert problem.startswith("table self_test")


def test_an_altered_series_in_json_is_named_with_both_values(copied):
    plan, results = copied
    path = results / "plots" / "batch_sweep-1.json"
    data = json.loads(path.read_text())
    right = data["series"][1]["y"][2]
    data["series"][1]["y"][2] = 1.0
    path.write_text(json.dumps(data))
    (problem,) = verify(plan, results).problems
    assert problem == (f"plot batch_sweep-1, JSON, series PyTorch, y, point 3: it says 1.0, the records {right!r}")


def test_an_altered_series_in_the_svg_is_named_with_both_values(copied):
    plan, results = copied
    right = json.loads((results / "plots" / "batch_sweep-1.json").read_text())["series"][0]["y"][0]
    edit(results / "plots" / "batch_sweep-1.svg", repr(right), "5.0")
    (problem,) = verify(plan, results).problems
    assert "SVG metadata, series engine, y, point 1: it says 5.0" in problem
    assert repr(right) in problem


def test_an_altered_drawing_is_found_though_its_series_are_right(copied):
    plan, results = copied
    path = results / "plots" / "batch_sweep-1.svg"
    bar = re.search(r'<path d="(M [^"]*)" clip', path.read_text())
    edit(path, bar.group(1), bar.group(1).replace("L", "M", 1))
    only(verify(plan, results).problems, "plot batch_sweep-1, drawing", "path d=M")


def test_an_altered_png_is_found(copied):
    plan, results = copied
    path = results / "plots" / "batch_sweep-2.png"
    with Image.open(path) as image:
        flipped = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    flipped.save(path)
    (problem,) = verify(plan, results).problems
    assert problem.startswith("plot batch_sweep-2: the PNG is not what the records draw")


@pytest.mark.parametrize("ending", ["svg", "png", "json"])
def test_a_lacking_plot_is_named(copied, ending):
    plan, results = copied
    (results / "plots" / f"batch_sweep-2.{ending}").unlink()
    only(verify(plan, results).problems, "plot batch_sweep-2", f"batch_sweep-2.{ending} cannot be read")


def test_an_altered_number_on_the_page_is_named_with_its_place_and_both_values(copied):
    plan, results = copied
    edit(results / "report.html", ">25.3<", ">20.3<")
    (problem,) = verify(plan, results).problems
    assert problem.startswith(
        "page, batch_sweep, table batch_sweep, row engine, batch size 64, live peak: it says '20.3'"
    )
    assert "the records '25.3'" in problem


def test_an_altered_answer_hidden_value_or_removed_row_is_found(copied):
    plan, results = copied
    page = results / "report.html"
    whole = page.read_bytes()
    edit(page, "±3\N{NO-BREAK SPACE}%", "±9\N{NO-BREAK SPACE}%")
    only(verify(plan, results).problems, "page, answers, self_test", "±9 %", "±3 %")
    page.write_bytes(whole)
    edit(page, 'data-sort="2', 'data-sort="3')
    only(verify(plan, results).problems, "data-sort=3", "data-sort=2")
    page.write_bytes(
        re.sub(rb'<tr data-name="row PyTorch, batch size 256">.*?</tr>', b"", whole, count=1, flags=re.DOTALL)
    )
    only(verify(plan, results).problems, "row PyTorch, batch size 256", "'nothing'")
    page.write_bytes(whole + b"\n")
    only(verify(plan, results).problems, "blanks only")
    page.unlink()
    only(verify(plan, results).problems, "page:", "cannot be read")


def test_a_plot_altered_on_the_page_alone_is_found(copied):
    plan, results = copied
    page = results / "report.html"
    drawn = re.search(r'<path d="(M [^"]+)"', page.read_text()).group(1)
    edit(page, drawn, "M 0 0")
    only(verify(plan, results).problems, "page, batch_sweep, plot batch_sweep-1", "path d=M 0 0")


def test_a_record_under_another_name_is_named(copied):
    plan, results = copied
    first, second = (results / "records" / f"{run.id}.json" for run in plan.runs[:2])
    shutil.copy(first, second)
    only(verify(plan, results).problems, f"record {second.stem}", first.stem)


def test_records_of_other_suites_are_checked_too(copied):
    plan, results = copied
    (results / "records" / "elsewhere-00000000.json").write_text("{}")
    (problem,) = verify(plan, results).problems
    assert problem.startswith("record elsewhere-00000000:")


def drawn_by_another(plan, results, monkeypatch):
    """Plots and page as a machine with another Matplotlib makes them."""
    with monkeypatch.context() as patched:
        patched.setattr(drawing, "_drawn_by", lambda: "Matplotlib 1.5.0")
        for experiment in plan.experiments:
            write_plots(experiment, results)
    write_report(plan, results)


def test_drawings_of_another_matplotlib_are_said_to_be_unchecked(copied, monkeypatch, capsys):
    plan, results = copied
    drawn_by_another(plan, results, monkeypatch)
    note = "3 drawings were made by another Matplotlib (1.5.0) and only their series were checked"
    assert verify(plan, results) == Verification((), (note,))
    folders = ["--experiments", str(plan.experiments[0].path.parent), "--results", str(results)]
    assert main(["bench", "verify", "--suite", "quick", "--device", "cpu", *folders]) == 0
    assert capsys.readouterr().out == f"every number follows from the sealed records; {note}\n"


def test_series_of_another_matplotlibs_drawings_are_compared(copied, monkeypatch):
    plan, results = copied
    drawn_by_another(plan, results, monkeypatch)
    right = json.loads((results / "plots" / "batch_sweep-1.json").read_text())["series"][0]["y"][0]
    edit(results / "plots" / "batch_sweep-1.svg", repr(right), "5.0")
    only(verify(plan, results).problems, "SVG metadata, series engine, y, point 1")


@pytest.mark.parametrize("said", ["Matplotlib 1.5.0", "a pencil"])
def test_a_drawing_alone_that_names_another_matplotlib_is_an_alteration(copied, said):
    plan, results = copied
    path = results / "plots" / "batch_sweep-1.svg"
    path.write_text(re.sub(r"Matplotlib \d[\d.]*", said, path.read_text()))
    problems = only(verify(plan, results).problems, "plot batch_sweep-1", "the SVG names Matplotlib")
    assert len(problems) == 1


def make_stale(plan, results, number):
    for run in plan.runs[:number]:
        path = results / "records" / f"{run.id}.json"
        record = records.read(path)
        path.unlink()
        records.write(records.seal({**record, "code": {"digest": "old", "parts": {}}}), path)


def test_records_that_became_stale_are_one_line(copied):
    plan, results = copied
    make_stale(plan, results, 3)
    told = "3 records became stale since the page was made: make report brings it up to date"
    assert verify(plan, results).problems == (told,)
    edit(results / "report.html", ">25.3<", ">20.3<")
    first, second = verify(plan, results).problems
    assert first == told
    assert "it says '20.3'" in second


def test_a_page_that_says_which_records_are_stale_is_right(copied):
    plan, results = copied
    make_stale(plan, results, 3)
    write_report(plan, results)
    (problem,) = verify(plan, results).problems
    assert re.match(r"\d table rows made when fewer or more records were stale: make report", problem)
    for experiment in plan.experiments:
        write_table(experiment, results)
    assert verify(plan, results) == Verification((), ())
    make_stale(plan, results, 4)
    assert verify(plan, results).problems[0].startswith("1 record became stale since the page was made")


def test_a_page_of_nothing_but_stale_records_is_right(copied):
    plan, results = copied
    make_stale(plan, results, len(plan.runs))
    for experiment in plan.experiments:
        write_table(experiment, results)
    write_report(plan, results)
    assert verify(plan, results) == Verification((), ())


def test_a_failed_record_that_is_stale_as_well_is_seen_on_the_page(copied):
    plan, results = copied
    run = plan.runs[0]
    path = results / "records" / f"{run.id}.json"
    path.unlink()
    synthetic.write_record(
        run, results, synthetic.failed("error", "it broke") | {"code": {"digest": "old", "parts": {}}}
    )
    for experiment in plan.experiments:
        write_table(experiment, results)
        write_plots(experiment, results)
    write_report(plan, results)
    assert verify(plan, results) == Verification((), ())


def test_a_report_moved_elsewhere_keeps_its_commands_and_its_numbers(copied, tmp_path):
    plan, results = copied
    moved = tmp_path / "another place"
    shutil.copytree(results, moved)
    assert verify(plan, moved) == Verification((), ())
    edit(moved / "report.html", 'data-folders="', 'data-folders=" --results x; rm')
    only(verify(plan, moved).problems, "page, batch_sweep", ", command: ")
