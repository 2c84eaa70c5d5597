"""results/report.html: one page without any request to the outside, a function of the records and the plots alone."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pocket.bench.judge.outcome import Outcome, count, outcomes
from pocket.bench.page.banner import banners
from pocket.bench.page.hardware import dates, machine_line, machine_sheet, overhead_sheet
from pocket.bench.page.redo import folders, verify_command
from pocket.bench.page.section import section
from pocket.bench.plan.spec import Plan
from pocket.bench.record import place

PAGE = Path(__file__).parent
TITLE = "What training small networks really costs on this machine"


def report_path(results: Path) -> Path:
    return results / "report.html"


def render_page(plan: Plan, results: Path, found: Mapping[str, Outcome] | None = None, told: str | None = None) -> str:
    """The page as text; the same records, plots and code give the same text. Raises Mistake where a plot is lacking.

    `verify` gives the outcomes `found` and the folders `told` in commands as they were when a page was made.
    """
    found = outcomes(plan.runs, results) if found is None else found
    told = folders(plan, results) if told is None else told
    members = list(found.values())
    sections = [section(number, one, found, results, told) for number, one in enumerate(plan.experiments, 1)]
    script = (PAGE / "page.js").read_text(encoding="utf-8")
    environment = Environment(
        loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html.j2").render(
        title=TITLE,
        suite=plan.suite,
        device=plan.device,
        machine_line=machine_line(members),
        dates=dates(members),
        counts=count(members),
        planned=len(members),
        stale=sum(one.stale for one in members),
        banners=banners(plan, found),
        sections=sections,
        overhead=overhead_sheet(members),
        machine=machine_sheet(members),
        css=Markup((PAGE / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=_hash(script),
        folders=told,
        verify_command=verify_command(plan, told),
    )


def _hash(script: str) -> str:
    """The only script that the page's content policy lets run is its own."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def write_report(plan: Plan, results: Path) -> Path:
    """Write results/report.html from the records and the plots under `results`."""
    path = report_path(results)
    place(path, render_page(plan, results).encode("utf-8"))
    return path
