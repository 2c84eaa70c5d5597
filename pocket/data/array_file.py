"""Writing an .npy file row by row.

Through ordinary writes, not a mapping: on a full disk a mapping kills the process, a write says so.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np


def write_rows(path: Path, shape: tuple[int, ...], dtype: np.dtype, rows: Iterable[np.ndarray]) -> None:
    """Writes `rows`, each of shape[1:], as one C-ordered array of `shape`.

    ValueError when a row has another shape or type, or when there are not shape[0] of them.
    """
    written = 0
    with path.open("wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for row in rows:
            if row.shape != shape[1:] or row.dtype != dtype:
                raise ValueError(f"row {written} is {row.dtype} {row.shape}, wanted {dtype} {shape[1:]}")
            file.write(np.ascontiguousarray(row).data)
            written += 1
    if written != shape[0]:
        raise ValueError(f"{written} rows came, wanted {shape[0]}")
