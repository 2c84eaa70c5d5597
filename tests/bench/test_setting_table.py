"""The table of settings in the documentation is the table of settings."""

from pathlib import Path

from pocket.bench.plan.setting_table import rendered

DOCUMENT = Path(__file__).parents[2] / "docs" / "experiments.md"


def test_documented_settings_are_the_settings():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == rendered(text), "out of date: python -m pocket.bench.plan.setting_table"
