"""What a preset becomes, and that everything a run can ask for has a name."""

import itertools
import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bench.catalog import (
    DTYPE_TITLES,
    EXTRA_TITLES,
    OPERATIONS,
    OVERLAP_LABELS,
    PRESETS,
    REDOP_TITLES,
    REPORT_TITLES,
    preset_spec,
    sizes,
)
from app.bench.spec import MAXIMUM_SIZE, BadSpec, Dtype, Extra, Operation, Redop, RunSpec
from app.bench.worker.overlap import SHARED_CORES
from app.bench.worker.topology import TITLES


@pytest.mark.parametrize(
    ("titles", "names"),
    [(OPERATIONS, Operation), (DTYPE_TITLES, Dtype), (REDOP_TITLES, Redop), (EXTRA_TITLES, Extra)],
)
def test_every_choice_has_a_title(titles: dict[str, Any], names: Any) -> None:
    assert list(titles) == list(typing.get_args(names))


def test_reports_and_labels_of_the_worker_are_named() -> None:
    assert tuple(REPORT_TITLES) == TITLES
    assert tuple(OVERLAP_LABELS) == (SHARED_CORES,)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_specification_that_survives_json(name: str) -> None:
    spec = preset_spec(name)

    assert RunSpec.from_json(spec.to_json()) == spec
    assert (spec.sizes[0], spec.sizes[-1]) == (1024, 64 * 1024**2)
    assert spec.extras == PRESETS[name].extras


def test_longer_presets_measure_no_less() -> None:
    quick, standard, full = (PRESETS[name] for name in ("quick", "standard", "full"))

    assert quick.seconds < standard.seconds < full.seconds
    assert set(quick.extras) <= set(standard.extras) <= set(full.extras)
    assert set(quick.sizes) <= set(standard.sizes) <= set(full.sizes)


def test_everything_chosen_reaches_the_specification() -> None:
    chosen: dict[str, Any] = {
        "ranks": 8,
        "hosts": 2,
        "operations": ("broadcast", "reduce"),
        "backend": "nccl",
        "dtype": "bfloat16",
        "redop": "avg",
        "root": 3,
        "extras": ("links", "topology"),
        "variables": {"NCCL_DEBUG": "INFO"},
        "emulated": True,
        "memory_bytes": 2**30,
        "hide_host": True,
    }

    spec = preset_spec("quick", **chosen, minimum_size=8, maximum_size=1000)

    assert {name: getattr(spec, name) for name in chosen} == chosen
    assert spec.sizes == (8, 32, 128, 512, 1000)


def test_no_extras_is_not_the_extras_of_the_preset() -> None:
    assert preset_spec("full", extras=()).extras == ()


def test_one_bound_alone_moves_only_that_end() -> None:
    assert preset_spec("quick", maximum_size=16 * 1024).sizes == (1024, 4096, 16384)
    assert preset_spec("quick", minimum_size=16 * 1024**2).sizes == (16 * 1024**2, 64 * 1024**2)
    assert preset_spec("quick", minimum_size=128 * 1024**2).sizes == (128 * 1024**2,)
    assert preset_spec("quick", maximum_size=100).sizes == (100,)
    assert preset_spec("standard", maximum_size=MAXIMUM_SIZE).sizes[-1] == MAXIMUM_SIZE


@pytest.mark.parametrize(
    ("field", "bounds"),
    [
        ("minimum_size", {"minimum_size": 7}),
        ("maximum_size", {"maximum_size": MAXIMUM_SIZE + 1}),
        ("minimum_size", {"minimum_size": 2048, "maximum_size": 1024}),
        ("extras", {"extras": ("weather",)}),
        ("variables", {"variables": {"LD_PRELOAD": "x"}}),
        ("root", {"root": 2}),
    ],
)
def test_a_value_out_of_bounds_is_named(field: str, bounds: dict[str, Any]) -> None:
    with pytest.raises(BadSpec) as caught:
        preset_spec("quick", **bounds)

    assert caught.value.field == field


@given(st.integers(8, 2**20), st.integers(0, 2**30), st.sampled_from((2, 4)))
def test_sizes_climb_from_one_bound_to_the_other(minimum: int, more: int, factor: int) -> None:
    ladder = sizes(minimum, minimum + more, factor=factor)

    assert (ladder[0], ladder[-1]) == (minimum, minimum + more)
    assert all(low < high <= low * factor for low, high in itertools.pairwise(ladder))
