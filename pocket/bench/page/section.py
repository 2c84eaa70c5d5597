"""One experiment's section of the page, as plain data for the template."""

import re
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from markupsafe import Markup

from pocket.bench.draw.plot import plot_paths
from pocket.bench.judge.collate import Row, table, table_names
from pocket.bench.judge.outcome import Outcome, count
from pocket.bench.judge.pairing import pairs
from pocket.bench.judge.quantity import QUANTITIES
from pocket.bench.judge.series import plots
from pocket.bench.page.answer import answer
from pocket.bench.page.inline import inline
from pocket.bench.page.sheet import Sheet, experiment_sheet, spread_words
from pocket.bench.page.side_by_side import first_losses, pair_sheet, runs_sheet
from pocket.bench.page.unit import setting_words
from pocket.bench.plan.spec import Experiment
from pocket.mistake import Mistake


def section(
    number: int, experiment: Experiment, found: Mapping[str, Outcome], results: Path, told: str
) -> dict[str, Any]:
    """`told` are the folders that commands name, as pocket.bench.page.redo gives them."""
    members = [found[run.id] for run in experiment.runs]
    counts = count(members)
    return {
        "id": experiment.name,
        "number": number,
        "title": experiment.title,
        "question": experiment.question,
        "answers": answer(experiment, found),
        "counts": counts,
        "failed": {status: n for status, n in counts.items() if status != "ok"},
        "planned": len(members),
        "stale": sum(one.stale for one in members),
        "plots": [_plot(number, data, results) for data in plots(experiment, found)],
        "table": experiment_sheet(experiment, found),
        "tables": _tables(experiment, members, found),
        "notes": _notes(experiment, found),
        "runs": runs_sheet(members, experiment.name, told),
    }


def _tables(experiment: Experiment, members: Sequence[Outcome], found: Mapping[str, Outcome]) -> list[Sheet]:
    measured = pairs(members)
    tables = [pair_sheet(measured, experiment.name, pairs(found.values()))] if measured else []
    columns = experiment.show.get("table", {}).get("columns", [])
    return tables + (first_losses(members) if "first_losses" in columns else [])


def _plot(number: int, data: Mapping[str, Any], results: Path) -> dict[str, Any]:
    name = f"{data['experiment']}-{data['plot']}"
    path = plot_paths(data, results)["svg"]
    try:
        # From our own drawing, which escapes every name in it.
        svg = Markup(inline(path.read_text(encoding="utf-8"), f"p{number}-{data['plot']}"))
    except (OSError, ValueError) as wrong:
        raise Mistake(f"{path} is no plot ({wrong}): draw it with pocket bench plots {data['experiment']}") from wrong
    label = data["y"]["label"][0].upper() + data["y"]["label"][1:]
    spread = spread_words(data["y"]["spread"], max((n for one in data["series"] for n in one["n"]), default=0))
    equal = " Dashed: 1, both take the same time." if data["y"]["unit"] == "ratio" else ""
    caption = f"{label} over {data['x']['label']}; {spread}.{equal}"
    figure = f"{number}.{data['plot']}"
    return {"name": name, "number": figure, "svg": svg, "label": caption, "caption": caption, "notes": data["notes"]}


def _notes(experiment: Experiment, found: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    """What a reader must know: the experiment's own note, runs that failed and why, numbers that are not there."""
    notes: list[dict[str, Any]] = [_note(experiment.notes)] if experiment.notes else []
    failures: dict[tuple[str, str], list[str]] = {}
    for run in experiment.runs:
        one = found[run.id]
        if not one.ok:
            reason = "" if one.status == "missing" else one.reason
            failures.setdefault((one.status, reason), []).append(run.id)
    for (status, reason), ids in failures.items():
        listed = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        notes.append(_note(f"{reason}: {listed}" if reason else listed, status, len(ids)))
    return notes + [_note(text) for text in (*_of_the_data(experiment, found), *_absences(experiment, found))]


def _of_the_data(experiment: Experiment, found: Mapping[str, Outcome]) -> list[str]:
    """What the records say of their samples, each sentence once."""
    records = [found[run.id].record or {} for run in experiment.runs]
    texts = [text for record in records for text in (record.get("data") or {}).get("notes", [])]
    return [f"{text[0].upper()}{text[1:]}." for text in _joined(list(dict.fromkeys(texts)))]


_REST = re.compile(r"the last batch of each epoch has (\d+ of \d+) samples, and its loss is the mean over those \d+")


def _joined(texts: Sequence[str]) -> list[str]:
    """What is said of the last batch at several batch sizes as one sentence, in the place of the first."""
    rests = [found.group(1) for text in texts if (found := _REST.fullmatch(text))]
    if len(rests) < 2:
        return list(texts)
    listed = f"{', '.join(rests[:-1])} or {rests[-1]}"
    whole = f"the last batch of each epoch has {listed} samples, and its loss is the mean over those"
    return list(dict.fromkeys(whole if _REST.fullmatch(text) else text for text in texts))


def _note(text: str, status: str = "", number: int = 0) -> dict[str, Any]:
    return {"text": text, "status": status, "number": number}


def _absences(experiment: Experiment, found: Mapping[str, Outcome]) -> list[str]:
    """Numbers that are not there and why."""
    shown = table(experiment, found)
    told: dict[tuple[str, str], list[Row]] = {}
    for row in shown:
        for name in table_names(experiment)[1]:
            cell = row.cells[name]
            if cell.estimate is None and cell.reason:
                told.setdefault((name, cell.reason), []).append(row)
    said = []
    for (name, reason), rows in told.items():
        having = {row.key.get("trainer") for row in shown if row.cells[name].estimate}
        said.append(f"No {QUANTITIES[name].label} for {_whose(rows, having)}: {reason}.")
    return said


def _whose(lacking: Sequence[Row], having: Set[Any]) -> str:
    """The rows in words: a trainer's name alone where none of its rows has the number."""
    trainers = [row.key.get("trainer") for row in lacking]
    keys = [
        row.key if trainer is None or trainer in having else {"trainer": trainer}
        for row, trainer in zip(lacking, trainers, strict=True)
    ]
    return ", ".join(dict.fromkeys(" ".join(setting_words(key)) or "all runs" for key in keys))
