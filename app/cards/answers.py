"""Judges a typed answer to a drill: right within a relative tolerance and in any unit of its kind, or why not.

A wrong answer is compared with what the calculator says common mistakes give, then with the usual slips (a factor of 2,
bits for bytes, a prefix off, decimal for binary units). A unit must be written: a bare number that
happens to fit some unit is not right. Tolerance is relative to the true value alone, never to the larger of the two.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.calculators.model import WrongAnswer
from app.cards.quantities import Dimension, Quantity, Unit, Unreadable, as_bytes_each, as_count, read
from app.core import units
from app.core.i18n import Text

TOLERANCE = 0.01
"""Rounding to three digits passes; GB taken for GiB (7 % apart) and even kB for KiB (2.4 %) does not."""
EXACT_BELOW = 1000
"""A whole-number answer without a unit below this is a count, and must be met exactly."""

BASE_UNITS: dict[str, Unit] = {
    "": Unit("", 1.0),
    "bytes": Unit("bytes", 1.0),
    "s": Unit("s", 1.0),
    "ms": Unit("s", 1e-3),
    "us": Unit("s", 1e-6),
    "GB/s": Unit("bytes/s", 1e9),
    "FLOP": Unit("flop", 1.0),
    "FLOP/s": Unit("flop/s", 1.0),
    "TFLOP/s": Unit("flop/s", 1e12),
    "FLOP/byte": Unit("flop/byte", 1.0),
    "FLOP/B": Unit("flop/byte", 1.0),
}
"""The units calculators answer in. Any other one counts as a plain number."""

EXAMPLES: dict[Dimension, str] = {
    "bytes": "64 MiB",
    "s": "260 µs",
    "bytes/s": "450 GB/s",
    "flop": "3 TFLOP",
    "flop/s": "989 TFLOP/s",
    "flop/byte": "2048 FLOP/B",
    "": "1024",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a typed answer. `reading` is the answer as it was understood; `message` says what is wrong."""

    kind: Literal["right", "wrong", "unreadable"]
    reading: str = ""
    message: Text | None = None


def check(
    text: str, *, value: float, unit: str, wrong_answers: Sequence[WrongAnswer] = (), tolerance: float = TOLERANCE
) -> Verdict:
    """The verdict on `text` where `value` (in the calculator's `unit`) is right."""
    expected_unit = BASE_UNITS.get(unit, BASE_UNITS[""])
    expected = value * expected_unit.factor
    dimension = expected_unit.dimension
    try:
        typed = read(text)
    except Unreadable as problem:
        return Verdict("unreadable", message=problem.message)
    if dimension == "":
        typed = as_bytes_each(typed) if unit == "B/element" else as_count(typed)
    given_dimension = typed.unit.dimension if typed.unit else None
    if dimension == "flop/s" and typed.unit_text.endswith("FLOPs"):
        given_dimension = "flop/s"  # written so by many for a rate; nothing else fits here
    reading = show(typed.value, dimension) if given_dimension == dimension else units.number(typed.number)
    if given_dimension is None and dimension != "":
        if not value and not typed.number:
            return Verdict("right", reading)
        return Verdict("unreadable", reading, _unit_missing(typed, dimension))
    if (given_dimension or "") != dimension:
        example = EXAMPLES[dimension]
        return Verdict(
            "wrong",
            f"{units.number(typed.number)} {typed.unit_text}",
            Text(f"That is another kind of quantity; the answer looks like {example}.",
                 f"量纲不对；答案的形式应像 {example}。"),
        )  # fmt: skip
    if is_close(typed.value, expected, tolerance=_tolerance(expected, dimension, tolerance)):
        return Verdict("right", reading)
    return Verdict("wrong", reading, _diagnose(typed.value, expected, expected_unit, wrong_answers, tolerance))


def show(base_value: float, dimension: Dimension) -> str:
    """A value in base units, written for people."""
    match dimension:
        case "bytes":
            return units.both_bytes(base_value)
        case "s":
            return units.duration(base_value)
        case "bytes/s":
            return f"{units.number(base_value / units.GIGA)} GB/s"
        case "flop" | "flop/s" | "flop/byte":
            name = {"flop": "FLOP", "flop/s": "FLOP/s", "flop/byte": "FLOP/byte"}[dimension]
            return f"{units.number(base_value)} {name}"
        case _:
            return units.number(base_value)


def is_close(value: float, expected: float, *, tolerance: float) -> bool:
    """Whether `value` is within `tolerance` of `expected`, relative to `expected`; zero is met only by zero."""
    return math.isfinite(value) and abs(value - expected) <= tolerance * abs(expected)


def _tolerance(expected: float, dimension: Dimension, tolerance: float) -> float:
    is_count = dimension == "" and expected.is_integer() and abs(expected) < EXACT_BELOW
    return 1e-9 if is_count else tolerance


def _unit_missing(typed: Quantity, dimension: Dimension) -> Text:
    example = EXAMPLES[dimension]
    return Text(
        f"Read as {units.number(typed.number)} without a unit. Write it too, such as {example}.",
        f"读作 {units.number(typed.number)}，缺少单位。请带上单位，例如 {example}。",
    )


def _diagnose(
    value: float, expected: float, unit: Unit, wrong_answers: Sequence[WrongAnswer], tolerance: float
) -> Text | None:
    """The likeliest reason why `value` is not `expected`; None when nothing usual fits."""
    for known in wrong_answers:
        known_unit = BASE_UNITS.get(known.unit, unit)
        if is_close(value, known.value * known_unit.factor, tolerance=tolerance):
            return Text(f"{known.title.en}: {known.why.en}", f"{known.title.zh}：{known.why.zh}")
    if not expected or not value:
        return None
    ratio = value / expected
    if ratio < 0:
        return Text("The sign is wrong.", "符号反了。")
    for factor, reason in _slips(unit.dimension):
        if is_close(ratio, factor, tolerance=tolerance) or is_close(1 / ratio, factor, tolerance=tolerance):
            return reason
    return None


def _slips(dimension: Dimension) -> list[tuple[float, Text]]:
    """Factors people are off by, and what each usually comes from."""
    slips = [
        (2.0, Text("Off by a factor of 2: bytes per element, both directions, or forward and backward?",
                   "差 2 倍：每个元素的字节数、双向，还是前向加反向？")),
        (4.0, Text("Off by a factor of 4.", "差 4 倍。")),
    ]  # fmt: skip
    if dimension in {"bytes", "bytes/s"}:
        slips.append((8.0, Text("Off by a factor of 8: bits for bytes?", "差 8 倍：把比特当成了字节？")))
        for power, (decimal, binary) in enumerate((("kB", "KiB"), ("MB", "MiB"), ("GB", "GiB"), ("TB", "TiB")), 1):
            slips.append(
                (1.024**power, Text(f"Off by 1.024^{power}: {decimal} and {binary} are mixed up.",
                                    f"差 1.024^{power} 倍：混淆了 {decimal} 和 {binary}。"))
            )  # fmt: skip
            slips.append(
                (
                    1024.0**power,
                    Text(f"Off by 1024^{power}: check the prefix.", f"差 1024^{power} 倍：请检查单位前缀。"),
                )
            )
    slips += [
        (1000.0**power, Text(f"Off by 1000^{power}: check the prefix.", f"差 1000^{power} 倍：请检查单位前缀。"))
        for power in (1, 2, 3, 4)
    ]
    return [*slips, (10.0, Text("Off by a factor of 10.", "差 10 倍。"))]
