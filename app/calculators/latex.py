"""Numbers and quantities as LaTeX, and formulas written once for both of their lines.

A formula is a template: `<t>` stands for a symbol and `*` for a product that is silent between symbols
and a dot between numbers. `symbolic` and `substituted` fill the same template, so the line with the
numbers can never say something else than the line with the symbols.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.core import units

_SLOT = re.compile(r"<(\w+)>")
_PRODUCT = re.compile(r"\s*\*\s*")
_UNITS = {"µs": r"\mu\text{s}", "%": r"\%"}
_FLOP = (("PFLOP", 1e15), ("TFLOP", 1e12), ("GFLOP", 1e9), ("MFLOP", 1e6))


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named quantity: how it is written, and its number with unit, both LaTeX."""

    latex: str
    number: str


def number(value: float, digits: int = 6) -> str:
    r"""`value` with grouped digits: `67{,}108{,}864`, `1.5\times 10^{-5}`."""
    return _figure(units.number(value, digits))


def with_unit(value: float, unit: str, digits: int = 6) -> str:
    """A number and its unit with a thin space between; much FLOP in the prefix that suits it."""
    if unit == "FLOP":
        unit, factor = next(((name, factor) for name, factor in _FLOP if value >= factor), (unit, 1.0))
        value /= factor
    return f"{number(value, digits)}{_unit(unit)}"


def duration(value: float) -> str:
    r"""A time in the unit that suits it: `260.979\,\mu\text{s}`."""
    figure, _, unit = units.duration(value, 6).partition(units.THIN_SPACE)
    return f"{_figure(figure)}{_unit(unit)}"


def equals(value: float, unit: str) -> str:
    r"""The end of a substituted line: `= 67{,}108{,}864\,\text{B} = 64\,\text{MiB}`; `\approx` where it rounds."""
    if unit == "bytes":
        exact = f"{_sign(value, _rounded(value))} {with_unit(value, 'B')}"
        if abs(value) < units.KIB:
            return exact
        return f"{exact} {_scaled(value, units.binary_bytes(value))} {_scaled(value, units.decimal_bytes(value))}"
    if unit == "s":
        return _scaled(value, units.duration(value))
    sign = _sign(value, _rounded(value)) if unit != "FLOP" else "="
    return f"{sign} {with_unit(value, unit)}"


def symbolic(template: str, symbols: Mapping[str, Symbol]) -> str:
    """The template with the symbols in it."""
    return _SLOT.sub(lambda slot: symbols[slot[1]].latex, _PRODUCT.sub(lambda _: r" \, ", template))


def substituted(template: str, symbols: Mapping[str, Symbol]) -> str:
    """The template with the numbers in it."""
    return _SLOT.sub(lambda slot: symbols[slot[1]].number, _PRODUCT.sub(lambda _: r" \cdot ", template))


_FACTORS = {
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
    "s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9,
}  # fmt: skip


def _scaled(value: float, text: str) -> str:
    """`text` is `value` as `units` writes it for people: number, thin space, unit."""
    figure, _, unit = text.partition(units.THIN_SPACE)
    shown = float(figure.replace(",", "")) * _FACTORS[unit]
    return f"{_sign(value, shown)} {_figure(figure)}{_unit(unit)}"


def _figure(text: str) -> str:
    """What `units.number` wrote, as LaTeX."""
    mantissa, exponent, power = text.partition("e")
    mantissa = mantissa.replace(",", "{,}")
    return rf"{mantissa}\times 10^{{{int(power)}}}" if exponent else mantissa


def _rounded(value: float) -> float:
    return float(units.number(value, 6).replace(",", "")) if math.isfinite(value) else value


def _sign(value: float, shown: float) -> str:
    return "=" if math.isclose(value, shown, rel_tol=1e-9) else r"\approx"


def _unit(unit: str) -> str:
    if not unit:
        return ""
    return r"\," + (_UNITS.get(unit) or rf"\text{{{unit}}}")
