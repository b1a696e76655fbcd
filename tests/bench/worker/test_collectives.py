"""Contract of the collectives, and that their checks catch what they are for."""

from fractions import Fraction
from typing import get_args

import pytest
import torch

from app.bench import catalog, spec
from app.bench.worker.buffers import TORCH_TYPES
from app.bench.worker.collectives import collectives, patterns
from app.bench.worker.collectives.model import Collective, Layout, Role
from tests.bench.worker.simulated import answers, sent

NAMES = tuple(collectives())
REDOPS = get_args(spec.Redop)
each = pytest.mark.parametrize("collective", collectives().values(), ids=NAMES)
REDUCTIONS = [
    (redop, dtype) for dtype in TORCH_TYPES.values() for redop in REDOPS if redop != "avg" or dtype.is_floating_point
]
every_dtype = pytest.mark.parametrize("dtype", TORCH_TYPES.values(), ids=TORCH_TYPES)
every_reduction = pytest.mark.parametrize(("redop", "dtype"), REDUCTIONS)
IN_PARTS = {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"}


def test_files_specification_and_catalog_name_the_same_operations() -> None:
    assert set(NAMES) == set(spec.OPERATIONS) == set(catalog.OPERATIONS)


def test_every_label_of_a_collective_is_explained() -> None:
    labels = {label for collective in collectives().values() for label in collective.labels.values()}

    assert labels <= set(catalog.LABELS)


def test_reduce_scatter_on_gloo_says_what_it_is() -> None:
    assert collectives()["reduce_scatter"].labels == {"gloo": "all-reduce inside"}


def test_which_operations_reduce_have_a_root_and_forms() -> None:
    found = collectives().values()

    assert {one.name for one in found if one.reduces} == {"all_reduce", "reduce_scatter", "reduce"}
    assert {one.name for one in found if one.has_root} == {"broadcast", "reduce", "gather", "scatter"}
    assert {one.name for one in found if one.has_one_buffer} == {"all_reduce", "broadcast", "reduce"}
    assert {one.name for one in found if one.in_place} == {"all_gather", "reduce_scatter", "gather", "scatter"}
    assert [collectives()["ping_pong"].players(ranks) for ranks in (1, 2, 3, 4, 7)] == [1, 2, 2, 4, 6]
    assert all(one.players(7) == 7 for one in found if one.name != "ping_pong")
    assert {one.name: one.legs for one in found if one.legs != 1} == {"ping_pong": 2}


@pytest.mark.parametrize(
    ("name", "ranks", "factor"),
    [
        ("all_reduce", 2, Fraction(1)),
        ("all_reduce", 8, Fraction(7, 4)),
        ("all_reduce", 1, Fraction(0)),
        ("all_gather", 2, Fraction(1, 2)),
        ("all_gather", 8, Fraction(7, 8)),
        ("reduce_scatter", 8, Fraction(7, 8)),
        ("all_to_all", 8, Fraction(7, 8)),
        ("gather", 3, Fraction(2, 3)),
        ("scatter", 3, Fraction(2, 3)),
        ("broadcast", 8, Fraction(1)),
        ("reduce", 8, Fraction(1)),
        ("send_recv", 8, Fraction(1)),
        ("ping_pong", 8, Fraction(1)),
    ],
)
def test_bus_factor_is_exact(name: str, ranks: int, factor: Fraction) -> None:
    assert collectives()[name].bus_factor(ranks) == factor


@each
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8])
def test_layout_counts_the_whole_buffer_in_16_byte_parts(
    collective: Collective, ranks: int, element_bytes: int
) -> None:
    for size in (8, 64, 1000, 1 << 20, 33554432 - 4):
        layout = collective.lay_out(size, ranks, element_bytes)

        assert layout.size_bytes == max(layout.send, layout.receive) * element_bytes
        assert layout.size_bytes <= size
        if collective.name in IN_PARTS:
            assert layout.count * element_bytes % 16 == 0
            assert layout.size_bytes == layout.count * ranks * element_bytes
            assert size - layout.size_bytes < 16 * ranks
        else:
            assert layout == Layout(layout.count, layout.count, layout.count, layout.count * element_bytes)
            assert size - layout.size_bytes < element_bytes


@pytest.mark.parametrize("name", sorted(IN_PARTS))
def test_a_size_below_one_part_per_rank_has_no_elements(name: str) -> None:
    assert collectives()[name].lay_out(64, 8, 4).count == 0


@pytest.mark.parametrize(
    ("name", "send", "receive"),
    [("all_gather", 8, 24), ("gather", 8, 24), ("reduce_scatter", 24, 8), ("scatter", 24, 8), ("all_to_all", 24, 24)],
)
def test_which_side_holds_the_whole_buffer(name: str, send: int, receive: int) -> None:
    assert collectives()[name].lay_out(100, 3, 4) == Layout(send, receive, 8, 96)


@each
@every_dtype
@pytest.mark.parametrize(("ranks", "root"), [(1, 0), (2, 1), (5, 3)])
def test_the_right_answer_passes_and_a_wrong_one_is_counted(
    collective: Collective, dtype: torch.dtype, ranks: int, root: int
) -> None:
    for redop in [redop for redop, reducible in REDUCTIONS if reducible == dtype] if collective.reduces else ["sum"]:
        roles = cast(ranks, root=root, redop=redop)
        layout = collective.lay_out(16 * ranks * 20, ranks, dtype.itemsize)
        found = answers(collective.name, sent(collective, layout.send, dtype=dtype, roles=roles), roles=roles)

        for role in roles:
            answer = found.get(role.rank)
            if answer is None:
                assert collective.wrong(torch.empty(layout.receive, dtype=dtype), role) == 0
                continue
            assert len(answer) == layout.receive
            assert collective.wrong(answer, role) == 0
            patterns.spoil(answer[7:8])
            patterns.spoil(answer[-1:])
            assert collective.wrong(answer, role) == 2


