"""A page as a flat list of what it shows, each piece with the names of the places it stands in."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "path", "use", "rect", "hr", "img"}
LISTED = 20
LONG = 120


@dataclass(frozen=True)
class Piece:
    """A text, or a tag with its attributes; `place` joins the `data-name`s around it."""

    place: str
    text: str


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[Piece] = []
        self.open: list[tuple[str, str]] = []

    def _add(self, text: str) -> None:
        place = ", ".join(dict.fromkeys(name for _, name in self.open if name))
        self.pieces.append(Piece(place or "the page's frame", text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append((tag, dict(attrs).get("data-name") or ""))
        for name, value in attrs:
            self._add(f"{tag} {name}={value}")
        if tag in VOID:
            self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if any(tag == opened for opened, _ in self.open):
            while self.open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if data.strip():
            self._add(" ".join(data.split()))

    def handle_comment(self, data: str) -> None:
        self._add(f"comment {data}")


def pieces(page: str) -> list[Piece]:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.pieces


def differences(stands: str, wanted: str) -> list[tuple[str, str, str]]:
    """(place, what stands there, what should), at most LISTED of them."""
    a, b = pieces(stands), pieces(wanted)
    start = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    end = next((n for n, (x, y) in enumerate(zip(reversed(a), reversed(b), strict=False)) if x != y), 0)
    end = min(end, len(a) - start, len(b) - start)
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    found = []
    for x, y in _paired(a, b):
        if x != y:
            place = (y or x or Piece("", "")).place
            found.append((place, *_told(x, y)))
    return found[:LISTED]


def _paired(a: list[Piece], b: list[Piece]) -> list[tuple[Piece | None, Piece | None]]:
    """Pieces that stand for each other: one by one where nothing was added or taken away."""
    if len(a) == len(b):
        return list(zip(a, b, strict=True))
    paired: list[tuple[Piece | None, Piece | None]] = []
    for _, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        length = max(a2 - a1, b2 - b1)
        left = [*a[a1:a2], *[None] * (length - (a2 - a1))]
        right = [*b[b1:b2], *[None] * (length - (b2 - b1))]
        paired += list(zip(left, right, strict=True))
    return paired


def _told(x: Piece | None, y: Piece | None) -> tuple[str, str]:
    """Both texts, cut to where they differ when they are long."""
    a, b = (piece.text if piece else "nothing" for piece in (x, y))
    if max(len(a), len(b)) <= LONG:
        return a, b
    start = next((n for n, (c, d) in enumerate(zip(a, b, strict=False)) if c != d), min(len(a), len(b)))
    start = max(start - LONG // 4, 0)
    return a[start : start + LONG], b[start : start + LONG]
