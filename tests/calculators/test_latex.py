"""Formulas and their numbers come from one template, and rounding is never hidden."""

import pytest

from app.calculators import latex
from app.calculators.latex import Symbol


def test_both_lines_come_from_one_template() -> None:
    symbols = {"t": Symbol("t", "8"), "S": Symbol("S", r"64\,\text{MiB}")}
    template = r"\frac{2(<t> - 1)}{<t>} * <S>"

    symbolic = latex.symbolic(template, symbols)
    substituted = latex.substituted(template, symbols)

    assert symbolic == r"\frac{2(t - 1)}{t} \, S"
    assert substituted == r"\frac{2(8 - 1)}{8} \cdot 64\,\text{MiB}"


def test_a_symbol_the_template_does_not_know_is_our_mistake() -> None:
    with pytest.raises(KeyError):
        latex.symbolic("<missing>", {})


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (67108864, "bytes", r"= 67{,}108{,}864\,\text{B} = 64\,\text{MiB} \approx 67.11\,\text{MB}"),
        (512, "bytes", r"= 512\,\text{B}"),
        (0, "bytes", r"= 0\,\text{B}"),
        (0.002, "s", r"= 2\,\text{ms}"),
        (0.00026097891556, "s", r"\approx 261\,\mu\text{s}"),
        (0, "s", r"= 0\,\text{s}"),
        (437.5, "GB/s", r"= 437.5\,\text{GB/s}"),
        (1 / 3, "", r"\approx 0.333333"),
        (8.25e17, "FLOP", r"= 825\,\text{PFLOP}"),
        (1e-8, "", r"= 1\times 10^{-8}"),
    ],
)
def test_the_end_of_a_line_says_whether_it_rounds(value: float, unit: str, expected: str) -> None:
    assert latex.equals(value, unit) == expected
