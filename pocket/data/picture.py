"""One picture file as RGB bytes, whatever kind of file it is; and changing a picture's size."""

import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from pocket.mistake import Mistake

# Pillow goes by content, whatever a file is called, and hands some kinds to other programs (EPS to Ghostscript).
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
DEEP_GREY = ("I;16", "I;16L", "I;16B", "I;16N")


def read_picture(path: Path) -> np.ndarray:
    """Reads, turns upright and converts to RGB: uint8 H W 3. Mistake, naming the path, for a bad file.

    Palettes are looked up, 1-bit becomes 0 and 255, grey is repeated in three channels, CMYK is converted, 16-bit
    grey keeps its upper eight bits, an alpha channel is dropped (the colour stored under it stays), of an animation
    the first frame is read. The camera's orientation mark (EXIF) is obeyed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what does not matter here: odd EXIF entries, palettes' transparency
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=FORMATS) as image:
                image.load()  # opening reads the header only: a cut file fails here
                return np.asarray(_rgb(ImageOps.exif_transpose(image)))
    except Exception as error:  # Pillow's decoders raise nearly anything on damaged bytes
        raise Mistake(f"{path}: {_reason(error, path)}") from error


def resized(x: np.ndarray, resolution: int) -> np.ndarray:
    """x: uint8 H W C -> uint8 `resolution` `resolution` C, bilinear; x itself where its size is right already.

    When shrinking, Pillow widens the bilinear filter to average over all that a new pixel covers. The whole picture
    is kept: one that is not square is squeezed, not cropped. Results are rounded and clipped, never wrapped.
    """
    if x.shape[:2] == (resolution, resolution):
        return x
    image = Image.fromarray(x[..., 0] if x.shape[2] == 1 else x)
    image = image.resize((resolution, resolution), Image.Resampling.BILINEAR)
    return np.asarray(image).reshape(resolution, resolution, x.shape[2])


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode in DEEP_GREY:
        deep = np.asarray(image).astype(np.uint16)
        return Image.fromarray((deep >> 8).astype(np.uint8)).convert("RGB")  # convert alone would clip at 255
    if image.mode in ("I", "F"):
        raise ValueError(f"pixels of mode {image.mode} have no known range; save it with 8 bits a channel")
    if image.mode == "P" and "transparency" in image.info:
        return image.convert("RGBA").convert("RGB")
    return image.convert("RGB")


def _reason(error: Exception, path: Path) -> str:
    if path.is_file() and path.stat().st_size == 0:
        return "an empty file"
    text = str(error).replace(repr(str(path)), "it") or type(error).__name__
    return f"not a readable picture ({text})"
