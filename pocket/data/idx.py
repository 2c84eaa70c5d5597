"""IDX, the file format of MNIST and Fashion-MNIST: a big-endian header, then the bytes.

images: int32 2051, count, rows, columns, then count * rows * columns unsigned bytes
labels: int32 2049, count, then count unsigned bytes
"""

import gzip
import zlib
from pathlib import Path

import numpy as np

from pocket.mistake import Mistake

MAGIC = {2051: 3, 2049: 1}  # magic number -> number of dimensions


def unpacked(path: Path) -> bytes:
    """The file's content; gzip is recognised by its first two bytes (1f 8b), whatever the file is called."""
    content = path.read_bytes()
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise Mistake(f"{path}: a cut or damaged gzip file ({error}); fetch it again") from error


def parse(content: bytes, name: str, dimensions: int) -> np.ndarray:
    """The array in `content`: uint8, `dimensions` axes (3 for images, 1 for labels).

    Mistake when the header is cut, the magic number is another, or the bytes are fewer or more than the header says.
    """
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise Mistake(f"{name}: {len(content)} bytes, wanted an IDX header of {header}; fetch the file again")
    numbers = np.frombuffer(content, ">i4", 1 + dimensions).tolist()
    if MAGIC.get(numbers[0]) != dimensions:
        wanted = next(magic for magic, axes in MAGIC.items() if axes == dimensions)
        hint = " (a little-endian header)" if MAGIC.get(int.from_bytes(content[:4], "little")) else ""
        raise Mistake(f"{name}: starts with {numbers[0]}{hint}, wanted the IDX magic number {wanted}; fetch it again")
    shape = tuple(numbers[1:])
    wanted_bytes = int(np.prod(shape, dtype=np.int64))
    if min(shape) < 0 or len(content) - header != wanted_bytes:
        raise Mistake(
            f"{name}: {len(content) - header} bytes after the header, which says {shape}: {wanted_bytes}; fetch again"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def pair(images: np.ndarray, labels: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images with a channel axis, uint8 N H W 1, and labels int64 N. Mistake when there are not as many of each."""
    if len(images) != len(labels):
        raise Mistake(f"{name}: {len(images)} images but {len(labels)} labels; the two files do not belong together")
    return images[..., None], labels.astype(np.int64)
