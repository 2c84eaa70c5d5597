"""What a page says of the moment when it was made: for which folders its commands are, and which records were stale."""

import re
import shlex
from collections.abc import Iterable
from html import escape, unescape

from pocket.bench.plan.spec import Run

FOLDERS = ("--experiments", "--results")


def folders_on(page: str) -> str | None:
    """The folders in the page's commands; None where it names none or anything but folders."""
    found = re.search(r' data-folders="([^"]*)"', page)
    told = unescape(found.group(1)) if found else ""
    try:
        words = shlex.split(told)
    except ValueError:
        return None
    whole = told == "".join(f" {shlex.join(words[at : at + 2])}" for at in range(0, len(words), 2))
    return told if found and whole and set(words[::2]) <= set(FOLDERS) and len(words) % 2 == 0 else None


def stale_on(page: str, runs: Iterable[Run]) -> set[str]:
    """Ids of the runs that the page's lists of runs call stale."""
    return {run.id for run in runs if _stale_row(page, run.id)}


def _stale_row(page: str, run_id: str) -> bool:
    """A pair has a row in the table of pairs as well, which names no state."""
    _, *rows = page.split(f'<tr data-name="row {escape(run_id)}">')
    return any('class="chip stale"' in row.partition("</tr>")[0] for row in rows)
