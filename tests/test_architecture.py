"""Who may import whom, and how large each part may grow: the project's shape, enforced."""

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
POCKET = ROOT / "pocket"
SOURCES = sorted(POCKET.rglob("*.py"))

# Part -> what of ours it may import.
OURS = {
    "engine": {"pocket.contract", "pocket.engine"},
    "baseline": {"pocket.contract", "pocket.mistake", "pocket.baseline"},
    "data": {"pocket.contract", "pocket.mistake", "pocket.data"},
}
# Library -> the only places that may import it.
LIBRARIES = {
    "torch": ("pocket/baseline/", "pocket/bench/measure/probe_torch.py"),
    "torchvision": ("pocket/baseline/",),
    "cupy": ("pocket/engine/array.py", "pocket/engine/kernels/", "pocket/bench/measure/probe_pool.py"),
    "numba": ("pocket/engine/kernels/",),
    "sklearn": ("pocket/data/",),
}
ENGINE_MAY_USE = {"numpy", "numba", "cupy", "threadpoolctl", "pocket"}
CODE_LINES = {"pocket/engine": 2000, "pocket/engine/kernels": 850, "pocket/baseline": 2000}
COUNTED_APART = "pocket/engine/kernels"  # since 2026-11-30, see docs/design.md
CUDA_LINES = 800
LONGEST_FILE = 400
NAMES_TO_AVOID = {"utils", "util", "common", "helpers", "helper", "base", "manager", "misc"}


def imports(path: Path) -> set[str]:
    """Dotted names of every module that a file imports, at its top or inside its functions."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*start, node.module) if node.module else start)
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def within(name: str, allowed: str) -> bool:
    return name == allowed or name.startswith(allowed + ".")


def code_lines(source: str) -> int:
    """Lines that hold code: blank lines, comments and docstrings are not counted."""
    lines, docstrings = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings |= set(range(node.lineno, node.end_lineno + 1))
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def test_code_lines_counts_code_only():
    source = '"""Doc.\n\nMore."""\n\n# why\nx = (1,\n     2)\n\n\ndef f():\n    """Doc."""\n    return x\n'
    assert code_lines(source) == 4


def test_imports_sees_relative_and_nested_ones(tmp_path):
    path = POCKET / "engine" / "ops" / "linear.py"
    assert any(within(name, "pocket.engine") for name in imports(path))


@pytest.mark.parametrize("part", OURS)
def test_part_imports_only_what_it_may(part):
    for path in sorted((POCKET / part).rglob("*.py")):
        ours = {name for name in imports(path) if within(name, "pocket")}
        wrong = {name for name in ours if not any(within(name, allowed) for allowed in OURS[part])}
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}; {part} may import {sorted(OURS[part])}"


@pytest.mark.parametrize("library", LIBRARIES)
def test_library_is_imported_only_where_it_may(library):
    for path in SOURCES:
        place = path.relative_to(ROOT).as_posix()
        if any(within(name, library) for name in imports(path)):
            assert place.startswith(LIBRARIES[library]), f"{place} imports {library}"


def test_engine_uses_nothing_but_arrays():
    for path in sorted((POCKET / "engine").rglob("*.py")):
        roots = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names)
        assert roots <= ENGINE_MAY_USE, f"{path.relative_to(ROOT)} imports {sorted(roots - ENGINE_MAY_USE)}"


def test_bench_reaches_trainers_through_one_file():
    for path in sorted((POCKET / "bench").rglob("*.py")):
        trainers = {n for n in imports(path) if within(n, "pocket.engine") or within(n, "pocket.baseline")}
        assert not trainers or path.name == "trainers.py", f"{path.relative_to(ROOT)} imports {sorted(trainers)}"


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_engine_is_light_to_import():
    heavy = {"numba", "cupy", "torch", "torchvision", "sklearn", "pandas"}
    assert not loaded_by("import pocket.engine.train, pocket.engine.models") & heavy


def test_judging_needs_no_trainer_and_no_torch():
    modules = "pocket.bench.judge.collate, pocket.bench.draw.plot, pocket.bench.page.report, pocket.bench.judge.verify"
    assert not loaded_by(f"import {modules}") & {"torch", "torchvision", "cupy", "numba"}


def test_starting_a_run_is_light():
    modules = "pocket.bench.supervisor.supervise, pocket.bench.plan.spec, pocket.cli"
    heavy = {"torch", "numba", "cupy", "pandas", "matplotlib", "sklearn", "snakemake"}
    assert not loaded_by(f"import {modules}") & heavy


def is_apart(path: Path) -> bool:
    return path.is_relative_to(ROOT / COUNTED_APART)


@pytest.mark.parametrize("part", CODE_LINES)
def test_part_stays_within_its_size(part):
    files = [path for path in (ROOT / part).rglob("*.py") if part == COUNTED_APART or not is_apart(path)]
    total = sum(code_lines(path.read_text()) for path in files)
    assert total < CODE_LINES[part], f"{part} has {total} lines of code; its budget is {CODE_LINES[part]}"


def test_cuda_sources_stay_within_their_size():
    lines = [line.strip() for path in POCKET.rglob("*.cu*") for line in path.read_text().splitlines()]
    assert sum(1 for line in lines if line and not line.startswith("//")) < CUDA_LINES


def test_no_file_is_a_dumping_ground():
    for path in SOURCES:
        assert path.stem not in NAMES_TO_AVOID, f"{path.relative_to(ROOT)}: name a file after its one idea"
        lines = path.read_text().count("\n")
        assert lines <= LONGEST_FILE, f"{path.relative_to(ROOT)} has {lines} lines; split it by idea"


def test_top_level_is_fixed():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = {line.split("/")[0] for line in tracked.splitlines() if "/" in line}
    assert folders <= {"docker", "workflows", "pocket", "experiments", "results", "tests", "docs", ".ci", "profiles"}
