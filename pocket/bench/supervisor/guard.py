"""The last defence: a tiny process that outlives a supervisor killed by SIGKILL and ends what its run left behind.

`python -I -S guard.py TOKEN ALIVE` reads from the pipe ALIVE. A byte means that the supervisor ended its run itself.
The pipe's end without one means that it was killed: then every process of the run is killed. Until this process ends
it holds the device's lock, so that the next run starts on an idle device. It stands alone (it imports nothing of
ours), since every run waits for its start.
"""

import contextlib
import os
import signal
import sys
import time

WITHIN_SECONDS = 5.0


def main() -> None:
    token, alive = sys.argv[1], int(sys.argv[2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.read(alive, 1):
        return
    end = time.monotonic() + WITHIN_SECONDS
    while (left := _marked(f"POCKET_RUN_TOKEN={token}".encode())) and time.monotonic() < end:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _marked(wanted: bytes) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
    return found


if __name__ == "__main__":
    main()
