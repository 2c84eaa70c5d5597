"""The page as text: what it says, in which words, and that it needs nothing from outside."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html import unescape

import pytest
import synthetic

from pocket.bench.draw.plot import write_plots
from pocket.bench.page.report import render_page, write_report
from pocket.bench.plan.spec import Plan
from pocket.mistake import Mistake


def visible(page):
    """The text a reader sees, blanks joined."""
    page = re.sub(r"<(style|script)>.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def section(page, name):
    return visible(re.search(rf'<section id="{name}".*?</section>', page, flags=re.DOTALL).group(0))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    plan, results = synthetic.build(folder)
    return plan, results, (results / "report.html").read_text(encoding="utf-8")


def again(plan, folder, changes):
    """The page of the same plan when some records differ."""
    synthetic.write_all(plan, folder, changes)
    for experiment in plan.experiments:
        write_plots(experiment, folder)
    return write_report(plan, folder).read_text(encoding="utf-8")


def pick(plan, **settings):
    return next(run for run in plan.runs if all(run.settings.get(name) == value for name, value in settings.items()))


def test_the_head_counts_runs_and_names_machine_suite_and_date(built):
    head = visible(re.search(r"<header.*?</header>", built[2], flags=re.DOTALL).group(0))
    assert "suite quick" in head
    assert "Synthetic CPU @ 2.00GHz, 2 cores, 8.00 GiB, BLAS kernel SkylakeX." in head
    assert "Measured 2026-11-30 12:00 UTC" in head
    number = len(built[0].runs)
    assert re.search(rf"{number} runs {number - 2} ok 2 unsupported", head)


def test_each_experiment_is_answered_from_its_records(built):
    answers = section(built[2], "answers")
    for experiment in built[0].experiments:
        assert experiment.question in answers
    assert re.search(
        r"The engine's step takes 1\.3\d× PyTorch's \(95 % interval 1\.\d+–1\.\d+, n = 5 ABBA quads", answers
    )
    assert "PyTorch at allocator raised, its faster setting; 0.9" in answers
    assert re.search(
        r"Test accuracy: engine \d\d\.\d\d %, PyTorch \d\d\.\d\d %, difference [+−]\d\.\d\d points", answers
    )
    assert "PyTorch against itself: 1.00" in answers
    assert (
        "Live peak, precision fp32 → amp: engine 25.3 MiB → unsupported; PyTorch 46.0 MiB → 31.2 MiB (×0.68)" in answers
    )


def test_tables_show_units_intervals_and_n(built):
    table = section(built[2], "batch_sweep")
    assert "live peak MiB" in table
    assert "step time ms" in table
    assert re.search(r"engine 64 2 ok 25\.3 ", table)
    assert re.search(r"3\d\.\d – 3\d\.\d, n = 20", table)


def test_an_unsupported_row_says_why_and_how_to_redo_it(built):
    amp = section(built[2], "amp")
    assert "8 runs 6 ok 2 unsupported" in amp
    assert "the engine has no mixed precision yet" in amp
    for run in built[0].experiment("amp").runs:
        assert f"pocket bench run {run.id}" in amp


def test_the_first_ten_losses_stand_side_by_side(built):
    shown = section(built[2], "engine_vs_torch")
    assert "The first 10 losses side by side" in shown
    assert len(re.findall(r"\d+ \d\.\d{9} \d\.\d{9} \d\.\de-\d\d", shown)) == 10


def test_pairs_show_both_allocators_and_machine_and_overhead_have_sections(built):
    shown = section(built[2], "engine_vs_torch")
    assert "PyTorch, allocator default" in shown
    assert "PyTorch, allocator raised" in shown
    assert re.search(r"engine train \d+ 0\.30 0\.30 1\.70", section(built[2], "overhead"))
    machine = section(built[2], "machine")
    for text in ("torch 2.14.1", "cupy none: not installed", "BLAS kernel SkylakeX", "SkylakeX", "memory 8.00 GiB"):
        assert text in machine


def test_nothing_leaves_the_page(built):
    page = built[2]
    assert "default-src 'none'" in page
    links = re.findall(r"""(?:src|href|srcset|action|data|poster)\s*=\s*["']([^"']*)""", page)
    assert links
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert "@import" not in page
    assert set(re.findall(r"url\(([^)]{1,3})", page)) <= {"#p1", "#p2", "#p3", "#p4", "#p5"}
    assert len(page.encode()) < 3_000_000


def test_ids_of_inlined_plots_do_not_collide(built):
    ids = re.findall(r'\bid="([^"]+)"', built[2])
    assert len(ids) == len(set(ids))
    for target in re.findall(r'(?:url\(#|href="#)([^)"]+)', built[2]):
        assert target in ids


def test_the_same_records_give_the_same_page(built):
    assert render_page(built[0], built[1]) == built[2]


def test_no_banner_without_cause(built):
    assert 'role="alert"' not in built[2]


def itself(plan, factor):
    """Changes that make PyTorch against itself take turns at `factor`, with noise between quads."""
    run = pick(plan, kind="pair", trainer="torch")
    blocks = [
        {"side": side, "step_seconds": [0.03 * (factor if side == "a" else 1) * (1 + 0.002 * (n % 3))] * 5}
        for n, side in enumerate("abba" * 5)
    ]
    return {run.id: {"values": {"blocks": blocks}}}


def test_an_interval_outside_three_per_cent_takes_trust_from_timings(built, tmp_path):
    page = again(built[0], tmp_path, itself(built[0], 1.05))
    assert "The timings of this machine cannot be trusted." in page
    assert "not inside ±3 %" in visible(page)


def test_the_interval_and_not_its_middle_is_judged(built, tmp_path):
    run = pick(built[0], kind="pair", trainer="torch")
    factors = [0.9, 1.1, 0.95, 1.05, 1.0]  # the median ratio is exactly 1
    blocks = [
        {"side": side, "step_seconds": [0.03 * (factor if side == "a" else 1)] * 5}
        for factor in factors
        for side in "abba"
    ]
    page = again(built[0], tmp_path, {run.id: {"values": {"blocks": blocks}}})
    assert "The timings of this machine cannot be trusted." in page


def test_a_forced_kernel_stale_records_and_another_machine_are_announced(built, tmp_path):
    plan = built[0]
    machine = synthetic.MACHINE | {"blas_kernel_forced": "Haswell"}
    forced, stale, other, mapped = plan.runs[:4]
    changes = {
        forced.id: {"machine": machine},
        stale.id: {"code": {"digest": "old", "parts": {}}},
        other.id: {"machine": synthetic.MACHINE | {"cpu": "Another CPU"}},
        mapped.id: {"machine": synthetic.MACHINE | {"malloc_reason": "malloc: raised was asked for, and it was not"}},
    }
    page = visible(again(plan, tmp_path, changes))
    assert f"OPENBLAS_CORETYPE=Haswell was set in 1 of {len(plan.runs)} runs" in page
    assert f"1 of {len(plan.runs)} were made by code that has changed since" in page
    assert "The records come from different machines" in page
    assert f"raised was asked for, and it was not, in 1 of {len(plan.runs)} runs: {mapped.id}" in page
    assert "1 stale" in page


def test_a_page_without_any_record_is_built_and_says_so(built, tmp_path):
    for experiment in built[0].experiments:
        write_plots(experiment, tmp_path)
    page = visible(write_report(built[0], tmp_path).read_text(encoding="utf-8"))
    assert "This report is incomplete." in page
    assert "No answer yet: none of its runs has been done." in page
    assert f"{len(built[0].runs)} missing" in page


def test_failed_runs_show_their_status_and_reason(built, tmp_path):
    plan = built[0]
    broken = pick(plan, kind="train", trainer="torch", batch_size=256)
    diverged = pick(plan, kind="train", dataset="tabular", trainer="engine")
    values = synthetic.body(diverged)["values"]
    values["updates"]["loss"][5] = float("nan")
    changes = {
        broken.id: synthetic.failed("oom_host", "exit status 137 at update 12"),
        diverged.id: {"status": "diverged", "reason": "the loss was nan at update 6", "values": values},
    }
    page = again(plan, tmp_path, changes)
    sweep, tabular = section(page, "batch_sweep"), section(page, "tabular")
    assert "1 oom host exit status 137 at update 12" in sweep
    assert "PyTorch 256 1 ok 1 oom host" in sweep
    assert "1 diverged the loss was nan at update 6" in tabular
    assert "nan" not in re.sub("loss was nan", "", tabular)


def test_markup_in_names_is_shown_as_text(built, tmp_path):
    plan = built[0]
    odd = replace(
        plan.experiment("tabular"), title="<b>x</b>", question='Is "<script>alert(1)</script>" text?', notes="<u>n</u>"
    )
    run = odd.runs[0]
    changes = {run.id: synthetic.failed("error", "<img src=x onerror=alert(1)>")}
    page = again(Plan((odd,), plan.suite, plan.device), tmp_path, changes)
    for text in ("<b>x</b>", "<script>alert", "<u>n</u>", "<img"):
        assert text not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page


def test_a_lacking_plot_is_a_mistake_that_says_what_draws_it(built, tmp_path):
    synthetic.write_all(built[0], tmp_path)
    with pytest.raises(Mistake, match="pocket bench plots amp"):
        write_report(built[0], tmp_path)


def test_everything_right_of_a_record_works_without_the_trainers_libraries(built, tmp_path):
    code = (
        "import sys\n"
        "for name in ('torch', 'torchvision', 'cupy', 'numba', 'sklearn', 'pocket.engine', 'pocket.baseline'):\n"
        "    sys.modules[name] = None\n"
        "from pathlib import Path\n"
        "from pocket.bench.judge.collate import write_table\n"
        "from pocket.bench.draw.plot import write_plots\n"
        "from pocket.bench.page.report import write_report\n"
        "from pocket.bench.plan.spec import load\n"
        "from pocket.bench.judge.verify import verify\n"
        "plan, results = load(Path(sys.argv[1]), 'quick', 'cpu'), Path(sys.argv[2])\n"
        "for experiment in plan.experiments:\n"
        "    write_table(experiment, results), write_plots(experiment, results)\n"
        "write_report(plan, results)\n"
        "assert not verify(plan, results).problems\n"
    )
    experiments, results = tmp_path / "experiments", tmp_path / "results"
    shutil.copytree(built[1] / "records", results / "records")
    shutil.copytree(built[0].experiments[0].path.parent, experiments)
    subprocess.run([sys.executable, "-W", "error", "-c", code, experiments, results], check=True)
    assert (results / "report.html").read_text(encoding="utf-8") == built[2]


def test_an_overhead_above_a_second_is_marked(built, tmp_path):
    run = pick(built[0], kind="train", dataset="tabular", trainer="torch")
    seconds = synthetic.body(run)["seconds"] | {"overhead": 1.4, "total": 5.3}
    page = again(built[0], tmp_path, {run.id: {"seconds": seconds}})
    assert re.search(r"PyTorch train \d+ 0\.30 1\.40 over 1\.0 s", section(page, "overhead"))
    assert "over 1.0 s" not in section(built[2], "overhead")


def test_a_pairs_columns_have_names_of_their_own_and_the_self_test_stands_below(built):
    shown = section(built[2], "engine_vs_torch")
    assert "first opponent first's step ms opponent's step ms engine / PyTorch ×" in shown
    assert re.search(r"PyTorch against itself on this machine: (0\.99|1\.0)\d+ \(\d\.\d+–\d\.\d+\)\.", shown)
    own = section(built[2], "self_test")
    assert "opponent's step ms first / opponent ×" in own
    assert "on this machine" not in own
    assert "Dashed: 1, both take the same time." in shown


def test_no_band_is_promised_where_one_seed_has_none(built):
    one, three = section(built[2], "tabular"), section(built[2], "engine_vs_torch")
    assert "Training loss over epoch; one seed." in one
    assert "R², test loss, training loss: one seed" in one
    assert "mean over seeds" not in one
    assert "Test accuracy over epoch; mean over seeds, band: 95 % interval." in three


def test_what_a_trainer_never_has_is_told_once(built):
    notes = section(built[2], "batch_sweep")
    assert "No reserved peak for PyTorch: PyTorch's CPU allocator keeps no pool." in notes


def test_what_some_rows_lack_is_told_row_by_row(built, tmp_path):
    run = pick(built[0], kind="train", trainer="engine", batch_size=128)
    values = synthetic.body(run)["values"]
    values["memory"] |= {"reserved_peak_bytes": None, "reserved_peak_bytes_reason": "not asked"}
    page = again(built[0], tmp_path, {run.id: {"values": values}})
    assert "No reserved peak for engine batch size 128: not asked." in section(page, "batch_sweep")


def test_last_batches_are_one_sentence(built, tmp_path):
    changes = {}
    for batch, rest in ((64, 29), (128, 29), (256, 157)):
        text = f"the last batch of each epoch has {rest} of {batch} samples, and its loss is the mean over those {rest}"
        for run in built[0].experiment("batch_sweep").runs:
            if run.settings["batch_size"] == batch:
                changes[run.id] = {"data": {"id": "digits", "digest": "0" * 64, "notes": [text, "they are small"]}}
    shown = section(again(built[0], tmp_path, changes), "batch_sweep")
    wanted = "The last batch of each epoch has 29 of 64, 29 of 128 or 157 of 256 samples, and its loss is the mean over"
    assert f"{wanted} those. They are small." in shown


def test_the_machine_is_told_without_the_parts_of_a_pair_and_each_library_once(built, tmp_path):
    plan = built[0]
    worker = synthetic.MACHINE | {"torch": "2.14.1+cu130", "sides": {"a": {"blas": {"library": "openblas"}}}}
    page = again(plan, tmp_path, {run.id: {"machine": worker} for run in plan.runs[:3]})
    machine = section(page, "machine")
    assert "torch 2.14.1+cu130 " in machine
    assert "2.14.1 (" not in machine
    assert "sides" not in machine
    other = again(plan, tmp_path, {plan.runs[0].id: {"machine": synthetic.MACHINE | {"torch": "2.13.0"}}})
    assert "2.13.0 (1 runs)" in section(other, "machine")


def test_the_glossary_says_how_to_read_ratios_and_peaks(built):
    glossary = section(built[2], "glossary")
    assert "below 1 the first is faster" in glossary
    assert "one run of two processes" in glossary
    assert "live may stand slightly above reserved" in glossary
    assert "the cell shows a dash" in glossary
