"""Contract of the collectives, and that their checks catch what they are for."""

from fractions import Fraction

import pytest
import torch

from app.bench import catalog, spec
from app.bench.worker.collectives import collectives, patterns
from app.bench.worker.collectives.model import Collective

NAMES = tuple(collectives())
each = pytest.mark.parametrize("collective", collectives().values(), ids=NAMES)


def test_files_specification_and_catalog_name_the_same_operations() -> None:
    assert set(NAMES) == set(spec.OPERATIONS) == set(catalog.OPERATIONS)


def test_every_label_of_a_collective_is_explained() -> None:
    labels = {label for collective in collectives().values() for label in collective.labels.values()}

    assert labels == set(catalog.LABELS)


def test_reduce_scatter_on_gloo_says_what_it_is() -> None:
    assert collectives()["reduce_scatter"].labels == {"gloo": "all-reduce inside"}


@pytest.mark.parametrize(
    ("name", "ranks", "factor"),
    [
        ("all_reduce", 2, Fraction(1)),
        ("all_reduce", 8, Fraction(7, 4)),
        ("all_gather", 2, Fraction(1, 2)),
        ("all_gather", 8, Fraction(7, 8)),
        ("reduce_scatter", 8, Fraction(7, 8)),
        ("all_reduce", 1, Fraction(0)),
    ],
)
def test_bus_factor_is_exact(name: str, ranks: int, factor: Fraction) -> None:
    assert collectives()[name].bus_factor(ranks) == factor


@each
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("element_bytes", [2, 4])
@pytest.mark.parametrize("size", [64, 1000, 1 << 20, 33554432 - 4])
def test_layout_counts_the_whole_buffer_in_16_byte_parts(
    collective: Collective, ranks: int, element_bytes: int, size: int
) -> None:
    layout = collective.lay_out(size, ranks, element_bytes)

    assert layout.size_bytes == max(layout.send, layout.receive) * element_bytes
    assert layout.size_bytes <= size
    assert layout.count in (layout.send, layout.receive)
    if collective.name != "all_reduce":
        assert layout.count * element_bytes % 16 == 0
        assert layout.size_bytes == layout.count * ranks * element_bytes
        assert size - layout.size_bytes < 16 * ranks


def test_a_size_below_one_part_per_rank_has_no_elements() -> None:
    assert collectives()["all_gather"].lay_out(64, 8, 4).count == 0


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("ranks", [1, 2, 3, 40])
def test_the_right_answer_passes_and_a_wrong_one_is_counted(
    collective: Collective, dtype: torch.dtype, ranks: int
) -> None:
    layout = collective.lay_out(16 * ranks * 400, ranks, 4)
    answers = exact(collective, layout.send, ranks=ranks, dtype=dtype)

    for rank, answer in enumerate(answers):
        assert collective.wrong(answer, rank=rank, ranks=ranks, seed=3) == 0
        answer[7] += 1
        answer[-1] = float("nan")
        assert collective.wrong(answer, rank=rank, ranks=ranks, seed=3) == 2


@each
def test_a_rank_that_did_nothing_is_caught(collective: Collective) -> None:
    layout = collective.lay_out(1 << 16, 2, 4)
    untouched = torch.full((layout.receive,), -1.0)

    assert collective.wrong(untouched, rank=0, ranks=2, seed=0) == layout.receive


@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter"])
def test_swapped_ranks_are_caught(name: str) -> None:
    collective = collectives()[name]
    layout = collective.lay_out(1 << 16, 2, 4)
    answers = exact(collective, layout.send, ranks=2, dtype=torch.float32)
    swapped = answers[1] if name == "reduce_scatter" else torch.cat(answers[0].chunk(2)[::-1])

    assert collective.wrong(swapped, rank=0, ranks=2, seed=3) > layout.receive // 2


@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter"])
def test_in_place_buffers_share_memory_where_nccl_puts_them(name: str) -> None:
    collective = collectives()[name]
    assert collective.in_place is not None
    buffer = torch.arange(12.0)

    send, receive = collective.in_place(buffer, 1, 3)

    part = send if name == "all_gather" else receive
    whole = receive if name == "all_gather" else send
    assert part.tolist() == [4.0, 5.0, 6.0, 7.0]
    assert whole.data_ptr() == buffer.data_ptr()
    assert part.data_ptr() == buffer[4:].data_ptr()


@pytest.mark.parametrize("length", [1, 6, 7, 250, 251, 1000, (1 << 18) + 5])
@pytest.mark.parametrize("offset", [0, 5, 251, 123456])
def test_a_pattern_written_in_chunks_is_read_without_mismatch(length: int, offset: int) -> None:
    table = patterns.gathered(1, seed=2)
    buffer = torch.empty(length)

    patterns.write(buffer, table, offset=offset)

    assert buffer.tolist() == [table[(offset + place) % len(table)] for place in range(length)]
    assert patterns.mismatches(buffer, table, offset=offset) == 0
    assert patterns.mismatches(buffer, table, offset=offset + 1) > 0


def test_every_sum_is_exact_in_bfloat16_for_any_number_of_ranks() -> None:
    assert max(patterns.summed(1000, seed=5)) <= 256
    assert max(patterns.gathered(999, seed=5)) <= 256


def exact(collective: Collective, send: int, *, ranks: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """What every rank must end with, computed here without any backend."""
    sent = [torch.empty(send, dtype=dtype) for _ in range(ranks)]
    for rank, buffer in enumerate(sent):
        collective.fill(buffer, rank=rank, ranks=ranks, seed=3)
    if collective.name == "all_gather":
        return [torch.cat(sent) for _ in range(ranks)]
    total = torch.stack([buffer.double() for buffer in sent]).sum(0).to(dtype)
    if collective.name == "all_reduce":
        return [total.clone() for _ in range(ranks)]
    return [part.clone() for part in total.chunk(ranks)]