@each
@every_dtype
def test_a_rank_that_did_nothing_is_caught(collective: Collective, dtype: torch.dtype) -> None:
    layout = collective.lay_out(1 << 16, 2, dtype.itemsize)
    untouched = torch.empty(layout.receive, dtype=dtype)
    patterns.spoil(untouched)

    assert collective.wrong(untouched, Role(rank=0, ranks=2)) == layout.receive


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_not_a_number_is_wrong(collective: Collective, dtype: torch.dtype) -> None:
    layout = collective.lay_out(1 << 16, 2, dtype.itemsize)
    answer = torch.full((layout.receive,), float("nan"), dtype=dtype)

    assert collective.wrong(answer, Role(rank=0, ranks=2, redop="avg")) == layout.receive


@pytest.mark.parametrize("name", sorted({"reduce_scatter", "scatter", "all_to_all", "send_recv"}))
@every_dtype
def test_an_answer_meant_for_another_rank_is_caught(name: str, dtype: torch.dtype) -> None:
    collective = collectives()[name]
    roles = cast(3)
    layout = collective.lay_out(1 << 16, 3, dtype.itemsize)
    found = answers(name, sent(collective, layout.send, dtype=dtype, roles=roles), roles=roles)

    assert collective.wrong(found[1], roles[0]) > layout.receive // 10


@pytest.mark.parametrize("name", ["all_gather", "gather", "all_to_all"])
@every_dtype
def test_parts_in_the_wrong_order_are_caught(name: str, dtype: torch.dtype) -> None:
    collective = collectives()[name]
    roles = cast(2)
    layout = collective.lay_out(1 << 16, 2, dtype.itemsize)
    answer = answers(name, sent(collective, layout.send, dtype=dtype, roles=roles), roles=roles)[0]

    assert collective.wrong(torch.cat(answer.chunk(2)[::-1]), roles[0]) > layout.receive // 2


@pytest.mark.parametrize("ranks", [2, 3, 200])
@every_reduction
def test_a_rank_whose_part_is_missing_from_a_reduction_is_caught(redop: str, ranks: int, dtype: torch.dtype) -> None:
    collective = collectives()["all_reduce"]
    roles = cast(ranks, redop=redop)
    buffers = sent(collective, 1000, dtype=dtype, roles=roles)

    for missing in (0, 1, ranks - 1):
        others = [buffer for rank, buffer in enumerate(buffers) if rank != missing]
        partial = answers("all_reduce", others, roles=roles[: ranks - 1])[0]
        if redop == "avg":
            partial = (partial.double() * (ranks - 1) / ranks).to(dtype)
        assert collective.wrong(partial, roles[0]) > 0


@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter", "gather", "scatter"])
def test_in_place_buffers_share_memory_where_nccl_puts_them(name: str) -> None:
    collective = collectives()[name]
    assert collective.in_place is not None
    buffer = torch.arange(12.0)

    send, receive = collective.in_place(buffer, 1, 3)

    is_gathering = name in ("all_gather", "gather")
    part, whole = (send, receive) if is_gathering else (receive, send)
    assert part.tolist() == [4.0, 5.0, 6.0, 7.0]
    assert whole.data_ptr() == buffer.data_ptr()
    assert part.data_ptr() == buffer[4:].data_ptr()


@pytest.mark.parametrize("length", [1, 6, 7, 250, 251, 1000, (1 << 18) + 5])
@pytest.mark.parametrize("offset", [0, 5, 251, 123456])
def test_a_pattern_written_in_chunks_is_read_without_mismatch(length: int, offset: int) -> None:
    table = patterns.signature(1, seed=2, period=251)
    buffer = torch.empty(length)

    patterns.write(buffer, table, offset=offset)

    assert buffer.tolist() == [table[(offset + place) % len(table)] for place in range(length)]
    assert patterns.mismatches(buffer, table, offset=offset) == 0
    assert patterns.mismatches(buffer, table, offset=offset + 1) > 0


@every_reduction
def test_a_reduction_shifted_by_a_power_of_two_is_caught(redop: str, dtype: torch.dtype) -> None:
    roles = cast(2, redop=redop)
    found = answers("all_reduce", sent(collectives()["all_reduce"], 1 << 14, dtype=dtype, roles=roles), roles=roles)

    assert [patterns.not_reduced(found[0][1 << place :], roles[0]) > 500 for place in range(13)] == [True] * 13


def test_an_average_may_be_off_by_rounding_and_no_more() -> None:
    roles = cast(3, redop="avg")
    (right, *_) = answers(
        "all_reduce", sent(collectives()["all_reduce"], 999, dtype=torch.float32, roles=roles), roles=roles
    ).values()
    epsilon = torch.finfo(torch.float32).eps

    assert patterns.not_reduced(right * (1 + epsilon), roles[0]) == 0
    assert patterns.not_reduced(right * (1 + 4 * epsilon), roles[0]) > 900


def cast(ranks: int, *, root: int = 0, redop: str = "sum") -> list[Role]:
    """The roles of all ranks."""
    return [Role(rank=rank, ranks=ranks, root=root, redop=redop, seed=3) for rank in range(ranks)]
