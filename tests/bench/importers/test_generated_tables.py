"""Tables of every era read back exactly, through every prefix that launchers and log collectors put before them."""

import json
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.bench.importers.model import Half, ImportedRun
from app.bench.importers.read import read_log
from tests.bench.importers.tables import Row, Sweep, printed, sweeps

Wrap = Callable[[str], str]


def each(prefix: str) -> Wrap:
    return lambda text: "".join(prefix + line for line in text.splitlines(keepends=True))


def stamped(text: str) -> str:
    return "".join(
        f"2026-01-02T03:04:{index % 60:02d}.{index:09d}Z {line}"
        for index, line in enumerate(text.splitlines(keepends=True))
    )


def docker(text: str) -> str:
    return "".join(json.dumps({"log": line, "stream": "stdout"}) + "\n" for line in text.splitlines(keepends=True))


WRAPS: dict[str, Wrap] = {
    "plain": lambda text: text,
    "mpirun": each("[1,0]<stdout>:"),
    "open mpi 5": each("[prterun-box-12@1,0]<stdout>: "),
    "srun": each("0: "),
    "mpich": each("[0] "),
    "torchrun": each("[box:0]:"),
    "quoted": each("> "),
    "quoted mpirun": each("> [1,0]<stdout>:"),
    "indented": each("    "),
    "kubectl": each("[pod/bench-launcher-x7k2p/main] "),
    "compose": each("bench-1  | "),
    "stamps": stamped,
    "stamps and srun": lambda text: stamped(each("0: ")(text)),
    "syslog": each("Jan  2 03:04:05 box bench[123]: "),
    "docker": docker,
    "unknown": each("INFO:runner:stdout "),
    "colours": lambda text: "".join(f"\x1b[2m{line}\x1b[0m\r\n" for line in text.splitlines()),
    "byte order mark": lambda text: "\ufeff" + text,
    "fence": lambda text: f"```\n{text}```\n",
}


def halves(row: Row, sweep: Sweep) -> tuple[Half | None, Half | None]:
    found = [Half(*half) for half in row.halves]
    return found[0], found[1] if len(found) > 1 else None


def check(run: ImportedRun, rows: list[Row], sweep: Sweep) -> None:
    assert [(row.size_bytes, row.count, row.dtype) for row in run.rows] == [
        (row.size, row.count, "float") for row in rows
    ]
    assert [(row.redop, row.root) for row in run.rows] == [(sweep.redop, sweep.root)] * len(rows)
    assert [(row.out_of_place, row.in_place) for row in run.rows] == [halves(row, sweep) for row in rows]
    assert all(row.flags == () for row in run.rows)
    assert run.ranks == sweep.ranks
    assert run.operation in {sweep.operation, None}
    assert not {"torn", "misaligned", "mixed-runs", "elided", "cut", "unit-doubt"} & {
        badge.kind for badge in run.badges
    }


ONE_ROW = Sweep("2019", "all_gather", 2, 4, ((30000.0, 30000.0),), checked=False, timestamps=False)


@settings(max_examples=120, deadline=None)
@given(sweeps())
@example(ONE_ROW)
def test_every_era_reads_back_exactly(sweep: Sweep) -> None:
    text, rows = printed(sweep)

    (run,) = read_log(text).runs

    check(run, rows, sweep)


@pytest.mark.parametrize("wrap", list(WRAPS))
@settings(max_examples=6, deadline=None)
@given(sweep=sweeps())
def test_prefixes_change_nothing(wrap: str, sweep: Sweep) -> None:
    text, rows = printed(sweep)

    (run,) = read_log(WRAPS[wrap](text).encode()).runs

    check(run, rows, sweep)


@settings(max_examples=40, deadline=None)
@given(st.lists(sweeps(), min_size=2, max_size=4))
def test_runs_in_one_file_stay_apart(several: list[Sweep]) -> None:
    tables = [printed(sweep) for sweep in several]

    runs = read_log("\n".join(text for text, _ in tables)).runs

    assert len(runs) == len(several)
    for run, (_, rows), sweep in zip(runs, tables, several, strict=True):
        check(run, rows, sweep)


@settings(max_examples=40, deadline=None)
@given(sweeps(), sweeps(), st.randoms(use_true_random=False))
def test_two_labelled_processes_that_print_at_once_are_told_apart(first: Sweep, second: Sweep, chance: Random) -> None:
    tables = [printed(first), printed(second)]
    queues = [[f"[1,{index}]<stdout>:{line}" for line in text.splitlines()] for index, (text, _) in enumerate(tables)]
    mixed: list[str] = []
    while any(queues):
        mixed.append(chance.choice([queue for queue in queues if queue]).pop(0))
    is_first_first = next(line for line in mixed if "nThread" in line).startswith("[1,0]")

    runs = read_log("\n".join(mixed)).runs

    for run, (_, rows), sweep in zip(runs if is_first_first else reversed(runs), tables, (first, second), strict=True):
        check(run, rows, sweep)


@settings(max_examples=60, deadline=None)
@given(sweeps())
def test_a_table_cut_before_its_footer_keeps_its_rows(sweep: Sweep) -> None:
    text, rows = printed(sweep)

    (run,) = read_log(text[: text.index("# Out of bounds")]).runs

    check(run, rows, sweep)
    assert run.footer_average_busbw_gb_per_s is None
