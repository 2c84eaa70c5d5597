"""`compiled`: a plain Python function over arrays, translated to machine code by Numba at its first call.

Importing the engine must not import Numba, so a kernel is translated when it is first called with a given dtype, and
kept on disk. Kernels run without the interpreter lock: threads are ours, over images or blocks, never Numba's.

Numba notices that a function's own file changed, not that a file it uses did. So the translations are kept in a folder
named after the digest of all kernel sources and of the registers they are written for.
"""

import contextlib
import functools
import hashlib
import os
import tempfile
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # its features have no public name

WIDE = bool(_multiarray_umath.__cpu_features__.get("AVX512F"))  # registers of 64 bytes

_translating = threading.RLock()  # several threads may call a kernel for the first time; kernels translate kernels


@functools.cache
def folder() -> Path:
    """Where translated kernels are kept: below NUMBA_CACHE_DIR; beside the compiled Python files; or, where those may
    not be written (an installed package), below the user's cache folder or, for this process alone, a temporary one.
    """
    here = Path(__file__).parent
    digest = hashlib.sha256(str(WIDE).encode())
    for source in sorted(here.glob("*.py")):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    for place in _places(here):
        with contextlib.suppress(OSError):
            (place / name).mkdir(parents=True, exist_ok=True)
            if os.access(place / name, os.W_OK):
                return place / name
    return Path(tempfile.mkdtemp(prefix="pocketnn-")) / name


def _places(here: Path) -> Iterator[Path]:
    if asked := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(asked)
        return
    yield here / "__pycache__"
    with contextlib.suppress(RuntimeError):  # a user without a home, as in a container that was given a bare number
        yield Path.home() / ".cache" / "pocketnn"


class Kernel:
    """A function that is translated when first called. `plain` is the Python function itself."""

    def __init__(self, function: Callable):
        self.plain = function
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._translated: Any = None

    def translated(self) -> Any:
        """The Numba dispatcher, made once. Kernels and intrinsics that the function names are replaced by theirs."""
        with _translating:
            if self._translated is None:
                self._translated = _translate(self.plain)
        return self._translated

    def __call__(self, *arguments):
        return (self._translated or self.translated())(*arguments)


class Late:
    """A name in compiled code that only Numba can make; `make` is called when it is first needed."""

    def __init__(self, make: Callable[[], Any]):
        self._make, self._made = make, None

    def __call__(self, *arguments):
        raise TypeError("this function exists in compiled code only")

    def translated(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made


def _translate(function: Callable) -> Any:
    import numba

    code = function.__code__
    names = {
        name: value.translated()
        for name, value in function.__globals__.items()
        if isinstance(value, Kernel | Late) and name in code.co_names
    }
    bound = types.FunctionType(code, {**function.__globals__, **names}, function.__name__, function.__defaults__)
    bound.__module__, bound.__qualname__ = function.__module__, function.__qualname__
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder())
    try:
        # contract: a*b+c may become one rounding. Nothing that would reorder sums or assume there is no nan.
        return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz"})(bound)
    finally:
        config.CACHE_DIR = before


def compiled(function: Callable) -> Kernel:
    """Decorator: the function runs as machine code. It names only arrays, numbers, NumPy and other kernels."""
    return Kernel(function)
