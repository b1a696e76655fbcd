"""Numbers and quantities as people read them."""

import pytest

from app.core import units


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (4194304, "4,194,304"),
        (24576.0, "24,576"),
        (0.260980, "0.261"),
        (3510.857, "3,511"),
        (12.0732, "12.07"),
        (2.5e-7, "2.5e-7"),
        (1e18, "1e18"),
        (float("inf"), "∞"),
        (float("nan"), "–"),
    ],
)
def test_number_keeps_four_significant_digits(value: float, expected: str) -> None:
    assert units.number(value) == expected


def test_sizes_are_shown_in_both_systems() -> None:
    assert units.both_bytes(64 * units.MIB) == "64\u2009MiB (67.11\u2009MB)"


def test_small_sizes_are_plain_bytes() -> None:
    assert units.both_bytes(512) == "512\u2009B"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0\u2009s"), (0.000261, "261\u2009µs"), (0.002, "2\u2009ms"), (90, "90\u2009s"), (3e-9, "3\u2009ns")],
)
def test_durations_take_the_unit_that_suits_them(seconds: float, expected: str) -> None:
    assert units.duration(seconds) == expected


def test_units_that_are_words_are_translated() -> None:
    assert units.quantity_text(6.0, "B/element").zh == "6\u2009B/元素"
    assert units.quantity_text(6.0, "B/element").en == "6\u2009B/element"
    assert units.quantity_text(450.0, "GB/s").zh == "450\u2009GB/s"
