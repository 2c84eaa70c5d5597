"""What the first page promises exists: its commands, its example, its experiments."""

import argparse
import re
from pathlib import Path

from pocket.bench.command import add_commands
from pocket.bench.plan.document import read_all
from pocket.bench.plan.spec import load

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_is_a_whole_experiment(tmp_path):
    (example,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    name = re.search(r"# experiments/(\w+\.yaml)", example)[1]
    (tmp_path / name).write_text(example)
    plan = load(tmp_path, "quick", "cpu")
    assert len(plan.runs) == 6
    assert {run.settings["batch_size"] for run in plan.runs} == {8, 16, 32}


def test_the_table_names_every_experiment_of_the_report():
    told = re.findall(r"^\| `(\w+)` \| (.*\?) \|$", README, flags=re.MULTILINE)
    texts = read_all(ROOT / "experiments")
    assert told == [(path.stem, text["question"]) for path, text in texts.items() if "quick" in text["suites"]]


def test_every_command_exists():
    parser = argparse.ArgumentParser()
    add_commands(parser)
    for command in re.findall(r"^pocket bench (\w+)", README, flags=re.MULTILINE):
        assert parser.parse_args([command]).command == command
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"^make (\w+)", README, flags=re.MULTILINE)) <= targets


def test_the_tree_shows_every_folder():
    shown = set(re.findall(r"^ *(\w+)/ +\S", README, flags=re.MULTILINE))
    folders = {path.name for path in (*ROOT.iterdir(), *(ROOT / "pocket").iterdir()) if path.is_dir()}
    assert {name for name in folders if name[0] not in "._" and not name.endswith("egg-info")} <= shown
