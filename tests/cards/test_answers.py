"""Typed answers: read in any notation, or refused politely; right in any unit, never by luck."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.calculators.model import WrongAnswer
from app.cards.answers import check
from app.cards.quantities import UNITS, Unreadable, read
from app.core.i18n import same

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("128", 128),
        ("１２８", 128),
        ("1.2e9", 1.2e9),
        ("1.2E+9", 1.2e9),
        ("-3", -3),
        ("\N{MINUS SIGN}3", -3),
        ("+3", 3),
        ("1,024", 1024),
        ("1，024", 1024),
        ("1 024", 1024),
        ("1_048_576", 2**20),
        ("12,345,678.5", 12345678.5),
        ("2^30", GIB),
        ("2**30", GIB),
        ("2³⁰", GIB),
        ("10^-6", 1e-6),
        ("10⁻⁶", 1e-6),
        ("1.5 × 10^9", 1.5e9),
        ("1.5·10^9", 1.5e9),
        ("3/4", 0.75),
        ("2 * 8192 * 4096", 2 * 8192 * 4096),
        (".5", 0.5),
        ("5.", 5),
        ("８×", 8),
        ("12x", 12),
        ("50 %", 0.5),
        ("1.5 亿", 1.5e8),
        ("4096 elements", 4096),
    ],
)
def test_a_number_is_read_in_any_usual_notation(text: str, value: float) -> None:
    assert read(text).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("80 GiB", 80 * GIB),
        ("80GiB", 80 * GIB),
        ("85.9 GB", 85.9e9),
        ("2^30 B", GIB),
        ("3 * 64 MiB", 3 * 64 * 2**20),
        ("8 Gb", 1e9),
        ("1 字节", 1),
        ("2 亿字节", 2e8),
        ("260 us", 260e-6),
        ("260 µs", 260e-6),
        ("260 \N{GREEK SMALL LETTER MU}s", 260e-6),
        ("260 微秒", 260e-6),
        ("0.26 毫秒", 260e-6),
        ("450 GB/s", 450e9),
        ("450 GB / s", 450e9),
        ("400 Gbps", 50e9),
        ("989 TFLOPS", 989e12),
        ("989 TFLOP/s", 989e12),
        ("2048 FLOP/B", 2048),
    ],
)
def test_a_unit_is_read_with_its_prefix(text: str, value: float) -> None:
    assert read(text).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "nan",
        "NaN GB",
        "inf",
        "-inf",
        "Infinity",
        "∞",
        "about 5",
        "1,5",
        "1,0,24",
        "10,24",
        "3 4",
        "1.2.3",
        "--3",
        "1e",
        "1e400",
        "2^9999",
        "0^-1",
        "1/0",
        "½",
        "1½",
        "0x10",
        "80 G",
        "80 gb",
        "80 kb",
        "80 kb/s",
        "320 GB on 4 GPUs",
        "5 parsecs",
        "4 or 5",
        "=4",
        "9" * 61,
        "<script>",
        "e9",
        "GB",
    ],
)
def test_what_could_mean_two_things_or_nothing_is_refused(text: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        read(text)

    assert refusal.value.message.en
    assert check(text, value=5, unit="").kind == "unreadable"


@given(st.text(max_size=70))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        quantity = read(text)
    except Unreadable:
        return
    assert quantity.value == quantity.value
    assert abs(quantity.value) < float("inf")


@given(st.floats(min_value=1e-12, max_value=1e15), st.sampled_from(sorted(UNITS)))
def test_what_is_written_with_a_unit_is_read_back(number: float, unit: str) -> None:
    quantity = read(f"{number!r} {unit}")

    assert quantity.number == pytest.approx(number)
    assert quantity.unit == UNITS[unit]


@pytest.mark.parametrize("text", ["80 GiB", "85.9 GB", "85,899,345,920 B", "81920 MiB", "0.078125 TiB", "687.2 Gb"])
def test_any_unit_of_the_right_kind_is_right(text: str) -> None:
    assert check(text, value=80 * GIB, unit="bytes").kind == "right"


@pytest.mark.parametrize("text", ["80 GB", "85.9 GiB", "86.9 GB", "80 MiB", "-80 GiB", "0 B"])
def test_a_decimal_prefix_for_a_binary_one_is_wrong(text: str) -> None:
    assert check(text, value=80 * GIB, unit="bytes").kind == "wrong"


@pytest.mark.parametrize("text", ["80", "85899345920", "80 s", "80 GiB/s", "80 %"])
def test_a_missing_or_foreign_unit_is_never_right(text: str) -> None:
    assert check(text, value=80 * GIB, unit="bytes").kind != "right"


def test_a_missing_unit_is_asked_for() -> None:
    verdict = check("64", value=64 * 2**20, unit="bytes")

    assert verdict.kind == "unreadable"
    assert verdict.message is not None
    assert "unit" in verdict.message.en


@pytest.mark.parametrize(
    ("text", "kind"), [("0.0201", "right"), ("0.2", "wrong"), ("0.0001", "wrong"), ("0.0203", "wrong"), ("0", "wrong")]
)
def test_tolerance_is_relative_to_the_true_value(text: str, kind: str) -> None:
    assert check(text, value=0.02, unit="").kind == kind


@pytest.mark.parametrize(("text", "kind"), [("4", "right"), ("4.0", "right"), ("4.03", "wrong"), ("3.99", "wrong")])
def test_a_count_must_be_met_exactly(text: str, kind: str) -> None:
    assert check(text, value=4, unit="").kind == kind


def test_a_large_count_may_be_rounded() -> None:
    assert check("235 M", value=234_881_024, unit="elements").kind == "right"
    assert check("2.35 亿", value=234_881_024, unit="elements").kind == "right"


def test_billions_are_not_bytes_where_a_count_is_asked() -> None:
    assert check("7B", value=7e9, unit="").kind == "right"
    assert check("7B", value=7e9, unit="bytes").kind == "wrong"


@pytest.mark.parametrize("text", ["6", "6 B", "6 bytes", "6 B/element", "6 bytes per element", "6 B/元素", "48 bits"])
def test_bytes_answer_what_is_asked_for_each_element(text: str) -> None:
    assert check(text, value=6.0, unit="B/element").kind == "right"


@pytest.mark.parametrize("text", ["7 ms.", "7 ms。", "7 毫秒。", "7,000 µs ."])
def test_a_full_stop_is_no_part_of_the_unit(text: str) -> None:
    assert check(text, value=0.007, unit="s").kind == "right"


def test_a_prefix_may_stand_at_the_number() -> None:
    assert check("2.2k FLOP/B", value=2197.8, unit="FLOP/B").kind == "right"


def test_nothing_is_met_only_by_nothing() -> None:
    assert check("0 s", value=0, unit="s").kind == "right"
    assert check("0", value=0, unit="s").kind == "right"
    assert check("1e-30 s", value=0, unit="s").kind == "wrong"


@pytest.mark.parametrize("text", ["346.5 GB/s", "346.5e9 B/s", "0.3465 TB/s", "2772 Gb/s", "322.7 GiB/s"])
def test_a_rate_given_in_gigabytes_is_compared_in_any_unit(text: str) -> None:
    assert check(text, value=346.5, unit="GB/s").kind == "right"


KNOWN = WrongAnswer(
    result="message_bytes", title=same("Elements"), value=32 * 2**20, unit="bytes", why=same("Two bytes each.")
)


def test_a_known_mistake_is_named_before_a_factor() -> None:
    verdict = check("32 MiB", value=64 * 2**20, unit="bytes", wrong_answers=[KNOWN])

    assert verdict.message is not None
    assert verdict.message.en == "Elements: Two bytes each."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("32 MiB", "factor of 2"),
        ("128 MiB", "factor of 2"),
        ("512 MiB", "factor of 8"),
        ("64 MB", "1.024^2"),
        ("64 KiB", "1024^1"),
        ("-64 MiB", "sign"),
        ("640 MiB", "factor of 10"),
    ],
)
def test_a_usual_slip_is_named(text: str, said: str) -> None:
    verdict = check(text, value=64 * 2**20, unit="bytes")

    assert verdict.kind == "wrong"
    assert verdict.message is not None
    assert said in verdict.message.en


def test_an_answer_far_from_everything_gets_no_made_up_reason() -> None:
    verdict = check("77 MiB", value=64 * 2**20, unit="bytes")

    assert (verdict.kind, verdict.message) == ("wrong", None)
    assert verdict.reading.startswith("77")
