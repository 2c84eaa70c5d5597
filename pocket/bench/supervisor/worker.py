"""A worker as its supervisor holds it: started in its own session, heard over a pipe, and asked or made to end."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pocket.bench.measure.progress import Progress, new_page
from pocket.bench.supervisor import allocator
from pocket.bench.supervisor.process import TOKEN, look

COMMAND = (sys.executable, "-m", "pocket.bench.measure.run")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
TAIL_BYTES = 8000
STOP_SECONDS = 1.0


def environment(settings: Mapping[str, Any], token: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """The worker's environment: threads, allocator, fixed hashing, and the mark by which its processes are found."""
    own = allocator.environment(settings["malloc"], inherited)
    own |= dict.fromkeys(THREAD_VARIABLES, str(settings["threads"]))
    # The profiler's library writes a line of its own at each start unless it is told not to.
    own |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "KINETO_LOG_LEVEL": "99", TOKEN: token}
    own["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # device 0 is nvidia-smi's, whose lock we hold; CUDA's own is the fastest
    return own


class Worker:
    """One process of a run. `result` is its last message once that has come."""

    def __init__(
        self,
        description: Mapping[str, Any],
        environment: Mapping[str, str],
        command: Sequence[str] = COMMAND,
    ):
        heard, told = os.pipe()
        page = new_page()
        self.progress = Progress(page)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(told, page),
            env=environment,
        )
        os.close(told)
        os.close(page)
        self.pid = self._process.pid
        self._heard = heard
        assert self._process.stdout is not None
        self._printed = self._process.stdout.fileno()
        self.file_numbers = [heard, self._printed]  # those still open
        for number in self.file_numbers:
            os.set_blocking(number, False)
        self._line = bytearray()
        self._tail = bytearray()
        self._waiting = False
        self.result: dict[str, Any] | None = None
        self.tell(json.dumps({**description, "parent": os.getpid(), "report": told, "progress": page}))

    def tell(self, line: str) -> None:
        """A line on its standard input; nothing when it has ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def hear(self) -> list[dict[str, Any]]:
        """The messages that came since last time, the result excepted; keeps the end of what it printed."""
        self._read(self._printed, self._tail)
        del self._tail[:-TAIL_BYTES]
        self._read(self._heard, self._line)
        *lines, rest = bytes(self._line).split(b"\n")
        self._line = bytearray(rest)
        messages = [json.loads(line) for line in lines]
        for message in messages:
            self.result = message.get("result", self.result)
        return [message for message in messages if "result" not in message]

    def _read(self, number: int, into: bytearray) -> None:
        if number not in self.file_numbers:
            return
        while True:
            try:
                found = os.read(number, 1 << 16)
            except BlockingIOError:
                return
            if not found:
                self.file_numbers.remove(number)  # ended: no use in waiting for more
                return
            into += found

    @property
    def printed(self) -> str | None:
        """The end of what it printed."""
        return self._tail.decode(errors="replace").strip()[-4000:] or None

    @property
    def updates(self) -> int:
        """How many it has done, known even when it was killed."""
        return self.progress.read()[1]

    def pause(self) -> None:
        """Stop all its threads, so that they take nothing from the other side; returns when they have stopped."""
        self._signal(signal.SIGSTOP)
        self._waiting = True
        end = time.monotonic() + STOP_SECONDS
        while (line := look(self.pid)) and line.state not in "TtZX" and time.monotonic() < end:
            time.sleep(0.0002)

    def go_on(self) -> None:
        """After `pause`."""
        if self._waiting:
            self._signal(signal.SIGCONT)
            self._waiting = False

    def no_more(self) -> None:
        """It is told nothing more: the end of its standard input."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def ask_to_end(self) -> None:
        """It reports what it has and ends, if it still can."""
        self.go_on()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def close(self) -> int:
        """Wait for its end, which must be near, and give its exit status."""
        status = self._process.wait()
        self.hear()
        os.close(self._heard)
        for file in (self._process.stdin, self._process.stdout):
            if file is not None:
                with contextlib.suppress(BrokenPipeError):
                    file.close()
        return status
