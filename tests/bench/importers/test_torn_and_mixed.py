"""Rows that were torn, glued or printed by several programs at once: repaired only where nothing is doubtful."""

from pathlib import Path

import pytest

from app.bench.importers.model import ImportedRun
from app.bench.importers.read import read_log

LOGS = Path(__file__).parents[2] / "golden" / "nccl_logs"
HEAD = """\
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid     11 on        box device  0 [0x1b] NVIDIA H100
#  Rank  1 Group  0 Pid     11 on        box device  1 [0x43] NVIDIA H100
#
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
ROWS = [
    "     1048576        262144     float     sum      -1    50.00   20.97   20.97      0    51.00   20.56   20.56      0",
    "     2097152        524288     float     sum      -1    80.00   26.21   26.21      0    81.00   25.89   25.89      0",
    "     4194304       1048576     float     sum      -1    140.0   29.96   29.96      0    141.0   29.75   29.75      0",
]
DEBUG = "box:11:42 [0] NCCL INFO Launch mode Parallel"
WHOLE = HEAD + "\n".join(ROWS) + "\n"


def only(text: str) -> ImportedRun:
    (run,) = read_log(text).runs
    return run


def kinds(run: ImportedRun) -> list[str]:
    return [badge.kind for badge in run.badges]


def sizes(run: ImportedRun) -> list[int]:
    return [row.size_bytes >> 20 for row in run.rows]


def test_the_whole_table_is_sound() -> None:
    assert kinds(only(WHOLE)) == ["ok"]


def test_debug_text_between_head_and_halves_is_repaired_where_the_figures_prove_it() -> None:
    head, rest = ROWS[1][:52], ROWS[1][52:]

    run = only(WHOLE.replace(ROWS[1], f"{head}{DEBUG}\n{rest}"))

    assert sizes(run) == [1, 2, 4]
    assert run.rows[1].flags == ("repaired",)
    assert run.rows[1].halves == only(WHOLE).rows[1].halves


def test_debug_text_between_the_halves_is_repaired() -> None:
    head, rest = ROWS[1][:84], ROWS[1][84:]

    run = only(WHOLE.replace(ROWS[1], f"{head}{DEBUG}\n{rest}"))

    assert run.rows[1].halves == only(WHOLE).rows[1].halves
    assert run.rows[1].flags == ("repaired",)


def test_pieces_of_two_rows_are_never_joined() -> None:
    head, rest = ROWS[1][:52], ROWS[2][52:]

    run = only(HEAD + f"{ROWS[0]}\n{head}{DEBUG}\n{rest}\n{ROWS[2]}\n")

    assert sizes(run) == [1, 4]
    assert "torn" in kinds(run)


def test_pieces_whose_figures_are_too_small_to_prove_anything_are_dropped() -> None:
    small = "           8             2     float     sum      -1"

    run = only(HEAD + f"{small}{DEBUG}\n     9.00    0.00    0.00      0     9.10    0.00    0.00      0\n")

    assert run.rows == ()
    assert "torn" in kinds(run)


def test_rows_glued_on_one_line_are_parted() -> None:
    run = only(WHOLE.replace(f"{ROWS[0]}\n", ROWS[0]))

    assert sizes(run) == [1, 2, 4]
    assert [row.halves for row in run.rows] == [row.halves for row in only(WHOLE).rows]
    assert "torn" in kinds(run)


def test_a_figure_that_another_contradicts_costs_its_half() -> None:
    run = only(WHOLE.replace("80.00   26.21", "88.00   26.21"))

    assert run.rows[1].out_of_place is None
    assert run.rows[1].in_place is not None
    assert run.rows[1].flags == ("half-dropped",)
    assert run.needs_confirmation


def test_a_size_that_its_count_contradicts_costs_the_row() -> None:
    run = only(WHOLE.replace("     2097152        524288", "     2097152        524289"))

    assert sizes(run) == [1, 4]


def test_a_column_out_of_place_is_marked_even_where_figures_are_small() -> None:
    rows = [
        f"{8 << i:>12}  {2 << i:>12}     float     sum      -1    {90 + i:5.2f}    0.00    0.00      0   91.00    0.00    0.00      0"
        for i in range(5)
    ]
    damaged = rows[2].replace(" 92.00", "92.00", 1)

    run = only(HEAD + "\n".join([*rows[:2], damaged, *rows[3:]]))

    assert [row.flags for row in run.rows] == [(), (), ("misaligned",), (), ()]


def test_a_missing_size_is_noticed_without_header_and_footer() -> None:
    row = "{:>12}  {:>12}     float     sum      -1    50.00    0.00    0.00      0    51.00    0.00    0.00      0"
    table = [row.format(8 << i, 2 << i) for i in range(8)]

    run = only(HEAD.split("#\n", 2)[2] + "\n".join(table[:4] + table[5:]))

    assert "elided" in kinds(run)


def test_dots_in_the_table_are_noticed() -> None:
    assert "elided" in kinds(only(WHOLE.replace(ROWS[1], "...")))


def test_a_footer_of_another_run_disagrees() -> None:
    assert "footer-disagrees" in kinds(only(WHOLE + "# Avg bus bandwidth    : 99.5\n"))


def interleaved(first: str, second: str) -> str:
    lines = zip(first.splitlines(), second.splitlines(), strict=True)
    return "\n".join(line for pair in lines for line in pair) + "\n"


def test_two_unlabelled_runs_that_printed_at_once_are_two_and_marked() -> None:
    other = WHOLE.replace("    50.00   20.97   20.97", "    60.00   17.48   17.48")

    runs = read_log(interleaved(WHOLE, other)).runs

    assert [sizes(run) for run in runs] == [[1, 2, 4], [1, 2, 4]]
    assert all("mixed-runs" in kinds(run) for run in runs)
    assert all(run.needs_confirmation for run in runs)
    assert {run.rows[0].out_of_place.time_us for run in runs if run.rows[0].out_of_place} == {50.0, 60.0}


def test_a_binary_without_mpi_is_recognised_by_its_ranks() -> None:
    alone = WHOLE.replace("#  Rank  1 Group  0 Pid     11 on        box device  1 [0x43] NVIDIA H100\n", "")

    runs = read_log(interleaved(alone, alone)).runs

    assert [run.ranks for run in runs] == [1, 1]
    assert all("no-mpi" in kinds(run) for run in runs)
    assert not any(run.may_feed_fits for run in runs)


def test_several_footers_in_one_table_are_several_runs_mixed() -> None:
    run = only(WHOLE + "# Avg bus bandwidth    : 25.5567\n# Avg bus bandwidth    : 25.5567\n")

    assert "mixed-runs" in kinds(run)


def test_groups_of_a_split_count_their_own_ranks() -> None:
    text = WHOLE.replace("Rank  1 Group  0", "Rank  1 Group  1")
    more = "".join(
        f"#  Rank  {rank} Group  {rank % 2} Pid     11 on        box device  {rank} [0x5{rank}] NVIDIA H100\n"
        for rank in (2, 3)
    )

    run = only(text.replace("#\n#       size", f"{more}#\n#       size"))

    assert (run.ranks, run.ranks_basis) == (2, "rank lines")


def test_cycles_of_one_run_are_no_mix() -> None:
    table = "\n".join(ROWS)

    run = only(f"{HEAD}{table}\n# Testing 2 cycle.\n{table}\n")

    assert "mixed-runs" not in kinds(run)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "box: Test NCCL failure common.cu:958 'unhandled system error (run with NCCL_DEBUG=INFO for details) / '",
            "system error",
        ),
        ("box: Test CUDA failure common.cu:986 'out of memory'", "out of memory"),
        ("box: Test timeout (60s) common.cu:523", "did not finish"),
        ("Invalid number of GPUs: 8 requested but only 2 were found.", "More GPUs"),
        (
            "box:1:1 [0] init.cc:612 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000",
            "same GPU",
        ),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***", "time limit"),
        ("./all_reduce_perf: error while loading shared libraries: libnccl.so.2: cannot open", "LD_LIBRARY_PATH"),
    ],
)
def test_failures_are_explained_and_keep_the_rows(text: str, words: str) -> None:
    run = only(f"{WHOLE}{text}\n")
    (failed,) = [badge for badge in run.badges if badge.kind == "failed"]

    assert words in failed.text.en
    assert failed.line == WHOLE.count("\n") + 1
    assert len(run.rows) == 3


def test_wrong_values_exclude_a_run() -> None:
    run = only(WHOLE.replace("20.97   20.97      0", "20.97   20.97  2e+08"))

    assert run.rows[0].out_of_place is not None
    assert run.rows[0].out_of_place.wrong_or_error == 2e8
    assert "wrong-values" in kinds(run)
    assert not run.may_feed_fits


def test_launch_times_of_the_cpu_are_not_taken_for_the_collective() -> None:
    text = WHOLE.replace("    time", " cputime").replace("    50.00", "     5.00")

    assert "unit-doubt" in kinds(only(text))


def test_a_lone_in_place_half_behind_a_blank_one_is_in_place() -> None:
    row = ROWS[0][:53] + " " * 32 + ROWS[0][-32:]

    run = only(HEAD + row)

    assert run.rows[0].out_of_place is None
    assert run.rows[0].in_place == only(WHOLE).rows[0].in_place
