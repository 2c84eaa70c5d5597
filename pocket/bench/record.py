"""One record a run: a sealed JSON file, written whole or not at all, and never edited.

`seal` is the SHA-256 of the canonical JSON of everything else; `digests` holds a short one for each field, so that a
record that was altered can say which field was.
"""

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pocket.bench.measure.strict import strict
from pocket.mistake import Mistake

SCHEMA = 1
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")
DEEPER = ("settings", "seconds", "machine", "values")  # fields whose members have a digest of their own


class BrokenRecord(Mistake):
    """A record that cannot be trusted: missing, empty, cut short, not JSON, another schema, or altered."""


def path_of(run_id: str, results: Path) -> Path:
    """Where the record of a run lies."""
    return Path(results) / "records" / f"{run_id}.json"


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no blanks, ASCII, no nan or inf (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


def _fields(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each field with its dotted name, as deep as an altered one is named."""
    for name, value in record.items():
        if name in ("seal", "digests"):
            continue
        if name not in DEEPER or not isinstance(value, Mapping):
            yield name, value
            continue
        for member, inner in value.items():
            if name == "values" and isinstance(inner, Mapping):
                yield from ((f"{name}.{member}.{leaf}", number) for leaf, number in inner.items())
            else:
                yield f"{name}.{member}", inner


def seal(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body made strict (see `strict`), with `schema`, `digests` and `seal` added. Any older seal is replaced."""
    kept = {name: value for name, value in body.items() if name not in ("seal", "digests")}
    record = strict({"schema": SCHEMA, **kept})
    record["digests"] = {name: _sha256(value)[:12] for name, value in _fields(record)}
    record["seal"] = _sha256(record)
    return record


def altered(record: Mapping[str, Any]) -> list[str]:
    """Names of the fields that no longer match the seal: empty when the record is whole."""
    body = {name: value for name, value in record.items() if name != "seal"}
    if _sha256(body) == record.get("seal"):
        return []
    digests = record.get("digests", {})
    found = {name: _sha256(value)[:12] for name, value in _fields(record)}
    names = [name for name in found if digests.get(name) != found[name]]
    names += [f"{name} (removed)" for name in digests if name not in found]
    return names or ["digests or seal"]


def check(record: Mapping[str, Any]) -> None:
    """Raise BrokenRecord unless the record has the schema's form and its seal is whole."""
    version = record.get("schema") if isinstance(record, Mapping) else None
    if version != SCHEMA:
        raise BrokenRecord(f"the record has schema {version!r}, wanted {SCHEMA}: remove it and run again")
    names = altered(record)
    if names:
        raise BrokenRecord(f"the record was altered after it was sealed: {', '.join(names)}")
    problem = next(iter(_validator().iter_errors(record)), None)
    if problem:
        where = ".".join(str(part) for part in problem.absolute_path) or "the record"
        raise BrokenRecord(f"{where} does not fit {SCHEMA_FILE.name}: {problem.message[:200]}")


def load_schema() -> None:
    """Do now what the first check would do: a supervisor has time for it while its worker starts."""
    _validator()


@functools.cache
def _validator() -> Any:
    import jsonschema  # 0.1 s: only when a record is checked

    standard = jsonschema.Draft202012Validator

    def items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        # A long run holds a million plain numbers, and the standard check costs microseconds for each.
        kinds = _QUICK.get(canonical(wanted))
        if not (kinds and isinstance(instance, list) and all(type(item) in kinds for item in instance)):
            yield from standard.VALIDATORS["items"](validator, wanted, instance, schema)

    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return jsonschema.validators.extend(standard, {"items": items})(schema)


_QUICK = {'{"type":"number"}': (int, float), '{"type":["number","null"]}': (int, float, type(None))}


def write(record: Mapping[str, Any], path: Path) -> None:
    """Check the sealed record and put it at `path`: all of it, or nothing.

    Raises BrokenRecord if it is not a whole record, Mistake (one line that names the path) if it cannot be written.
    """
    check(record)
    lines = [f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in record.items()]
    place(path, ("{" + ",\n ".join(lines) + "}\n").encode("ascii"))


def place(path: Path, content: bytes) -> None:
    """Write a file under a temporary name beside `path`, force it to the disk, and rename it into place."""
    _write_beside(path, content, keep=True)


def _write_beside(path: Path, content: bytes, keep: bool) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if keep:
                temporary.replace(path)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
    except OSError as problem:
        raise Mistake(f"cannot write {path}: {problem.strerror or problem}; make room or choose --results") from problem


def check_writable(path: Path) -> None:
    """Raise the Mistake that writing `path` would raise, before the work is done. Leaves nothing behind."""
    _write_beside(path, b"\0" * 4096, keep=False)


def read(path: Path) -> dict[str, Any]:
    """A record as it was written; raises BrokenRecord that names the path and what is wrong with it."""
    try:
        text = Path(path).read_bytes()
    except OSError as problem:
        raise BrokenRecord(f"{path}: cannot be read: {problem.strerror or problem}") from problem
    record = _parsed(path, text)
    try:
        check(record)
    except BrokenRecord as problem:
        raise BrokenRecord(f"{path}: {problem}") from None
    return record


def _parsed(path: Path, text: bytes) -> dict[str, Any]:
    if not text.strip():
        raise BrokenRecord(f"{path}: the record is empty; remove it and run again")
    try:
        record = json.loads(text.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (UnicodeDecodeError, ValueError) as problem:
        cut = "" if text.rstrip().endswith(b"}") else "cut short, "
        raise BrokenRecord(f"{path}: the record is {cut}not valid JSON ({problem}); remove it and run again") from None
    if not isinstance(record, dict):
        raise BrokenRecord(f"{path}: the record is a JSON {type(record).__name__}, wanted an object")
    return record


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} stands twice")
    return mapping


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not strict JSON")
