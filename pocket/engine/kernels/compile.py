"""`compiled`: a plain Python function over arrays, translated to machine code by Numba at its first call.

Importing the engine must not import Numba, so a kernel is translated when it is first called with a given dtype, and
kept on disk. Kernels run without the interpreter lock: threads are ours, over images or blocks, never Numba's.
"""

import types
from collections.abc import Callable
from typing import Any


class Kernel:
    """A function that is translated when first called. `plain` is the Python function itself."""

    def __init__(self, function: Callable):
        self.plain = function
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._translated: Any = None

    def translated(self) -> Any:
        """The Numba dispatcher, made once. Kernels and intrinsics that the function names are replaced by theirs."""
        if self._translated is None:
            import numba

            function = self.plain
            names = {
                name: value.translated()
                for name, value in function.__globals__.items()
                if isinstance(value, Kernel | Late) and name in function.__code__.co_names
            }
            bound = types.FunctionType(
                function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__
            )
            bound.__module__, bound.__qualname__ = function.__module__, function.__qualname__
            # contract: a*b+c may become one rounding. Nothing that would reorder sums or assume there is no nan.
            self._translated = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz"})(
                bound
            )
        return self._translated

    def __call__(self, *arguments):
        return (self._translated or self.translated())(*arguments)


class Late:
    """A name that Numba-compiled code uses and that only Numba can make; `make` is called when it is first needed."""

    def __init__(self, make: Callable[[], Any]):
        self._make, self._made = make, None

    def translated(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made


def compiled(function: Callable) -> Kernel:
    """Decorator: the function runs as machine code. It names only arrays, numbers, NumPy and other kernels of its file.

    Numba notices a changed file, not a changed file that another one uses: what a kernel calls stands beside it.
    """
    return Kernel(function)
