import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from pocket.data.class_folder import SUFFIXES
from pocket.data.picture import read_picture, resized
from pocket.mistake import Mistake

from .pictures import cut_file, one_bit_file, palette_file, photo_file


def test_palette_is_looked_up(tmp_path):
    np.testing.assert_array_equal(read_picture(palette_file(tmp_path / "p.png")), [[[255, 0, 0], [0, 0, 255]]])


def test_one_bit_becomes_0_and_255(tmp_path):
    np.testing.assert_array_equal(read_picture(one_bit_file(tmp_path / "b.png")), [[[0, 0, 0], [255, 255, 255]]])


def test_alpha_is_dropped_and_the_colour_under_it_stays(tmp_path):
    Image.new("RGBA", (1, 1), (10, 20, 30, 0)).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "a.png"), [[[10, 20, 30]]])


def test_palette_with_transparency_gives_its_colours_without_a_warning(tmp_path):
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 40, 50, 60])
    image.putdata([0, 1])
    image.save(tmp_path / "t.png", transparency=b"\x00\xff")
    np.testing.assert_array_equal(read_picture(tmp_path / "t.png"), [[[10, 20, 30], [40, 50, 60]]])


@pytest.mark.parametrize(("mode", "colour"), [("L", 77), ("LA", (77, 0))])
def test_grey_is_repeated_in_three_channels(tmp_path, mode, colour):
    Image.new(mode, (1, 1), colour).save(tmp_path / "g.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "g.png"), [[[77, 77, 77]]])


def test_sixteen_bit_grey_keeps_its_upper_bits(tmp_path):
    deep = np.array([[0, 256, 32768, 65535]], dtype=np.uint16)
    Image.fromarray(deep).save(tmp_path / "d.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "d.png")[0, :, 0], [0, 1, 128, 255])


def test_cmyk_jpeg_is_converted(tmp_path):
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "c.jpg", quality=100)
    red, green, blue = read_picture(tmp_path / "c.jpg")[4, 4].tolist()
    assert red > 250
    assert green < 5
    assert blue < 5


def test_orientation_mark_is_obeyed(tmp_path):
    image = Image.fromarray(np.array([[[1, 1, 1], [9, 9, 9]]], dtype=np.uint8))  # one row of two pixels
    exif = Image.Exif()
    exif[274] = 6  # stored rotated: turn by 90 degrees clockwise to see it upright
    image.save(tmp_path / "e.png", exif=exif)
    np.testing.assert_array_equal(read_picture(tmp_path / "e.png")[:, :, 0], [[1], [9]])


def test_animation_gives_its_first_frame(tmp_path):
    frames = [Image.new("RGB", (2, 2), colour) for colour in ((255, 0, 0), (0, 0, 255))]
    frames[0].save(tmp_path / "m.gif", save_all=True, append_images=frames[1:])
    np.testing.assert_array_equal(read_picture(tmp_path / "m.gif")[0, 0], [255, 0, 0])


def test_bad_files_are_named(tmp_path):
    cut = cut_file(tmp_path / "cut.jpg")
    Image.open(cut).close()  # the header alone gives nothing away
    empty = tmp_path / "leer é 空.png"
    empty.write_bytes(b"")
    text = tmp_path / "text.jpg"
    text.write_text("not a picture")
    for path, words in ((cut, "not a readable picture"), (empty, "an empty file"), (text, "not a readable picture")):
        with pytest.raises(Mistake, match=words) as caught:
            read_picture(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_picture_too_large_to_be_honest_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    photo_file(tmp_path / "bomb.png", size=(13, 12))
    with pytest.raises(Mistake, match="156"):
        read_picture(tmp_path / "bomb.png")


def test_resizing_averages_when_shrinking_and_never_wraps():
    chess = np.indices((8, 8)).sum(axis=0) % 2 * 255
    small = resized(chess.astype(np.uint8)[..., None], 2)
    assert small.shape == (2, 2, 1)
    assert small.dtype == np.uint8
    assert np.abs(small.astype(int) - 127.5).max() <= 1
    edge = np.array([[0, 255], [255, 0]], dtype=np.uint8)[..., None]
    large = resized(edge, 6)
    assert large[0, 0, 0] == 0
    assert large[0, -1, 0] == 255
    assert (np.diff(large[0, :, 0].astype(int)) >= 0).all()


def test_squeezes_what_is_not_square_and_keeps_what_fits():
    x = np.arange(2 * 4 * 3, dtype=np.uint8).reshape(2, 4, 3)
    assert resized(x, 5).shape == (5, 5, 3)
    square = np.zeros((5, 5, 3), np.uint8)
    assert resized(square, 5) is square


def test_what_is_called_a_picture_reaches_no_other_program(tmp_path, monkeypatch):
    """An EPS by another name: Pillow would have Ghostscript interpret it."""
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *given, **options: pytest.fail("it was interpreted"))
    Image.new("RGB", (4, 4)).save(tmp_path / "a.eps")
    hidden = (tmp_path / "a.eps").rename(tmp_path / "a.png")
    with pytest.raises(Mistake, match=r"a\.png: not a readable picture"):
        read_picture(hidden)
    for suffix in sorted(SUFFIXES):
        assert read_picture(photo_file(tmp_path / f"photo{suffix}")).shape == (48, 64, 3)
