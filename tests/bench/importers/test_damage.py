"""Whatever happens to a log, nothing is raised, and no changed figure comes out as if it had been measured.

The damage is drawn the same way in every run, so that a gate does not fail for a log it did not touch; raise `max_examples` and drop
`derandomize` to search on. A half that is gone with its line's rest is no changed figure: the other half stands as it was printed.
"""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.bench.importers.model import Half, ImportedRow, Kind
from app.bench.importers.read import read_log

FOLDER = Path(__file__).parents[2] / "golden" / "nccl_logs"
LOGS = sorted(
    path.name for path in FOLDER.iterdir() if path.suffix in {".txt", ".json"} and path.name != "expected.json"
)
WARNINGS: frozenset[Kind] = frozenset(
    {
        "torn",
        "misaligned",
        "elided",
        "mixed-runs",
        "cut",
        "footer-disagrees",
        "unit-doubt",
        "incomplete-json",
        "derived",
        "wrong-values",
    }
)

Figures = tuple[int, int | None, str | None, str | None, int | None, Half | None, Half | None]


def figures(row: ImportedRow) -> Figures:
    return (row.size_bytes, row.count, row.dtype, row.redop, row.root, row.out_of_place, row.in_place)


@cache
def original(name: str) -> tuple[bytes, frozenset[Figures]]:
    data = (FOLDER / name).read_bytes()
    return data, frozenset(figures(row) for run in read_log(data).runs for row in run.rows)


def unwarned(damaged: bytes, known: frozenset[Figures]) -> list[ImportedRow]:
    """Rows whose figures the undamaged log does not hold and that nothing warns of."""
    return [
        row
        for run in read_log(damaged).runs
        if not WARNINGS & {badge.kind for badge in run.badges}
        for row in run.rows
        if not row.flags and not known & {figures(row), *_with_lost_halves(row, known)}
    ]


def _with_lost_halves(row: ImportedRow, known: frozenset[Figures]) -> set[Figures]:
    """Rows of the undamaged log that say the same and have a half more."""
    *head, out_of_place, in_place = figures(row)
    return {
        full
        for full in known
        if list(full[:5]) == head and out_of_place in (full[5], None) and in_place in (full[6], None)
    }


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=2000))
@example(b"\xff\xfe" + "       8  2  float  sum  -1  1.0  0.01  0.01  0".encode("utf-16-le"))
@example(b'{"results": [' * 2000)
@example(b"[" * 100_000)
@example(b"8 2 float sum -1 " + b"9" * 5000 + b" 1e999 1 1")
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    imported = read_log(data)

    assert imported.runs or imported.reason


WORDS = st.sampled_from(
    ["8", "2", "float", "sum", "-1", "1.5", "0.00", "N/A", "#", "size", "count", "type", "time", "algbw", "busbw", "#wrong",
     "nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor)", "# Avg bus bandwidth : 1.5", "[0]", "[1,0]<stdout>:", "...",
     "#  Rank  0 Group  0 Pid 1 on a device  0 [0x1] X", "\n", "\n", "\n", " ", "|", "payload", "1KiB", "2.00GBps", "SUM x 1.0",
     "# OSU MPI Allreduce Latency Test v7", "# Size    Avg Latency(us)", "Running x.", "{", "}", '"results":', "1e+07", "1e400"]
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, max_size=60).map(" ".join))
def test_words_of_the_formats_in_any_order_never_raise(text: str) -> None:
    imported = read_log(text)

    assert imported.runs or imported.reason


@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data())
def test_cut_bytes_leave_no_changed_row_without_a_warning(name: str, data: st.DataObject) -> None:
    text, known = original(name)
    begin = data.draw(st.integers(0, len(text)), "begin")
    length = data.draw(st.one_of(st.integers(1, 12), st.integers(1, 400)), "length")

    assert unwarned(text[:begin] + text[begin + length :], known) == []


@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(data=st.data())
def test_lines_deleted_repeated_and_swapped_leave_no_changed_row_without_a_warning(
    name: str, data: st.DataObject
) -> None:
    text, known = original(name)
    lines = text.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 5), "changes")):
        at, other = (data.draw(st.integers(0, max(0, len(lines) - 1))) for _ in range(2))
        match data.draw(st.sampled_from(["delete", "repeat", "swap", "insert"])):
            case "delete" if lines:
                del lines[at]
            case "repeat" if lines:
                lines.insert(other, lines[at])
            case "swap" if lines:
                lines[at], lines[other] = lines[other], lines[at]
            case _:
                lines.insert(at, b"node01:12:34 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P\n")

    assert unwarned(b"".join(lines), known) == []


@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data())
def test_text_put_into_rows_leaves_no_changed_row_without_a_warning(name: str, data: st.DataObject) -> None:
    text, known = original(name)
    at = data.draw(st.integers(0, len(text)), "at")
    put = data.draw(
        st.sampled_from([b"node01:12:34 [0] NCCL INFO Launch mode Parallel\n", b"[0]", b"\n", b"7", b" ", b"."])
    )

    assert unwarned(text[:at] + put + text[at:], known) == []
