"""A worker whose trainer notes, at each step, the state of its sibling worker: the other child of its supervisor."""

import os

import tiny

from pocket.bench.supervisor import process


def note(model: str, done: int) -> None:
    lines = process.table()
    siblings = [pid for pid, line in lines.items() if line.parent == os.getppid() and pid != os.getpid()]
    for pid in siblings:
        with open(f"/proc/{pid}/cmdline") as file:
            if "spy.py" in file.read():
                with open(os.environ["POCKET_TEST_STATES"], "a") as states:
                    states.write(lines[pid].state + "\n")


if __name__ == "__main__":
    tiny.misbehave = note
    tiny.main()
