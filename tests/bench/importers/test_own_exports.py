"""What Ringside writes in other tools' formats, Ringside reads."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench.formats import nccl_json, nccl_text
from app.bench.importers.model import ImportedRun
from app.bench.importers.read import read_log
from app.bench.importers.units import ELEMENT_BYTES, bus_factor
from app.bench.result import RunResult
from app.bench.spec import ELEMENT_BYTES as OURS
from app.hardware.collective import OPERATIONS
from app.hardware.collective import bus_factor as exact_factor
from tests.bench.formats.results import half, result, row

TIMES = st.floats(1.0, 5e5)


def printed_rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line[:12].strip().isdigit()]


def measured(times: list[tuple[float, float]], *, operation: str = "all_reduce") -> RunResult:
    rows = tuple(
        row(
            operation,
            1024 << i,
            half(out, size_bytes=1024 << i, factor=1.0),
            half(back, size_bytes=1024 << i, factor=1.0),
        )
        for i, (out, back) in enumerate(times)
    )
    return replace(result(), rows=rows)


def check(run: ImportedRun, text: str) -> None:
    words = printed_rows(text)

    assert len(run.rows) == len(words)
    for found, (size, count, dtype, redop, root, *figures) in zip(run.rows, words, strict=True):
        assert (found.size_bytes, found.count, found.dtype) == (int(size), int(count), dtype)
        assert (found.redop, found.root) == (redop, int(root))
        for imported, printed in zip((found.out_of_place, found.in_place), (figures[:4], figures[4:8]), strict=True):
            if printed[0] == "N/A":
                assert imported is None
                continue
            assert imported is not None
            assert imported.time_us == float(printed[0])
            assert imported.algbw_gb_per_s == float(printed[1])
            assert imported.busbw_gb_per_s == (None if printed[2] == "-" else float(printed[2]))
            assert imported.wrong_or_error == (None if printed[3] == "N/A" else float(printed[3]))
        assert found.flags == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=8))
def test_exported_text_reads_back_exactly(times: list[tuple[float, float]]) -> None:
    text = nccl_text.document(measured(times))

    (run,) = read_log(text).runs

    check(run, text)
    assert (run.tool, run.operation, run.ranks) == ("ringside", "all_reduce", 2)
    assert not {"torn", "misaligned"} & {badge.kind for badge in run.badges}


def test_every_operation_of_an_export_is_a_run_of_its_own() -> None:
    text = nccl_text.document(result())
    operations = list(dict.fromkeys(found.operation for found in result().rows))

    runs = read_log(text).runs

    assert [run.operation for run in runs] == operations
    assert sum(len(run.rows) for run in runs) == len(result().rows)
    assert {run.ranks for run in runs} == {2}


def test_exported_json_reads_back_exactly() -> None:
    exported = result()
    imported = read_log(nccl_json.document(exported))

    rows = [found for run in imported.runs for found in run.rows]
    assert len(rows) == len(exported.rows)
    for found, wanted in zip(rows, exported.rows, strict=True):
        assert (found.size_bytes, found.count, found.redop, found.root) == (
            wanted.size_bytes,
            wanted.count,
            wanted.redop,
            wanted.root,
        )
        assert found.out_of_place is not None
        assert found.out_of_place.time_us == wanted.out_of_place.time_us
        assert (found.in_place is None) == (wanted.in_place is None)
    assert {run.ranks for run in imported.runs} == {2}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 72])
def test_bus_factors_are_those_of_the_cost_models(operation: str, ranks: int) -> None:
    assert bus_factor(operation, ranks) == pytest.approx(float(exact_factor(operation, ranks=ranks)))


def test_element_sizes_are_those_of_a_specification() -> None:
    assert {name: ELEMENT_BYTES[name] for name in OURS} == dict(OURS)
