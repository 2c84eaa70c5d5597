"""Reading CIFAR-10's pickles without letting them run anything: a pickle may call whatever it names.

The files hold dictionaries of lists, byte strings and uint8 arrays, written by Python 2. Exactly what rebuilds such an
array is allowed; any other name is refused.
"""

import io
import pickle
from typing import Any

import numpy as np

from pocket.mistake import Mistake


def _empty(kind: type, shape: tuple[int, ...], code: Any) -> np.ndarray:
    """What a pickled array is before its state is set: NumPy's own function of that name does the same."""
    return np.empty(0, np.uint8)


ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _empty,
    ("numpy._core.multiarray", "_reconstruct"): _empty,  # NumPy 2 writes this name
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no data file needs")
        return ALLOWED[module, name]


def read(content: bytes, name: str) -> dict[bytes, Any]:
    """The dictionary in `content`, byte strings left as bytes. Mistake when it is cut, damaged or names anything
    else.
    """
    try:
        value = _Unpickler(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # damaged bytes make the unpickler raise nearly anything
        raise Mistake(f"{name}: not a readable data file ({error}); fetch it again") from error
    if not isinstance(value, dict):
        raise Mistake(f"{name}: holds a {type(value).__name__}, wanted a dictionary; fetch it again")
    return value
