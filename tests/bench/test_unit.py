"""Numbers and settings in words."""

import pytest

from pocket.bench.page.unit import digits, quantity_text, setting_words, shown, signed


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.0123, "0.0123"), (1.3249, "1.32"), (147.3, "147"), (12400.4, "12,400"), (3.2e-7, "3.20e-07")],
)
def test_three_significant_digits(value, text):
    assert digits(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.03204, "s", "32.0 ms"),
        (48234496, "bytes", "46.0 MiB"),
        (8 * 2**30, "bytes", "8.00 GiB"),
        (0.97222, "fraction", "97.22 %"),
        (1.3163, "ratio", "1.32×"),
        (1.0023, "ratio", "1.002×"),
        (0.0603, "", "0.0603"),
        (4021.2, "1/s", "4,021 samples/s"),
    ],
)
def test_quantities_in_a_readers_units(value, unit, text):
    assert quantity_text(value, unit).replace("\N{NO-BREAK SPACE}", " ") == text


def test_ends_of_an_interval_have_the_decimals_of_its_value():
    assert shown(0.0310, "s", 0.0320) == ("31.0", "ms")
    assert shown(1.2, "ratio", 1.0001) == ("1.200", "×")
    assert shown(900 * 2**20, "bytes", 2 * 2**30) == ("0.88", "GiB")


def test_signs():
    assert (signed(0.371), signed(-0.829), signed(-0.0001)) == ("+0.37", "−0.83", "0.00")


def test_settings_in_words():
    settings = {"trainer": "torch", "precision": "amp", "batch_size": 64, "divide_loss": False, "malloc": "raised"}
    assert setting_words(settings) == ["PyTorch", "amp", "batch size 64", "loss not divided", "allocator raised"]
    assert setting_words({"opponent": {"trainer": "torch", "malloc": "default"}}) == [
        "opponent PyTorch, allocator default"
    ]
