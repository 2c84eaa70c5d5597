"""Commands on a page name what they need: nothing beside the defaults, the folders of other pages."""

import os
import shlex
import shutil

import pytest
from synthetic import SELF_TEST, build, plan_of

from pocket.bench.page.redo import folders, run_command, verify_command
from pocket.bench.page.stated import folders_on
from pocket.cli import main

ONE = {"self_test": SELF_TEST}


@pytest.mark.parametrize(
    ("experiments", "results", "told"),
    [
        ("experiments", "results", ""),
        ("results/experiments-1a2b3c4d", "results", " --experiments results/experiments-1a2b3c4d"),
        ("my own", "results", " --experiments 'my own'"),
        ("experiments", "other", " --experiments {here}/experiments --results {here}/other"),
        ("a/experiments", "b/results", " --experiments {here}/a/experiments --results {here}/b/results"),
    ],
)
def test_folders_are_named_where_they_are_not_the_defaults(tmp_path, experiments, results, told):
    plan = plan_of(tmp_path / experiments, ONE)
    told = shlex.join(shlex.split(told.format(here=tmp_path)))
    told = f" {told}" if told else ""
    assert folders(plan, tmp_path / results) == told
    assert folders_on(f'<code data-folders="{told}">') == told


def test_a_way_of_writing_the_folders_changes_nothing(tmp_path, monkeypatch):
    plan = plan_of(tmp_path / "experiments", ONE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    for spelling in ("results", "./results", "results/", "experiments/../results"):
        assert folders(plan, type(tmp_path)(spelling)) == ""


@pytest.mark.parametrize("text", ["", " --results x; rm", " --results", " rm x", " --results  x", ' --results "'])
def test_anything_but_folders_is_no_statement(text):
    assert folders_on(f'<code data-folders="{text}">') == ("" if not text else None)
    assert folders_on("") is None


@pytest.mark.parametrize("results", ["results", "other place"])
def test_the_commands_of_a_page_work(tmp_path, monkeypatch, capsys, results):
    plan, made = build(tmp_path, ONE)
    there = tmp_path / results
    if results != "results":
        shutil.copytree(made, there)
        main(["bench", "report", "--experiments", str(tmp_path / "experiments"), "--results", str(there)])
    told = folders(plan, there)
    page = (there / "report.html").read_text(encoding="utf-8")
    for run in plan.runs:
        assert run_command(run.id, told).replace("'", "&#39;") in page
    command = verify_command(plan, told)
    assert command.replace("'", "&#39;") in page
    monkeypatch.chdir(tmp_path if results == "results" else os.sep)
    assert main(shlex.split(command)[1:]) == 0
    assert "every number follows" in capsys.readouterr().out
