"""The command `pocket`."""

import argparse

from pocket import __version__
from pocket.bench.command import add_commands, perform


def main(argv: list[str] | None = None) -> int:
    """Parse and do. Returns the exit status: 0, 1 (something failed and is reported), 2 (what was given is wrong)."""
    parser = argparse.ArgumentParser(
        prog="pocket",
        description="What training small networks really costs, measured on the machine you own.",
        epilog="example: pocket bench make",
    )
    parser.add_argument("--version", action="version", version=f"pocket {__version__}")
    parts = parser.add_subparsers(required=True, metavar="PART")
    bench = parts.add_parser(
        "bench",
        help="run experiments and report on them",
        description="Run experiments and report on them.",
        epilog="example: pocket bench status",
        allow_abbrev=False,
    )
    add_commands(bench)
    return perform(parser.parse_args(argv))
