"""Readers of nccl-tests output that people run, held against our text.

The patterns and column positions are facts about those programs, quoted with where they stand; nothing of their code is here.
"""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench.events import Row
from app.bench.formats import nccl_text
from tests.bench.formats.results import half, result, row

# awslabs/awsome-distributed-training, micro-benchmarks/nccl-tests/nccl_to_csv.py, at 0edaf15. Knows four element types.
AWS_ROW = re.compile(
    r"^\s*(\d+)\s+(\d+)\s+(float|double|int|half)\s+(sum|prod|max|min|none)\s+(-?\d+)"
    r"\s+(\d+\.?\d*)\s+(\d+\.?\d*)\s+(\d+\.?\d*)\s+(\d+|N/A)\s+(\d+\.?\d*)\s+(\d+\.?\d*)\s+(\d+\.?\d*)\s+(\d+|N/A)"
)
AWS_AVERAGE = re.compile(r"# Avg bus bandwidth\s*:\s*(\d+\.?\d*)")

# xxrjun/nccl-tests-cluster, summarize_nccl_logs.py, at 455de4f. Sections are cut at the first pattern, the rest is sought inside.
SECTION = re.compile(r"^#\s*Collective test starting:\s*(\S+)", re.MULTILINE)
SECTION_SIZES = re.compile(
    r"^#\s*nThread\s+\d+\s+nGpus\s+\d+\s+minBytes\s+(\d+)\s+maxBytes\s+(\d+)\s+step:", re.MULTILINE
)
SECTION_AVERAGE = re.compile(r"^#\s*Avg bus bandwidth\s*:\s*([0-9.]+)", re.MULTILINE)
SECTION_ROW = re.compile(
    r"^\s*(\d+)\s+\d+\s+\S+\s+\S+\s+-?\d+\s+([0-9.]+)\s+([0-9.]+)\s+([0-9.]+)\s+\d+\s+([0-9.]+)\s+([0-9.]+)\s+([0-9.]+)",
    re.MULTILINE,
)
SECTION_NODE = re.compile(r"on\s+(\S+)\s+device", re.MULTILINE)

# microsoft/superbenchmark, cuda_nccl_bw_performance.py, at 700d650: columns are counted from the right end of the title, the table is what
# stands between the last line with the first text and the last with the second.
SUPERBENCH_TABLE = ("out-of-place", "Out of bounds values")

# togethercomputer/together-nccl-tests, parse_and_report.py, at 4eba7e1: at least 13 fields, bus bandwidth in the eighth.
TOGETHER_FIELDS, TOGETHER_BUSBW = 13, 7


def measured(operation: str = "all_gather", time_us: float = 123.4, *, wrong: int | None = 0) -> Row:
    size = 1 << 20
    return row(operation, size, half(time_us, size_bytes=size, wrong=wrong), half(2 * time_us, size_bytes=size))


@settings(deadline=None)
@given(time_us=st.floats(0.05, 1e9), wrong=st.integers(0, 2**33))
def test_a_row_with_both_halves_is_read_whatever_its_figures(time_us: float, wrong: int) -> None:
    line = nccl_text.row_line(measured(time_us=time_us, wrong=wrong))
    expected = [pytest.approx(factor * time_us, rel=1e-3, abs=0.005) for factor in (1, 2)]

    aws, section = AWS_ROW.match(line.strip()), SECTION_ROW.search(line)
    assert aws is not None
    assert [float(aws[6]), float(aws[10])] == expected
    assert int(aws[9]) == wrong
    assert section is not None
    assert [float(section[2]), float(section[5])] == expected


def test_an_unchecked_row_is_read() -> None:
    line = nccl_text.row_line(measured(wrong=None))

    found = AWS_ROW.match(line.strip())
    assert found is not None
    assert found[9] == "N/A"


@pytest.mark.parametrize("in_place", [True, False])
def test_columns_can_be_counted_from_the_right(*, in_place: bool) -> None:
    both = measured()
    entry = both if in_place else replace(both, in_place=None)
    text = "\n".join([*nccl_text.heading("all_gather", label=None), nccl_text.row_line(entry)])
    title = next(line for line in text.splitlines() if "time" in line and "busbw" in line)[1:].split()
    fields = text.splitlines()[-1].split()

    assert len(fields) == len(title) == TOGETHER_FIELDS
    time, busbw = (title.index(name) - len(title) for name in ("time", "busbw"))
    assert (time, busbw) == (-8, -6)
    assert float(fields[time]) == pytest.approx(both.out_of_place.time_us, rel=1e-3)
    assert float(fields[busbw]) == float(fields[TOGETHER_BUSBW])


def test_a_half_that_was_not_measured_is_never_read_as_a_figure() -> None:
    """Readers that need both halves skip such a row; none may take a title, a zero or the next row for the second half."""
    rows = [replace(measured(time_us=time_us), in_place=None) for time_us in (10.0, 20.0)]
    text = "\n".join(map(nccl_text.row_line, rows))

    assert not any(AWS_ROW.match(line.strip()) for line in text.splitlines())
    assert SECTION_ROW.search(text) is None


def test_each_program_is_a_section_with_its_sizes_its_hosts_and_its_average() -> None:
    text = nccl_text.document(result())
    starts = [match.start() for match in SECTION.finditer(text)]
    sections = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]

    assert SECTION.findall(text) == ["all_reduce_perf", "all_gather_perf", "reduce_scatter_perf"]
    for section in sections:
        sizes = SECTION_SIZES.search(section)
        assert sizes is not None
        assert sizes.groups() == ("1000", "1048576")
        assert set(SECTION_NODE.findall(section)) == {"box"}
        assert SECTION_AVERAGE.search(section) is not None
        assert all(mark in section for mark in SUPERBENCH_TABLE)


@settings(deadline=None)
@given(busbw=st.floats(1e-8, 1e7))
def test_the_average_is_read_as_the_number_it_is(busbw: float) -> None:
    size = 1024
    entry = row("all_reduce", size, half(1.0, size_bytes=size, busbw_gb_per_s=busbw))
    footer = "\n".join(nccl_text.footer("all_reduce", [entry]))

    for pattern in (AWS_AVERAGE, SECTION_AVERAGE):
        found = pattern.search(footer)
        assert found is not None
        assert float(found[1]) == pytest.approx(busbw, rel=1e-5, abs=1e-10)


@pytest.mark.parametrize(
    ("operation", "program"),
    [("all_to_all", "alltoall_perf"), ("send_recv", "sendrecv_perf"), ("all_reduce", "all_reduce_perf")],
)
def test_programs_have_the_names_of_nccl_tests(operation: str, program: str) -> None:
    lines = [*nccl_text.heading(operation, label=None), *nccl_text.footer(operation, [measured(operation)])]

    assert f"# Collective test starting: {program}" in lines
    assert f"# Collective test concluded: {program}" in lines
