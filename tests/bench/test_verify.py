"""Whatever is altered after a report was made is named, with what stands there and what should."""

import json
import re
import shutil

import pytest
import synthetic
from PIL import Image

from pocket.bench import record as records
from pocket.bench.judge.verify import verify


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
    assert verify(*pristine) == []


def test_an_altered_field_of_a_record_is_named(copied):
    plan, results = copied
    run = next(run for run in plan.runs if run.settings["kind"] == "train")
    edit(results / "records" / f"{run.id}.json", '"correct": 3', '"correct": 2')
    only(verify(plan, results), f"record {run.id}", "values.epochs", "altered")


def test_a_record_sealed_again_with_another_number_contradicts_table_plot_and_page(copied):
    plan, results = copied
    run = next(run for run in plan.runs if run.settings["kind"] == "memory" and run.settings["trainer"] == "torch")
    path = results / "records" / f"{run.id}.json"
    record = records.read(path)
    record["values"]["memory"]["live_peak_bytes"] += 2**20
    path.unlink()
    records.write(records.seal(record), path)
    problems = verify(plan, results)
    for place in ("table batch_sweep", "plot batch_sweep-1, JSON", "plot batch_sweep-1, SVG metadata", "page, "):
        assert any(problem.startswith(place) for problem in problems), place


def test_an_altered_table_cell_is_named_with_both_values(copied):
    plan, results = copied
    path = results / "tables" / "batch_sweep.csv"
    cell = path.read_text().splitlines()[1].split(",")[5]
    edit(path, cell, "123.0")
    (problem,) = verify(plan, results)
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
    (problem,) = verify(plan, results)
    assert problem.startswith("table self_test")


def test_an_altered_series_in_json_is_named_with_both_values(copied):
    plan, results = copied
    path = results / "plots" / "batch_sweep-1.json"
    data = json.loads(path.read_text())
    right = data["series"][1]["y"][2]
    data["series"][1]["y"][2] = 1.0
    path.write_text(json.dumps(data))
    (problem,) = verify(plan, results)
    assert problem == (f"plot batch_sweep-1, JSON, series PyTorch, y, point 3: it says 1.0, the records {right!r}")


def test_an_altered_series_in_the_svg_is_named_with_both_values(copied):
    plan, results = copied
    right = json.loads((results / "plots" / "batch_sweep-1.json").read_text())["series"][0]["y"][0]
    edit(results / "plots" / "batch_sweep-1.svg", repr(right), "5.0")
    (problem,) = verify(plan, results)
    assert "SVG metadata, series engine, y, point 1: it says 5.0" in problem
    assert repr(right) in problem


def test_an_altered_drawing_is_found_though_its_series_are_right(copied):
    plan, results = copied
    path = results / "plots" / "batch_sweep-1.svg"
    bar = re.search(r'<path d="(M [^"]*)" clip', path.read_text())
    edit(path, bar.group(1), bar.group(1).replace("L", "M", 1))
    only(verify(plan, results), "plot batch_sweep-1, drawing", "path d=M")


def test_an_altered_png_is_found(copied):
    plan, results = copied
    path = results / "plots" / "batch_sweep-2.png"
    with Image.open(path) as image:
        flipped = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    flipped.save(path)
    (problem,) = verify(plan, results)
    assert problem.startswith("plot batch_sweep-2: the PNG is not what the records draw")


@pytest.mark.parametrize("ending", ["svg", "png", "json"])
def test_a_lacking_plot_is_named(copied, ending):
    plan, results = copied
    (results / "plots" / f"batch_sweep-2.{ending}").unlink()
    only(verify(plan, results), "plot batch_sweep-2", f"batch_sweep-2.{ending} cannot be read")


def test_an_altered_number_on_the_page_is_named_with_its_place_and_both_values(copied):
    plan, results = copied
    edit(results / "report.html", ">25.3<", ">20.3<")
    (problem,) = verify(plan, results)
    assert problem.startswith(
        "page, batch_sweep, table batch_sweep, row engine, batch size 64, live peak: it says '20.3'"
    )
    assert "the records '25.3'" in problem


def test_an_altered_answer_hidden_value_or_removed_row_is_found(copied):
    plan, results = copied
    page = results / "report.html"
    whole = page.read_bytes()
    edit(page, "±3\N{NO-BREAK SPACE}%", "±9\N{NO-BREAK SPACE}%")
    only(verify(plan, results), "page, answers, self_test", "±9 %", "±3 %")
    page.write_bytes(whole)
    edit(page, 'data-sort="2', 'data-sort="3')
    only(verify(plan, results), "data-sort=3", "data-sort=2")
    page.write_bytes(
        re.sub(rb'<tr data-name="row PyTorch, batch size 256">.*?</tr>', b"", whole, count=1, flags=re.DOTALL)
    )
    only(verify(plan, results), "row PyTorch, batch size 256", "'nothing'")
    page.write_bytes(whole + b"\n")
    only(verify(plan, results), "blanks only")
    page.unlink()
    only(verify(plan, results), "page:", "cannot be read")


def test_a_plot_altered_on_the_page_alone_is_found(copied):
    plan, results = copied
    page = results / "report.html"
    drawn = re.search(r'<path d="(M [^"]+)"', page.read_text()).group(1)
    edit(page, drawn, "M 0 0")
    only(verify(plan, results), "page, batch_sweep, plot batch_sweep-1", "path d=M 0 0")


def test_a_record_under_another_name_is_named(copied):
    plan, results = copied
    first, second = (results / "records" / f"{run.id}.json" for run in plan.runs[:2])
    shutil.copy(first, second)
    only(verify(plan, results), f"record {second.stem}", first.stem)


def test_records_of_other_suites_are_checked_too(copied):
    plan, results = copied
    (results / "records" / "elsewhere-00000000.json").write_text("{}")
    (problem,) = verify(plan, results)
    assert problem.startswith("record elsewhere-00000000:")
