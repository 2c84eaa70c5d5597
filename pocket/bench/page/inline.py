"""An SVG file -> markup inside the page, which then follows the page's colours and keeps its ids to itself."""

import re

from pocket.bench.draw.palette import COLOURS, INK, OTHER

VARIABLES = {
    COLOURS["engine"]: "var(--engine)",
    COLOURS["torch"]: "var(--torch)",
    OTHER: "var(--other)",
    INK: "currentColor",
    "#ffffff": "none",  # the file's white sheet; the page has its own
}


def inline(svg: str, prefix: str) -> str:
    """The `svg` element alone: no prolog, metadata, style sheet or fixed size; each id starts with `prefix`.

    Raises ValueError when there is no svg element.
    """
    start = svg.index("<svg")
    head_end = svg.index(">", start) + 1
    head = re.sub(r'\s(?:width|height|version)="[^"]*"', "", svg[start:head_end])
    body = re.sub(r"<(metadata|style)\b.*?</\1>", "", svg[head_end:], flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", body)
    body = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{prefix}-\2"', body)
    for colour, variable in VARIABLES.items():
        body = re.sub(rf"(?<=: ){colour}\b", variable, body, flags=re.IGNORECASE)
    return (head + body).strip()
