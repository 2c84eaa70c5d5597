"""Which code makes a record stale, and which does not."""

import pytest

from pocket.bench import source

ENGINE = {"trainer": "engine"}
TORCH = {"trainer": "torch"}


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the package's code, which `source` takes for the package."""
    folder = tmp_path / "pocket"
    for path in source.PACKAGE.rglob("*.py"):
        target = folder / path.relative_to(source.PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    monkeypatch.setattr(source, "PACKAGE", folder)
    source._of_folder.cache_clear()
    yield folder
    source._of_folder.cache_clear()


def changed(copy, name):
    """Which of these digests another line in that file changes."""
    asked = {
        "engine": lambda: source.digest(ENGINE)["digest"],
        "torch": lambda: source.digest(TORCH)["digest"],
        "data": source.data,
        "weights": source.weights,
    }
    before = {one: ask() for one, ask in asked.items()}
    (copy / name).write_text((copy / name).read_text() + "\n")
    source._of_folder.cache_clear()
    return {one for one, ask in asked.items() if ask() != before[one]}


@pytest.mark.parametrize(
    "name",
    [
        "contract.py",
        "bench/measure/timed.py",
        "bench/supervisor/compose.py",
        "bench/supervisor/process.py",
        "bench/supervisor/ending.py",
        "bench/machine/gpu.py",
        "bench/plan/setting.py",
    ],
)
def test_what_measures_concerns_every_run(copy, name):
    assert changed(copy, name) == {"engine", "torch"}


@pytest.mark.parametrize("name", ["initialise", "models", "nn", "weights"])
def test_what_draws_weights_concerns_both_trainers(copy, name):
    assert changed(copy, f"engine/{name}.py") == {"engine", "torch", "weights"}


def test_data_concern_everything(copy):
    assert changed(copy, "data/batches.py") == {"engine", "torch", "data", "weights"}


@pytest.mark.parametrize(
    ("name", "those"),
    [
        ("engine/optim.py", {"engine"}),
        ("baseline/optimizer.py", {"torch"}),
        ("bench/judge/stats.py", set()),
        ("bench/page/report.py", set()),
    ],
)
def test_what_a_run_does_not_use_leaves_it(copy, name, those):
    assert changed(copy, name) == those
