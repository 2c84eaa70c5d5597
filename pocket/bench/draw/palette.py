"""How series look: a trainer never changes its colour, its variants differ in dashes, markers and hatching."""

from collections.abc import Mapping
from typing import Any

Data = Mapping[str, Any]

# Okabe and Ito (2008): told apart with every common colour blindness, and in grey.
COLOURS = {"engine": "#0072B2", "torch": "#D55E00"}
OTHER = "#009E73"
INK = "#222226"  # the page puts its own text colour in this one's place, hence in a spelling used for nothing else
GRID = "#8a8a92"
DASHES = ("-", (0, (4, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P")
HATCHES = ("", "////", "....", "xxxx")

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "hatch.linewidth": 0.7,
    "text.parse_math": False,  # a name may hold dollars
}


def colour_of(trainer: Any) -> str:
    return COLOURS.get(trainer, OTHER)


def looks(data: Data) -> list[tuple[str, int]]:
    """(colour, which variant of that colour) of each series."""
    seen: dict[str, int] = {}
    found = []
    for series in data["series"]:
        colour = colour_of(series["key"].get("trainer"))
        found.append((colour, seen.get(colour, 0)))
        seen[colour] = seen.get(colour, 0) + 1
    return found
