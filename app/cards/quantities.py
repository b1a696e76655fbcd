"""Reads a quantity a person typed: a number in any usual notation, and a unit with its dimension.

`1,024`, `１２８`, `2^30`, `1.2e9`, `1.5 × 10^9`, `3/4`, `80 GiB`, `260 µs`, `1.5 亿`. What could mean two things is
refused with a sentence that says why (`1,5`; `80 G`; two numbers), never guessed: a drill must not
be right by luck. An explicit table instead of a units library, see decision 0017.
"""

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from app.core.i18n import Text

Dimension = Literal["bytes", "s", "bytes/s", "flop", "flop/s", "flop/byte", ""]

MAXIMUM_CHARACTERS = 60
MAXIMUM_EXPONENT = 128

_DECIMAL = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_COUNTS = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "万": 1e4, "亿": 1e8}
_PER_SECOND = ("/s", "/sec", "/秒")
_AMBIGUOUS = frozenset(
    ("G", "g", "Gi", "Mi", "Ki", "Ti", "kb", "mb", "gb", "tb", "kbps", "mbps", "gbps", "kb/s", "mb/s", "gb/s", "tb/s")
)
"""Bits or bytes, decimal or binary: even `kb`, which ought to be a thousand bits, is mostly typed for bytes."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its dimension and how many base units (bytes, seconds, FLOP) it is."""

    dimension: Dimension
    factor: float


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as typed, and its unit; `unit` is None when none was written."""

    number: float
    unit: Unit | None
    unit_text: str

    @property
    def value(self) -> float:
        """The value in base units."""
        return self.number * (self.unit.factor if self.unit else 1.0)


class Unreadable(ValueError):
    """The text is not one quantity; `message` says why and how to write it."""

    def __init__(self, message: Text) -> None:
        super().__init__(message.en)
        self.message = message


def _table() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    prefixes = {"": 1.0, **_DECIMAL, **_BINARY}
    for prefix, factor in prefixes.items():
        for name in ("B", "byte", "bytes", "字节"):
            units[prefix + name] = Unit("bytes", factor)
            units |= {prefix + name + per: Unit("bytes/s", factor) for per in _PER_SECOND}
        for name in ("b", "bit", "bits", "比特"):
            units[prefix + name] = Unit("bytes", factor / 8)
            units |= {prefix + name + per: Unit("bytes/s", factor / 8) for per in _PER_SECOND}
        units[prefix + "bps"] = Unit("bytes/s", factor / 8)
        units[prefix + "Bps"] = Unit("bytes/s", factor)
    for prefix, factor in {"": 1.0, **_DECIMAL}.items():
        for name in ("FLOP", "FLOPs", "flop", "flops"):
            units[prefix + name] = Unit("flop", factor)
            units |= {prefix + name + per: Unit("flop/s", factor) for per in _PER_SECOND}
            for byte in ("/B", "/byte", "/字节"):
                units[prefix + name + byte] = Unit("flop/byte", factor)
        # Capital S is the usual way to write "per second" where no slash is.
        units[prefix + "FLOPS"] = Unit("flop/s", factor)
    seconds: Mapping[float, tuple[str, ...]] = {
        1.0: ("s", "sec", "secs", "second", "seconds", "秒"),
        1e-3: ("ms", "msec", "毫秒"),
        1e-6: ("us", "µs", "μs", "usec", "微秒"),
        1e-9: ("ns", "纳秒"),
        60.0: ("min", "mins", "minute", "minutes", "分钟"),
        3600.0: ("h", "hour", "hours", "小时"),
        86400.0: ("d", "day", "days", "天"),
    }
    units |= {name: Unit("s", factor) for factor, names in seconds.items() for name in names}
    units |= dict.fromkeys(("%", "percent"), Unit("", 0.01))
    counted = (
        "x",
        "times",
        "倍",
        "次",
        "个",
        "element",
        "elements",
        "元素",
        "个元素",
        "B/element",
        "bytes/element",
        "bytes per element",
        "B/元素",
        "字节/元素",
    )
    units |= dict.fromkeys(counted, Unit("", 1.0))
    return {name: unit for name, unit in units.items() if name not in _AMBIGUOUS}


UNITS = _table()

_NUMBER = r"(?:\d[\d,_ ]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_FACTOR = re.compile(rf"\s*({_NUMBER})(?:\s*(?:\^|\*\*)\s*(-?\d+))?")
_OPERATOR = re.compile(r"\s*([*/])(?=\s*[\d.])")
_RAISED = re.compile("[\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")
_LOWERED = str.maketrans("\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", "-0123456789")
_GROUPED = re.compile(r"\d{1,3}(?:([, _])\d{3})(?:\1\d{3})*(?:\.\d*)?|\d*\.?\d*")


def read(text: str) -> Quantity:
    """The quantity in `text`. Raises Unreadable for anything that is not exactly one finite quantity."""
    typed = _plain(text)
    if not typed:
        raise Unreadable(Text("Nothing was typed.", "还没有输入。"))
    if len(typed) > MAXIMUM_CHARACTERS:
        raise Unreadable(Text("That is too long: one number and its unit.", "太长了：请只写一个数和它的单位。"))
    sign = -1.0 if typed.startswith("-") else 1.0
    number, rest = _product(typed[1:] if typed[0] in "+-" else typed, typed)
    unit, unit_text = _unit(rest)
    value = sign * number
    if not math.isfinite(value) or not math.isfinite(value * (unit.factor if unit else 1.0)):
        raise Unreadable(Text("That number is out of range.", "这个数超出了范围。"))
    return Quantity(value, unit, unit_text)


def _plain(text: str) -> str:
    """The text in ASCII notation: full-width digits, raised exponents and typographic signs replaced."""
    # Raised digits first: compatibility normalisation would turn 10³ into 103.
    raised = _RAISED.sub(lambda run: "^" + run[0].translate(_LOWERED), text)
    if any(unicodedata.category(character) == "No" for character in raised):
        raise Unreadable(Text("Write fractions as 1/2 or 0.5.", "分数请写成 1/2 或 0.5。"))
    plain = unicodedata.normalize("NFKC", raised).strip()
    for seen, meant in (("\N{MINUS SIGN}", "-"), ("×", "*"), ("·", "*"), ("\N{GREEK SMALL LETTER MU}", "µ")):
        plain = plain.replace(seen, meant)
    # A factor after the number: `8×` is eight times.
    return plain.removesuffix("*").rstrip() + " x" if plain.endswith("*") else plain


def _product(text: str, typed: str) -> tuple[float, str]:
    """The value of `factor (* or / factor)…` at the start of `text`, and what follows it."""
    match = _FACTOR.match(text)
    if match is None:
        raise Unreadable(
            Text(f"No number could be read in “{typed}”. Write one like 1.5e9, 2^30 or 1,024.",
                 f"“{typed}”里读不出数字。请写成 1.5e9、2^30 或 1,024 这样。")
        )  # fmt: skip
    value = _factor(match)
    text = text[match.end() :]
    while operator := _OPERATOR.match(text):
        match = _FACTOR.match(text, operator.end())
        if match is None:
            break
        factor = _factor(match)
        if operator[1] == "/":
            if not factor:
                raise Unreadable(Text("That divides by zero.", "除数为零。"))
            value /= factor
        else:
            value *= factor
        text = text[match.end() :]
    return value, text.strip()


def _factor(match: re.Match[str]) -> float:
    number, power = match[1].strip(), match[2]
    mantissa = re.split("[eE]", number)[0]
    if not _GROUPED.fullmatch(mantissa):
        raise Unreadable(
            Text(
                f"“{number}” could mean two numbers. Group by thousands (1,024) and use a point for decimals (1.5).",
                f"“{number}”有歧义。千位分隔写成 1,024，小数点写成 1.5。",
            )
        )
    value = float(re.sub("[,_ ]", "", number))
    if power is None:
        return value
    try:
        if abs(int(power)) > MAXIMUM_EXPONENT:
            raise OverflowError
        return float(value ** int(power))
    except ArithmeticError:
        raise Unreadable(Text("That number is out of range.", "这个数超出了范围。")) from None


def _unit(text: str) -> tuple[Unit | None, str]:
    """The unit that `text` is, with an optional count word before it, as in 亿字节."""
    name = re.sub(r"\s*/\s*", "/", text.strip().rstrip(".。").rstrip())
    if not name:
        return None, ""
    if name in _AMBIGUOUS:
        raise Unreadable(
            Text(
                f"“{name}” could be several units. Write GB (10^9 bytes), GiB (2^30 bytes) or Gb (10^9 bits).",
                f"“{name}”可能是几种单位。请写 GB（10^9 字节）、GiB（2^30 字节）或 Gb（10^9 比特）。",
            )
        )
    for prefix in ("万", "亿"):
        if name.startswith(prefix) and name[1:].strip() in UNITS:
            unit = UNITS[name[1:].strip()]
            return Unit(unit.dimension, unit.factor * _COUNTS[prefix]), name
    unit_found = UNITS.get(name) or UNITS.get(name.replace(" ", ""))
    if unit_found is None and name in _COUNTS:
        unit_found = Unit("", _COUNTS[name])
    if unit_found is None:
        raise Unreadable(
            Text(
                f"“{name}” is not a unit known here. Write one number and one unit, such as 64 MiB, 260 µs or 450 GB/s.",
                f"不认识单位“{name}”。请写一个数加一个单位，例如 64 MiB、260 µs 或 450 GB/s。",
            )
        )
    return unit_found, name


def as_count(quantity: Quantity) -> Quantity:
    """`7B` read as seven billion instead of seven bytes: for answers that are counts."""
    if quantity.unit_text == "B":
        return Quantity(quantity.number, Unit("", _COUNTS["B"]), "B")
    return quantity


def as_bytes_each(quantity: Quantity) -> Quantity:
    """`6 B` read as six bytes for each element: for answers in bytes per element."""
    if quantity.unit is not None and quantity.unit.dimension == "bytes":
        return Quantity(quantity.number, Unit("", quantity.unit.factor), quantity.unit_text)
    return quantity
