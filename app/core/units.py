"""Units inside the program and the way they are written for people.

Inside Python a size is bytes, a duration seconds, a rate bytes per second or FLOP per
second, all plain SI without prefix. At every border (form, JSON, column, environment) the
name carries the unit: `size_bytes`, `time_us`, `bandwidth_gb_per_s`. The functions here
write a value for people: capacity in binary and decimal units side by side, rates decimal.
"""

import math
from typing import NewType

from app.core.i18n import Text, same

Bytes = NewType("Bytes", float)
Seconds = NewType("Seconds", float)
BytesPerSecond = NewType("BytesPerSecond", float)
FlopPerSecond = NewType("FlopPerSecond", float)

GIGA = 1e9
TERA = 1e12
KIB = 1024
MIB = 1024**2
GIB = 1024**3

THIN_SPACE = "\u2009"

_DECIMAL_BYTES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))
_BINARY_BYTES = (("TiB", 1024.0**4), ("GiB", 1024.0**3), ("MiB", 1024.0**2), ("KiB", 1024.0), ("B", 1.0))
_WORDS = {"elements": Text("elements", "个元素"), "B/element": Text("B/element", "B/元素")}
_SECONDS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def number(value: float, digits: int = 4) -> str:
    """`value` with at most `digits` significant digits, grouped by thousands, no trailing zeros.

    >>> number(4194304), number(0.26098), number(24576.0)
    ('4,194,304', '0.261', '24,576')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "–"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if value and not 1e-4 <= abs(value) < 1e15:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scaled(value: float, scale: tuple[tuple[str, float], ...], digits: int) -> str:
    if not math.isfinite(value):
        return f"{number(value)}{THIN_SPACE}{scale[0][0]}"
    for unit, factor in scale:
        if abs(value) >= factor:
            return f"{number(value / factor, digits)}{THIN_SPACE}{unit}"
    unit, factor = scale[-1]
    return f"{number(value / factor, digits)}{THIN_SPACE}{unit}"


def binary_bytes(value: float, digits: int = 4) -> str:
    """A size in KiB, MiB, GiB: `64 MiB`."""
    return _scaled(value, _BINARY_BYTES, digits)


def decimal_bytes(value: float, digits: int = 4) -> str:
    """A size in kB, MB, GB: `67.11 MB`."""
    return _scaled(value, _DECIMAL_BYTES, digits)


def both_bytes(value: float) -> str:
    """A size in both systems, `64 MiB (67.11 MB)`; bytes alone below one KiB."""
    if abs(value) < KIB:
        return binary_bytes(value)
    return f"{binary_bytes(value)} ({decimal_bytes(value)})"


def duration(value: float, digits: int = 4) -> str:
    """A duration in the unit that suits it: `0.261 ms`-like values become `261 µs`."""
    if value == 0:
        return f"0{THIN_SPACE}s"
    return _scaled(value, _SECONDS, digits)


def quantity(value: float, unit: str) -> str:
    """Any result of a calculator for people: bytes in both systems, seconds scaled, the rest as it is."""
    if unit == "bytes":
        return both_bytes(value)
    if unit == "s":
        return duration(value)
    return f"{number(value)}{THIN_SPACE}{unit}" if unit else number(value)


def quantity_text(value: float, unit: str) -> Text:
    """The same in both languages: a unit that is a word is translated."""
    word = _WORDS.get(unit)
    return same(quantity(value, unit)) if word is None else Text(quantity(value, word.en), quantity(value, word.zh))
