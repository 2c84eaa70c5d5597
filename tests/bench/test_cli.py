"""The command line: one line and status 2 for a mistake, an example in every help, nothing heavy at the start."""

import subprocess
import sys

import pytest
from synthetic import failed, plan_of, write_all

from pocket.bench import instance
from pocket.bench.command import _COMMANDS
from pocket.bench.plan.spec import load
from pocket.cli import main


def call(capsys, *words):
    try:
        status = main(["bench", *words])
    except SystemExit as end:
        status = end.code
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def folders(tmp_path):
    plan_of(tmp_path / "experiments")
    return ["--experiments", str(tmp_path / "experiments"), "--results", str(tmp_path / "results")]


@pytest.mark.parametrize("command", _COMMANDS)
def test_help_of_every_command_has_an_example(capsys, command):
    status, out, _ = call(capsys, command, "--help")
    assert status == 0
    assert f"example: pocket bench {command}" in out
    assert "--results" in out


def test_unknown_command_and_missing_argument_end_with_2(capsys):
    assert call(capsys, "frobnicate")[0] == 2
    assert call(capsys, "run")[0] == 2
    assert call(capsys)[0] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["status", "--suite", "quik"], "unknown suite 'quik'"),
        (["status", "--device", "tpu"], "unknown device 'tpu'"),
        (["tables", "bach_sweep"], "nearest: 'batch_sweep'"),
        (["plots", "nothing"], "unknown experiment 'nothing'"),
        (["run", "train-x-00000000"], "unknown run 'train-x-00000000'"),
        (["data", "digits-00000000"], "nearest: 'digits"),
        (["weights", "simple_cnn-00000000"], "unknown weights id"),
    ],
)
def test_mistake_is_one_line_with_status_2(capsys, folders, words, message):
    status, out, err = call(capsys, *words, *folders)
    assert status == 2
    assert err.startswith("pocket: ")
    assert message in err
    assert err.count("\n") == 1
    assert out == ""


def test_debug_shows_the_traceback(folders):
    command = [sys.executable, "-m", "pocket.bench", "tables", "nothing", "--debug", *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "Mistake: unknown experiment 'nothing'" in done.stderr


def test_experiment_with_an_unknown_key_stops_every_command(capsys, folders, tmp_path):
    (tmp_path / "experiments" / "bad.yaml").write_text("question: Is it?\ngrid: {batchsize: [32]}\nsuites: {quick: }\n")
    for words in (["status"], ["estimate"], ["report"], ["make"]):
        status, _, err = call(capsys, *words, *folders)
        assert status == 2
        assert "bad.yaml: show is None" in err


def test_status_and_retry(capsys, folders, tmp_path):
    plan = plan_of(tmp_path / "experiments")
    write_all(plan, tmp_path / "results", {plan.runs[0].id: failed("error", "it broke")})
    status, out, _ = call(capsys, "status", *folders)
    assert status == 0
    assert "1 error" in out
    assert "it broke" in out
    assert call(capsys, "retry", *folders)[1].splitlines()[0] == plan.runs[0].id
    assert "1 missing" in call(capsys, "status", *folders)[1]


@pytest.mark.parametrize("command", ["retry", "refresh", "make", "contest"])
def test_a_living_instance_keeps_its_records(capsys, folders, tmp_path, monkeypatch, command):
    suite = "bench" if command == "contest" else "quick"
    (tmp_path / "experiments" / "one.yaml").write_text(
        "question: Is it?\nbase: {model: mlp, dataset: digits}\ngrid: {trainer: [torch]}\n"
        f"suites: {{{suite}: }}\nshow: {{table: {{rows: [trainer], columns: [accuracy]}}}}\n"
    )
    plan = load(tmp_path / "experiments", suite, "cpu")
    changes = {run.id: failed("error", "it broke") | {"code": {"digest": "old", "parts": {}}} for run in plan.runs}
    write_all(plan, tmp_path / "results", changes)
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    with instance.holding(tmp_path / "results"):
        status, _, err = call(capsys, command, *folders)
    assert status == 2
    assert "is being worked on by process" in err
    assert len(list((tmp_path / "results/records").glob("*.json"))) == len(plan.runs)


def test_estimate_is_a_few_lines(capsys, folders):
    _, out, _ = call(capsys, "estimate", *folders)
    assert "estimated" in out
    assert 2 <= out.count("\n") <= 6


def test_make_outside_the_project_says_so(capsys, folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = call(capsys, "make", *folders)
    assert status == 2
    assert "no Snakefile in" in err


def test_card_that_is_not_there_stops_before_anything(capsys, folders, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    status, _, err = call(capsys, "make", "--device", "cuda", *folders)
    assert status == 2
    assert "nvidia-smi is not on PATH" in err


def test_starting_the_command_imports_nothing_heavy():
    code = (
        "import sys, pocket.bench.command, pocket.bench.plan.spec; "
        "print({'numpy', 'pandas', 'torch', 'numba', 'matplotlib', 'jsonschema'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
