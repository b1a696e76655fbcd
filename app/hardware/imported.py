"""Profiles of imported logs: figures that somebody measured elsewhere, under the same rules as a run of ours.

A run of a log feeds a profile only when nothing speaks against it: `why_not` says what does. Times are taken only where the log's own
rate shows that its size is counted as ours are. `contradiction` keeps a person from confirming what the figures rule out.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from app.bench.importers.facts import LAUNCH_TIME
from app.bench.importers.model import EXCLUDES, Half, ImportedRun
from app.core.i18n import Text
from app.hardware.collective import OPERATIONS, bus_factor
from app.hardware.measured import MeasuredProfile, sampled_profile
from app.hardware.series import Sample, Series

TOLERANCE = 0.05
"""Share by which rates that were printed with two decimals may miss the rule they follow."""
PRECISION = 0.015
"""Share by which the ratio of two large rates may miss the bus factor; twice the ranks make a difference of 3 % up to 32 ranks."""
ROUNDING = 0.0051
"""GB/s that a rate of two decimals may be off."""
OLD = frozenset({"all_gather", "reduce_scatter"})
"""Before 2020-06 nccl-tests left a rank's own part out of both rates of these, so that the two are equal."""


def why_not(run: ImportedRun, *, is_sure: bool) -> Text | None:
    """What keeps the run from feeding a profile, None when nothing does. `is_sure` says that operation and ranks are beyond doubt."""
    excluded = next((badge for badge in run.badges if badge.kind in EXCLUDES), None)
    if excluded is not None:
        return excluded.text
    if not run.rows:
        return Text("It holds no rows over message sizes.", "其中没有按消息大小给出的数据。")
    if not is_sure or run.operation is None or run.ranks is None:
        return Text(
            "Operation and ranks are not beyond doubt: confirm them first.", "操作或 rank 数还不确定，请先确认。"
        )
    if run.operation not in OPERATIONS:
        return Text(
            f"Ringside has no bus factor for {run.operation}, so nothing can be computed with it.",
            f"Ringside 没有 {run.operation} 的总线系数，无法用于计算。",
        )
    if run.ranks < 2:
        return Text("A single rank has nobody to talk to.", "只有一个 rank，无需通信。")
    if any(LAUNCH_TIME.en in badge.text.en for badge in run.badges):
        return Text("Its times are those of the launch, not of the transfer.", "其中的时间是启动时间，不是传输时间。")
    if next(samples_of(run), None) is None:
        return Text(
            "No rate shows how the log counts its sizes, so the times cannot be laid over ours.",
            "日志中没有带宽能说明大小是怎样计的，因此无法与这里的大小对应。",
        )
    return None


def samples_of(run: ImportedRun) -> Iterator[Sample]:
    """The times that may feed a model; operation and ranks must be known."""
    assert run.operation is not None
    assert run.ranks is not None
    for row in run.rows:
        if "misaligned" in row.flags or row.size_bytes <= 0:
            continue
        for half, in_place in ((row.out_of_place, False), (row.in_place, True)):
            if half is None or not half.time_us or not _counts_alike(half, row.size_bytes, run.operation, run.ranks):
                continue
            series = Series(
                operation=run.operation,
                ranks=run.ranks,
                dtype=row.dtype,
                redop=row.redop,
                root=row.root,
                in_place=in_place,
            )
            yield Sample(series, row.size_bytes, half.time_us * 1e-6)


def imported_profile(runs: Sequence[ImportedRun], *, key: str, title: Text, source: Text) -> MeasuredProfile:
    """The profile of runs against which nothing speaks."""
    found = [sample for run in runs for sample in samples_of(run)]
    return sampled_profile(found, key=key, title=title, source=source, kind="imported")


def belong_together(runs: Sequence[ImportedRun]) -> bool:
    """Whether several runs of one log describe one machine: different operations, the same ranks on the same hosts."""
    operations = {run.operation for run in runs}
    places = {(run.ranks, run.hosts) for run in runs}
    return 1 < len(runs) == len(operations) and len(places) == 1


def contradiction(run: ImportedRun, operation: str, ranks: int) -> Text | None:
    """Why the two rates of the run cannot be those of `operation` over `ranks` ranks; None when they can, or say nothing."""
    rates = [
        (half.algbw_gb_per_s, half.busbw_gb_per_s)
        for row in run.rows
        for half in row.halves
        if half.algbw_gb_per_s and half.busbw_gb_per_s
    ]
    # Large rates lose the least to their two decimals.
    large = [pair for pair in rates if pair[0] >= 0.2 * max(rates)[0]]
    if not large or min(large)[0] < 20 * ROUNDING:
        return None
    allowed = PRECISION + 2 * ROUNDING / min(large)[0]
    ratio, factor = median(busbw / algbw for algbw, busbw in large), float(bus_factor(operation, ranks=ranks))
    if abs(ratio - factor) <= allowed * factor or (operation in OLD and abs(ratio - 1) <= allowed):
        return None
    return Text(
        f"The log's bus bandwidth is {ratio:.3g} times its algorithm bandwidth; for {operation} over {ranks} ranks it would be"
        f" {factor:.3g} times.",
        f"日志中的总线带宽是算法带宽的 {ratio:.3g} 倍；{ranks} 个 rank 的 {operation} 应为 {factor:.3g} 倍。",
    )


def _counts_alike(half: Half, size_bytes: int, operation: str, ranks: int) -> bool:
    """Whether the printed rate is size over time, so that the size is the whole message."""
    assert half.time_us
    if half.algbw_gb_per_s is None:
        return False
    computed = size_bytes / half.time_us / 1e3
    shares = (1.0, (ranks - 1) / ranks) if operation in OLD else (1.0,)
    return any(
        abs(half.algbw_gb_per_s - share * computed) <= TOLERANCE * share * computed + ROUNDING for share in shares
    )
