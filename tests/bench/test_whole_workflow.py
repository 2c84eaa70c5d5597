"""The whole of it in a hostile folder: both trainers, real data, a report, and the proof that its numbers follow."""

import re
import subprocess

import numpy as np
import pytest
from browser import console, opened, watched
from PIL import Image
from scratch import TINY, at_work, bench_command, environment, make, planned, project

from pocket.bench import record as records
from pocket.bench.plan.spec import load

pytestmark = pytest.mark.slow

PICTURES = "bilder é_1.0+50% of it's"
OWN_PICTURES = f"""
question: Does a folder of pictures with an odd name train?
base: {{model: mlp, dataset: "folder:{PICTURES}", resolution: 8, batch_size: 4, max_updates: 3, warmup_updates: 1}}
suites: {{quick: }}
show: {{table: {{rows: [trainer], columns: [accuracy]}}, plots: [{{x: update, y: loss_curve}}]}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = project(tmp_path_factory.mktemp("whole"), {"tiny": TINY, "own.pictures+1": OWN_PICTURES})
    rng = np.random.default_rng(0)
    for name in ("chat noir é", "dog"):
        (made / PICTURES / name).mkdir(parents=True)
        for number in range(10):
            pixels = rng.integers(0, 256, (9, 7, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(made / PICTURES / name / f"nr. {number}%.png")
    done = make(made)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def test_every_run_has_an_ok_record_and_every_experiment_its_table_and_plots(folder):
    plan = load(folder / "experiments", "quick", "cpu")
    for run in plan.runs:
        assert records.read(records.path_of(run.id, folder / "results"))["status"] == "ok"
    for experiment in plan.experiments:
        assert (folder / f"results/tables/{experiment.name}.csv").stat().st_size > 0
        for ending in ("svg", "png", "json"):
            assert (folder / f"results/plots/{experiment.name}-1.{ending}").stat().st_size > 0
        assert experiment.question.split("?")[0][:20] in (folder / "results/report.html").read_text()


def test_smaller_batches_went_first(folder):
    made = sorted((folder / "results/records").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    sizes = [int(re.search(r"-b(\d+)-", path.name)[1]) for path in made]
    assert sizes == [4, 16, 16, 32, 32]


def test_nothing_is_left_to_do_and_nobody_at_work(folder):
    assert planned(folder) == {}
    assert not at_work(folder)


def test_numbers_of_the_report_follow_from_the_records(folder):
    command = bench_command("verify", "--suite", "quick", "--device", "cpu")
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_real_page_opens_in_a_browser_with_its_tables_and_plots_and_asks_for_nothing(folder, tmp_path):
    page = folder / "results/report.html"
    dom, stderr = opened(page, tmp_path)
    assert console(stderr) == []
    for name in ("tiny", r"own\.pictures\+1"):
        section = re.search(rf'<section id="{name}".*?</section>', dom, flags=re.DOTALL)[0]
        assert "<tbody>" in section
        assert re.search(r"<svg[^>]*>.*?<path", section, flags=re.DOTALL)
    assert watched(page, tmp_path) == {"errors": [], "blocked": [], "requests": []}
