from fractions import Fraction

import pytest

from app.core.errors import InvalidInput
from app.hardware.collective import OPERATIONS, bus_factor
from app.hardware.presets import presets


def test_the_five_datasheets_are_offered_in_order_of_age() -> None:
    assert list(presets()) == ["a100-sxm", "h100-sxm", "h200-sxm", "b200-sxm", "gb200"]


def test_every_sheet_names_its_source_and_the_day_it_was_read() -> None:
    for profile in presets().values():
        assert profile.sheet.url.startswith("https://")
        assert str(profile.sheet.checked) in profile.source.en


def test_an_all_reduce_over_eight_h100_takes_the_ring_time() -> None:
    estimate = presets()["h100-sxm"].collective("all_reduce", 67108864, ranks=8)

    assert estimate.basis == "datasheet"
    assert estimate.seconds == pytest.approx(7 / 4 * 67108864 / 450e9)


def test_ranks_beyond_the_nvlink_domain_carry_a_warning() -> None:
    profile = presets()["h100-sxm"]

    assert "8 GPUs" in profile.collective("all_reduce", 1e9, ranks=16).note.en
    assert "8 GPUs" not in presets()["gb200"].collective("all_reduce", 1e9, ranks=16).note.en


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_single_rank_communicates_in_no_time(operation: str) -> None:
    assert bus_factor(operation, ranks=1) == 0
    assert presets()["a100-sxm"].collective(operation, 1e6, ranks=1).seconds == 0


@pytest.mark.parametrize(
    ("operation", "factor"),
    [
        ("all_reduce", Fraction(7, 4)),
        ("all_gather", Fraction(7, 8)),
        ("reduce_scatter", Fraction(7, 8)),
        ("all_to_all", Fraction(7, 8)),
        ("broadcast", Fraction(1)),
        ("send_recv", Fraction(1)),
    ],
)
def test_bus_factors_are_those_of_nccl_tests(operation: str, factor: Fraction) -> None:
    assert bus_factor(operation, ranks=8) == factor


def test_an_unknown_collective_is_an_input_error_that_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="all_reduce"):
        presets()["a100-sxm"].collective("all_dance", 1e6, ranks=2)
