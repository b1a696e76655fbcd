"""Numbers in content come from the engines, with their unit, or fail with a reason."""

import pytest

from app.content.dialect.number import Number
from app.content.model import Embed, Expectation
from app.core.errors import InvalidInput, NotFound
from app.core.units import THIN_SPACE
from app.web.numbers import check_embed, check_number, evaluate


def test_a_size_is_shown_in_both_systems() -> None:
    text = evaluate("calc", "tp-communication", "message_bytes", {"tensor_parallel_size": "8"})

    assert text.en.replace(THIN_SPACE, " ") == "64 MiB (67.11 MB)"


def test_a_time_of_a_timeline_is_shown_in_ms() -> None:
    text = evaluate(
        "timeline", "gtp-chain", "exposed", {"layers": "5", "gemm": "3", "all_gather": "2", "pass": "forward"}
    )

    assert text.en.replace(THIN_SPACE, " ") == "2 ms"


def test_a_unit_that_is_a_word_is_translated() -> None:
    text = evaluate("calc", "tp-communication", "traffic_per_layer_elements", {"tensor_parallel_size": "8"})

    assert text.en.replace(THIN_SPACE, " ") == "234,881,024 elements"
    assert text.zh.replace(THIN_SPACE, " ") == "234,881,024 个元素"


def test_what_does_not_exist_is_not_found() -> None:
    with pytest.raises(NotFound):
        evaluate("calc", "nothing", "x", {})
    with pytest.raises(NotFound):
        evaluate("timeline", "gtp-chain", "nothing", {})
    with pytest.raises(InvalidInput):
        evaluate("calc", "tp-communication", "message_bytes", {"tensor_parallel_size": "0"})


def test_a_number_that_can_be_computed_has_no_problem() -> None:
    assert check_number(Number("calc", "tp-communication", "message_bytes", {})) == []
    assert len(check_number(Number("calc", "tp-communication", "nothing", {}))) == 1


@pytest.mark.parametrize(
    ("value", "relative", "is_right"),
    [(67108864, 1e-9, True), (67108865, 1e-9, False), (67e6, 0.01, True), (60e6, 0.01, False), (0, 1e-9, False)],
)
def test_an_expected_value_holds_within_its_tolerance(value: float, relative: float, *, is_right: bool) -> None:
    embed = Embed(
        kind="calculator",
        id="x",
        slug="tp-communication",
        inputs={"tensor_parallel_size": "8"},
        expect={"message_bytes": Expectation(value=value, relative=relative)},
        line=1,
    )

    assert (check_embed(embed) == []) == is_right


def test_a_second_run_is_checked_too() -> None:
    embed = Embed(kind="timeline", id="x", slug="gtp-chain", inputs={}, compare={"layers": "0"}, line=1)

    assert len(check_embed(embed)) == 1
    assert "layers" in check_embed(embed)[0]
