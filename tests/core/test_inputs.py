"""Typed inputs: reading what people type, one message per field, and the way back to a URL."""

from fractions import Fraction
from typing import Literal, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import model_validator

from app.core.errors import InvalidInput
from app.core.i18n import Text, same
from app.core.inputs import (
    InputProblem,
    Inputs,
    choice,
    describe,
    parse,
    rational,
    rationals,
    real,
    switch,
    to_query,
    whole,
)

HELP = same("help")


class Example(Inputs):
    ranks: int = whole(8, title=same("Ranks"), help=HELP, maximum=1024)
    rate: float = real(450.0, title=same("Rate"), help=HELP, unit="GB/s")
    gemm: Fraction = rational(3, title=same("GEMM"), help=HELP, unit="ms")
    gemms: tuple[Fraction, ...] = rationals(title=same("GEMMs"), help=HELP, unit="ms")
    kind: Literal["ring", "tree"] = choice("ring", title=same("Kind"), help=HELP, choices={"ring": HELP, "tree": HELP})
    deep: bool = switch(default=False, title=same("Deep"), help=HELP)

    @model_validator(mode="after")
    def tree_needs_two(self) -> Self:
        if self.kind == "tree" and self.ranks < 2:
            raise InputProblem("ranks", Text("A tree needs two ranks.", "tree 至少需要两个 rank。"))
        return self


@pytest.mark.parametrize(
    ("text", "expected"),
    [("16", 16), ("1,024", 1024), ("1e3", 1000), ("2^10", 1024), ("１２８", 128), (" 4 ", 4), ("8.0", 8), ("16/2", 8)],
)
def test_whole_numbers_are_read_as_people_write_them(text: str, expected: int) -> None:
    assert parse(Example, {"ranks": text}).ranks == expected


@pytest.mark.parametrize(
    "text", ["eight", "8.5", "nan", "inf", "1e999999999", "9" * 50, "2^999", "1/0", "--1", "1e-999"]
)
def test_what_is_no_whole_number_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(Example, {"ranks": text})

    assert "4096" in caught.value.fields["ranks"].en


@pytest.mark.parametrize("text", ["1e39/1e-399", "1/1e-398"])
def test_a_number_too_large_for_any_machine_is_refused(text: str) -> None:
    """Both halves are in range, their quotient is not."""
    with pytest.raises(InvalidInput) as caught:
        parse(Example, {"rate": text})

    assert set(caught.value.fields) == {"rate"}


@pytest.mark.parametrize(("text", "limit"), [("-1", "0"), ("1e10", "1e+09"), ("1000000000.5", "1e+09")])
def test_a_rational_out_of_bounds_is_told_its_limit(text: str, limit: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(Example, {"gemm": text})

    assert caught.value.fields["gemm"].en.endswith(f" {limit}.")


def test_every_wrong_field_gets_its_own_message() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(Example, {"ranks": "0", "rate": "-1", "kind": "star", "deep": "maybe", "colour": "red", "gemms": "1,x"})

    assert set(caught.value.fields) == {"ranks", "rate", "kind", "deep", "colour", "gemms"}
    assert caught.value.fields["ranks"] == Text("Must be at least 1.", "不能小于 1。")
    assert caught.value.fields["kind"].en == "Choose one of: ring, tree."


def test_fields_that_do_not_fit_together_name_the_one_to_mend() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(Example, {"kind": "tree", "ranks": "1"})

    assert caught.value.fields == {"ranks": Text("A tree needs two ranks.", "tree 至少需要两个 rank。")}


def test_blank_means_the_default() -> None:
    assert parse(Example, {"ranks": "  ", "gemms": ""}) == Example()


def test_decimals_stay_exact() -> None:
    inputs = parse(Example, {"gemm": "0.1", "gemms": "3,5.5,1/3"})

    assert inputs.gemm == Fraction(1, 10)
    assert inputs.gemms == (Fraction(3), Fraction(11, 2), Fraction(1, 3))


@given(
    ranks=st.integers(1, 1024),
    rate=st.floats(0, 1e12, allow_nan=False).map(lambda value: float(f"{value:.6g}")),
    gemm=st.fractions(0, 10**6, max_denominator=1000),
    gemms=st.lists(st.fractions(0, 1000, max_denominator=64), max_size=5).map(tuple),
    deep=st.booleans(),
)
def test_a_query_reads_back_to_the_same_inputs(
    *, ranks: int, rate: float, gemm: Fraction, gemms: tuple[Fraction, ...], deep: bool
) -> None:
    inputs = Example(ranks=ranks, rate=rate, gemm=gemm, gemms=gemms, deep=deep)

    assert parse(Example, to_query(inputs)) == inputs


def test_defaults_leave_the_query_empty() -> None:
    assert to_query(Example()) == {}


@given(st.dictionaries(st.sampled_from(["ranks", "rate", "gemm", "gemms", "kind", "deep"]), st.text(max_size=60)))
def test_no_text_makes_anything_but_a_message(raw: dict[str, str]) -> None:
    wrong: set[str] = set()
    try:
        parse(Example, raw)
    except InvalidInput as problem:
        wrong = set(problem.fields)

    assert wrong <= set(raw)


def test_describe_tells_a_form_what_to_draw() -> None:
    ranks, rate, *_, kind, deep = describe(Example)

    assert (ranks.kind, ranks.default, ranks.minimum, ranks.maximum) == ("whole", "8", 1, 1024)
    assert (rate.kind, rate.unit, rate.default) == ("real", "GB/s", "450")
    assert [name for name, _ in kind.choices] == ["ring", "tree"]
    assert (deep.kind, deep.default) == ("switch", "false")
