"""A record is strict JSON, sealed, written whole or not at all, and says what is wrong with it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pocket.bench import record
from pocket.bench.record import BrokenRecord
from pocket.mistake import Mistake

NAMES = ["NA", "None", "null", "1e5", "007", "BaNaNa-Infinity", "a,b", 'q"t', "two\nlines", "chat noir é", "<b>x</b>"]


def body(**changes):
    """A whole train record of two updates, without its seal."""
    whole = {
        "run": "tiny-0123abcd",
        "kind": "train",
        "settings": {"model": "mlp", "batch_size": 64, "learning_rate": 0.01},
        "status": "ok",
        "reason": None,
        "detail": None,
        "started": "2026-11-30T12:00:00+00:00",
        "seconds": {"total": 2.0, "import": 1.0, "prepare": 0.1, "train": 0.5, "score": 0.1, "overhead": 0.4},
        "data": {"id": "digits", "digest": "ab"},
        "weights": {"id": "mlp", "digest": "cd"},
        "device": {"kind": "cpu", "name": "a processor", "uuid": None},
        "machine": {"cores": 2},
        "code": {"digest": "ef", "parts": {"trainer": "01"}},
        "values": {
            "updates": {
                "loss": [1.5, 1.25],
                "samples": [64, 64],
                "data_seconds": [0.1, 0.1],
                "transfer_seconds": [0.0, 0.0],
                "compute_seconds": [0.2, 0.2],
                "warmup": 1,
            },
            "epochs": [{"number": 0, "updates": 2, "correct": 5, "total": 10, "loss_sum": 3.5}],
            "memory": {
                "process_peak_bytes": 1,
                "process_before_bytes": 1,
                "reserved_peak_bytes": 1,
                "live_peak_bytes": 1,
            },
        },
    }
    return {**whole, **changes}


def test_what_was_written_is_read(tmp_path):
    sealed = record.seal(body())
    path = record.path_of("tiny-0123abcd", tmp_path)
    record.write(sealed, path)
    assert record.read(path) == sealed
    assert [entry.name for entry in path.parent.iterdir()] == ["tiny-0123abcd.json"]


@pytest.mark.parametrize("name", NAMES)
def test_names_return_unchanged(name, tmp_path):
    """RC-40: a model called NA stays NA."""
    path = tmp_path / "r.json"
    record.write(record.seal(body(settings={"model": name, name: name})), path)
    assert record.read(path)["settings"] == {"model": name, name: name}


def test_nan_and_inf_become_null_with_a_reason(tmp_path):
    """RC-40: the file holds no NaN or Infinity token."""
    values = body()["values"]
    values["updates"]["loss"] = [1.0, float("nan"), float("-inf")]
    values["epochs"][0]["loss_sum"] = float("inf")
    path = tmp_path / "r.json"
    record.write(record.seal(body(values=values, status="diverged", reason="loss nan at update 1")), path)
    kept = json.loads(path.read_text(), parse_constant=lambda token: pytest.fail(f"{token} in the file"))["values"]
    assert kept["updates"]["loss"] == [1.0, None, None]
    assert kept["updates"]["loss_reason"] == "nan at 1, -inf at 2"
    assert kept["epochs"][0]["loss_sum"] is None
    assert kept["epochs"][0]["loss_sum_reason"] == "it was inf"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda r: r["settings"].update(batch_size=128), "settings.batch_size"),
        (lambda r: r["values"]["updates"]["loss"].__setitem__(0, 1.4), "values.updates.loss"),
        (lambda r: r["values"].update(epochs=[]), "values.epochs"),
        (lambda r: r.update(status="error", reason="x"), "status"),
        (lambda r: r["seconds"].update(train=0.1), "seconds.train"),
        (lambda r: r["machine"].pop("cores"), "machine.cores"),
        (lambda r: r["settings"].update(extra=1), "settings.extra"),
        (lambda r: r["digests"].update(status="0" * 12), "status"),
        (lambda r: r.update(seal="0" * 64), "seal"),
    ],
)
def test_an_altered_field_is_named(change, named, tmp_path):
    path = tmp_path / "r.json"
    record.write(record.seal(body()), path)
    altered = json.loads(path.read_text())
    change(altered)
    path.write_text(json.dumps(altered))
    with pytest.raises(BrokenRecord, match=f"r.json.*altered.*{named}"):
        record.read(path)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: "", "empty"),
        (lambda text: text[: len(text) // 2], "cut short"),
        (lambda text: text.replace('"reason"', "reason", 1), "not valid JSON"),
        (lambda text: text.replace("1.5", "NaN", 1), "NaN is not strict"),
        (lambda text: text.replace('"schema": 1', '"schema": 2', 1), "schema 2, wanted 1"),
        (lambda text: text.replace('"status"', '"kind"', 1), "stands twice"),
        (lambda text: "[1]", "wanted an object"),
        (lambda text: "\udcff", "not valid JSON"),
    ],
)
def test_a_damaged_file_says_how(damage, said, tmp_path):
    path = tmp_path / "r.json"
    record.write(record.seal(body()), path)
    path.write_text(damage(path.read_text()), errors="surrogateescape")
    with pytest.raises(BrokenRecord, match=f"r.json: .*{said}"):
        record.read(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BrokenRecord, match=r"gone\.json: cannot be read: No such file"):
        record.read(tmp_path / "gone.json")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "fine"}, "status"),
        ({"status": "error"}, "reason"),
        ({"run": "a/b"}, "run"),
        ({"values": {"updates": {}, "epochs": [], "memory": {}}}, "values.updates"),
        ({"values": {}}, "values"),
        ({"started": "yesterday"}, "started"),
        ({"values": {**body()["values"], "updates": {**body()["values"]["updates"], "loss": [True]}}}, "loss"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(changes, said, tmp_path):
    with pytest.raises(BrokenRecord, match=said):
        record.write(record.seal(body(**changes)), tmp_path / "r.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("results", ["a file", Path("/proc")])
def test_a_folder_that_cannot_be_written_is_one_line_before_the_work(results, tmp_path):
    if results == "a file":
        results = tmp_path
        (tmp_path / "records").write_text("a file where a folder should be")
    path = record.path_of("tiny", results)
    for attempt in (lambda: record.check_writable(path), lambda: record.write(record.seal(body()), path)):
        with pytest.raises(Mistake, match=r"^cannot write .*tiny.json.*--results$") as caught:
            attempt()
        assert "\n" not in str(caught.value)


WRITER = """
import resource, signal, sys
from pathlib import Path
from pocket.bench import record
from tests.bench.test_record import body
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
record.write(record.seal(body(status="error", reason="new")), Path(sys.argv[1]))
"""


def test_a_full_disk_leaves_the_older_record_and_nothing_partial(tmp_path):
    """RC-45: a writer that fails after 1,000 bytes, as on a full disk."""
    path = tmp_path / "r.json"
    record.write(record.seal(body()), path)
    before = path.read_bytes()
    assert len(before) > 1000
    command = [sys.executable, "-c", WRITER, str(path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"Mistake: cannot write {path}: File too large" in done.stderr
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_what_a_killed_process_of_this_number_left_is_no_hindrance(tmp_path):
    path = tmp_path / "r.json"
    (tmp_path / f".r.json.{os.getpid()}.part").write_text("half of a much longer record" * 1000)
    record.check_writable(path)
    (tmp_path / f".r.json.{os.getpid()}.part").write_text("half of a much longer record" * 1000)
    record.write(record.seal(body()), path)
    assert record.read(path)["status"] == "ok"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_nothing_but_strict_json_is_hashed(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        record.canonical({"loss": number})


def test_long_records_are_checked_quickly_and_fully(tmp_path):
    """The short cut for lists of numbers still finds the one that is none."""
    values = body()["values"]
    values["updates"]["loss"] = [0.5] * 100_000 + ["text"]
    with pytest.raises(BrokenRecord, match=r"values.updates.loss.100000"):
        record.write(record.seal(body(values=values)), tmp_path / "r.json")
