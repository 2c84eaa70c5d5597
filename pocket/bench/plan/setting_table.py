"""The table of settings in docs/experiments.md, rendered from pocket.bench.plan.setting.

`python -m pocket.bench.plan.setting_table` brings it up to date.
"""

import json
from pathlib import Path

from pocket.bench.plan.setting import KINDS, SETTINGS, Setting

BEGIN, END = "<!-- settings: begin -->", "<!-- settings: end -->"


def rendered(document: str) -> str:
    """The document with the table between its markers brought up to date."""
    before, rest = document.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def table() -> str:
    """One line a setting: name, default, values, kinds, meaning."""
    lines = ["| setting | (default) values | concerns | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *(_line(setting) for setting in SETTINGS.values())])


def _line(setting: Setting) -> str:
    kinds = "every run" if setting.kinds == KINDS else ", ".join(setting.kinds)
    default = setting.default if isinstance(setting.default, str) else json.dumps(setting.default)
    return f"| `{setting.name}` | (`{default}`) {_wanted(setting)} | {kinds} | {setting.help} |"


def _wanted(setting: Setting) -> str:
    try:
        setting.parse(object())
    except ValueError as error:
        return str(error)
    raise AssertionError(f"{setting.name} takes anything")


if __name__ == "__main__":
    path = Path("docs/experiments.md")
    path.write_text(rendered(path.read_text(encoding="utf-8")), encoding="utf-8")
