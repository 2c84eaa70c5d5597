"""YAML as a person means it: 1e-3 is a number, `on` and 1:30 are text, and a doubled key or a bomb is an error."""

import re
from pathlib import Path
from typing import Any, ClassVar

import yaml

from pocket.mistake import Mistake

_LARGEST_FILE_BYTES = 256 * 1024
_MOST_VALUES = 10_000  # aliases written out
_DEEPEST = 20

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml where the wheel has it: 20 times as fast


class _StrictLoader(_Parser):
    """Plain scalars are null, true or false, numbers, or text; nothing else is guessed."""

    yaml_implicit_resolvers: ClassVar[dict] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise Mistake(f"line {line}: a key must be a word")
            if key.value in seen:
                raise Mistake(f"line {line}: key {key.value!r} stands twice, first in line {seen[key.value]}; keep one")
            seen[key.value] = line
        return super().construct_mapping(node, deep)


for tag, pattern, first in [
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", list("tf")),
    ("int", r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
]:
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), first)


def read(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Raises Mistake, in one line with the file and where possible the line in it."""
    try:
        text = _text(path)
        _check_depth(text)
        loader = _StrictLoader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise Mistake("wanted names and values, such as `question: ...`")
        if _written_out(node, {}) > _MOST_VALUES:
            raise Mistake(f"more than {_MOST_VALUES} values once its aliases (*name) are written out")
        return loader.construct_document(node)
    except Mistake as mistake:
        raise Mistake(f"{path}: {mistake}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise Mistake(f"{path}: {line}not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise Mistake(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Mistake(f"cannot be read: {error.strerror}") from None
    if len(raw) > _LARGEST_FILE_BYTES:
        raise Mistake(f"{len(raw)} bytes are more than an experiment needs; at most {_LARGEST_FILE_BYTES}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Mistake(f"byte {error.start} is not UTF-8; save the file as UTF-8") from None


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Parser):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise Mistake(f"nested more than {_DEEPEST} deep")


def _written_out(node: yaml.Node, counts: dict[int, int]) -> int:
    """How many values a node holds when every alias is replaced by what it stands for."""
    if id(node) not in counts:
        counts[id(node)] = _MOST_VALUES + 1  # met again while it is being counted: it contains itself
        children = (
            [child for pair in node.value for child in pair] if isinstance(node, yaml.MappingNode) else node.value
        )
        inside = 0 if isinstance(node, yaml.ScalarNode) else sum(_written_out(child, counts) for child in children)
        counts[id(node)] = min(1 + inside, _MOST_VALUES + 1)
    return counts[id(node)]
