"""Pictures for the tests: one file of each awkward kind."""

from pathlib import Path

import numpy as np
from PIL import Image

RED, BLUE = (255, 0, 0), (0, 0, 255)


def colour_file(path: Path, colour: tuple[int, int, int] = RED, size: tuple[int, int] = (4, 4)) -> Path:
    """A picture of one colour; size is (width, height)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


def palette_file(path: Path) -> Path:
    """Two pixels of a palette picture: index 0 is red, index 1 is blue."""
    image = Image.new("P", (2, 1))
    image.putpalette([*RED, *BLUE])
    image.putdata([0, 1])
    image.save(path)
    return path


def one_bit_file(path: Path) -> Path:
    """Two pixels, black and white."""
    image = Image.new("1", (2, 1))
    image.putdata([0, 1])
    image.save(path)
    return path


def photo_file(path: Path, size: tuple[int, int] = (64, 48), mode: str = "RGB", **options) -> Path:
    """Coloured noise, so that a JPEG of it is long enough to be cut."""
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(noise).convert(mode).save(path, **options)
    return path


def cut_file(path: Path) -> Path:
    """A JPEG that ends halfway: its header is whole, its pixels are not."""
    photo_file(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return path
