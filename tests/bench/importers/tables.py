"""Tables in the printf layouts of every era of nccl-tests, with the figures that were printed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

Era = Literal["2017", "2019", "2022", "2025", "2026", "rccl"]
ERAS: tuple[Era, ...] = ("2017", "2019", "2022", "2025", "2026", "rccl")
_PARTED = {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"}
_PROGRAMS = {"all_to_all": "alltoall", "send_recv": "sendrecv"}
OPERATIONS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "send_recv",
)
_OLD = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")


@dataclass(frozen=True)
class Sweep:
    """A run to print: `times_us` holds a pair per size."""

    era: Era
    operation: str
    ranks: int
    minimum: int
    times_us: tuple[tuple[float, float], ...]
    checked: bool
    timestamps: bool

    @property
    def redop(self) -> str | None:
        reduces = self.operation in {"all_reduce", "reduce_scatter", "reduce", "send_recv"}
        if self.era in {"2017", "2019"}:
            return "sum" if reduces else None
        return "sum" if reduces else "none"

    @property
    def root(self) -> int | None:
        has_root = self.operation in {"broadcast", "reduce", "gather", "scatter"}
        if self.era in {"2017", "2019"}:
            return 0 if has_root else None
        return 0 if has_root else -1

    def sizes(self) -> list[tuple[int, int]]:
        """Printed size and count of each row."""
        found = []
        for index in range(len(self.times_us)):
            size = self.minimum << index
            if self.operation in _PARTED:
                count = size // self.ranks // 16 * 16 // 4
                found.append((count * self.ranks * 4, count))
            else:
                found.append((size, size // 4))
        return found

    def factor(self) -> float:
        n = self.ranks
        if self.operation == "all_reduce":
            return 2 * (n - 1) / n
        return (n - 1) / n if self.operation in _PARTED else 1.0


@dataclass(frozen=True)
class Row:
    """What a row must read as: halves are (time_us, algbw, busbw, check)."""

    size: int
    count: int
    halves: tuple[tuple[float, float, float, float | None], ...]


@st.composite
def sweeps(draw: st.DrawFn) -> Sweep:
    era = draw(st.sampled_from(ERAS))
    operation = draw(st.sampled_from(_OLD if era in {"2017", "2019"} else OPERATIONS))
    latency = draw(st.floats(1.0, 5e4))
    bandwidth = draw(st.floats(5e-3, 900.0))
    minimum = draw(st.sampled_from([4, 1024, 1 << 20, 1 << 25]))
    count = draw(st.integers(1, 12))
    noise = st.floats(0.9, 1.1)
    times = tuple(
        tuple((latency + (minimum << index) / bandwidth / 1e3) * draw(noise) for _ in range(2))
        for index in range(count)
    )
    return Sweep(
        era=era,
        operation=operation,
        ranks=draw(st.integers(2, 72)),
        minimum=minimum,
        times_us=times,  # type: ignore[arg-type]
        checked=draw(st.booleans()),
        timestamps=era in {"2025", "2026"} and draw(st.booleans()),
    )


def printed(sweep: Sweep) -> tuple[str, list[Row]]:
    """The text and the rows it holds."""
    lines, rows = _head(sweep), []
    rates = []
    for (size, count), times in zip(sweep.sizes(), sweep.times_us, strict=True):
        line = _preamble(sweep, size, count)
        halves = []
        for place, time_us in enumerate(times):
            text, half = _half(sweep, size, time_us, is_in_place=place == 1)
            line += text
            halves.append(half)
            rates.append(half[2])
            if sweep.era == "2017" and sweep.operation == "broadcast":
                break
        if sweep.timestamps:
            line += f"{'2026-01-02 03:04:05':>21}"
        if sweep.era == "rccl":
            line += f"  {'RING':>8}  {'SIMPLE':>8}  {32:>10}"
        lines.append(line)
        rows.append(Row(size, count, tuple(halves)))
    lines += ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {sum(rates) / len(rates):g} ", "#"]
    return "\n".join(lines) + "\n", rows


def devices(sweep: Sweep) -> list[str]:
    if sweep.era == "2017":
        return [
            f"#   Rank {rank:2d} on {'box':>10} device {rank:2d} [0x{rank + 1:02x}] Tesla P100"
            for rank in range(sweep.ranks)
        ]
    if sweep.era == "2019":
        return [
            f"#   Rank {rank:2d} Pid {rank + 7:6d} on {'box':>10} device {rank:2d} [0x{rank + 1:02x}] V100"
            for rank in range(sweep.ranks)
        ]
    bus = "[0000:{:02x}:00]" if sweep.era in {"2025", "2026"} else "[0x{:02x}]"
    return [
        f"#  Rank {rank:2d} Group  0 Pid {rank + 7:6d} on {'box':>10} device {rank:2d} {bus.format(rank + 1)} NVIDIA H100"
        for rank in range(sweep.ranks)
    ]


def _head(sweep: Sweep) -> list[str]:
    program = f"{_PROGRAMS.get(sweep.operation, sweep.operation)}_perf"
    maximum = sweep.minimum << (len(sweep.times_us) - 1)
    parameters = f"nThread 1 nGpus {sweep.ranks} minBytes {sweep.minimum} maxBytes {maximum} step: 2(factor) warmup iters: 5 iters: 20"
    lines = [f"# {parameters} agg iters: 1 validation: {int(sweep.checked)} graph: 0", "#"]
    if sweep.era == "2017":
        lines = [f"{parameters} validation: {int(sweep.checked)} ", "# NCCL Tests compiled with NCCL 1.0"]
    if sweep.era in {"2025", "2026"}:
        lines = [
            "# nccl-tests version 2.19.6 nccl-headers=23004 nccl-library=23004",
            f"# Collective test starting: {program}",
            *lines,
        ]
    if sweep.era == "rccl":
        lines.append("rccl-tests: Version develop:0123abc")
    return [*lines, "# Using devices", *devices(sweep), "#", *_titles(sweep)]


def _titles(sweep: Sweep) -> Sequence[str]:
    if sweep.era == "2017":
        names = {"all_gather": "", "broadcast": "    root", "reduce": "      op    root"}.get(
            sweep.operation, "      op"
        )
        half = "     time  algbw  busbw      res"
        halves = half if sweep.operation == "broadcast" else half * 2
        return [
            f"#{'':40}out-of-place                    in-place",
            f"#      bytes             N    type{names}{halves}",
        ]
    if sweep.era == "2019":
        names = ("   redop" if sweep.redop else "") + ("    root" if sweep.root is not None else "")
        half = "     time   algbw   busbw  error"
        return [
            f"#{'':50}out-of-place                       in-place          ",
            f"#       size         count    type{names}{half}{half}",
            f"#        (B)    (elements)        {' ' * len(names)}     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
        ]
    half = "     time   algbw   busbw  #wrong" if sweep.era in {"2025", "2026"} else "     time   algbw   busbw #wrong"
    if sweep.era == "2026":
        half += "    i_min    i_max    i_p99    i_cv%"
    end = (
        f" {'timestamp':>19}" if sweep.timestamps else "     algo     proto   nchannels" if sweep.era == "rccl" else ""
    )
    return [
        f"#{'':60}out-of-place                       in-place          ",
        f"#       size         count      type   redop    root{half}{half}{end}",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)",
    ]


def _preamble(sweep: Sweep, size: int, count: int) -> str:
    if sweep.era in {"2017", "2019"}:
        line = f"{size:>12}  {count:>12}  {'float':>6}"
        line += f"  {sweep.redop:>6}" if sweep.redop else ""
        return line + (f"  {sweep.root:>6}" if sweep.root is not None else "")
    return f"{size:>12}  {count:>12}  {'float':>8}  {sweep.redop:>6}  {sweep.root:>6}"


def _half(
    sweep: Sweep, size: int, time_us: float, *, is_in_place: bool
) -> tuple[str, tuple[float, float, float, float | None]]:
    algbw = size / time_us / 1e3
    busbw = algbw * sweep.factor()
    unchecked = not sweep.checked or (
        is_in_place and sweep.operation in {"all_to_all", "send_recv"} and sweep.era not in {"2017", "2019"}
    )
    if sweep.era == "2017":
        # all_gather and reduce_scatter left the own part out of both rates then.
        if sweep.operation in {"all_gather", "reduce_scatter"}:
            algbw = busbw
        texts = [f"{time_us / 1e3:7.3f}", f"{algbw:5.2f}", f"{busbw:5.2f}", "\tN/A" if unchecked else f"{1e-7:7.0e}"]
    elif sweep.era == "2019":
        if sweep.operation in {"all_gather", "reduce_scatter"}:
            algbw = busbw
        texts = [_old_time(time_us), f"{algbw:6.2f}", f"{busbw:6.2f}", "  N/A" if unchecked else f"{2e-7:5.0e}"]
    elif sweep.era in {"2025", "2026"}:
        texts = [_fitted(time_us, 7), _fitted(algbw, 6), _fitted(busbw, 6), "   N/A" if unchecked else f"{0:6g}"]
    else:
        texts = [_old_time(time_us), f"{algbw:6.2f}", f"{busbw:6.2f}", "  N/A" if unchecked else f"{0:5g}"]
    more = (
        "".join(f"  {_fitted(time_us * share, 7)}" for share in (0.9, 1.2, 1.1)) + f"  {3.5:7.2f}"
        if sweep.era == "2026"
        else ""
    )
    check = None if unchecked else float(texts[3])
    scale = 1e3 if sweep.era == "2017" else 1.0
    figures = (round(float(texts[0]) * scale, 6), float(texts[1]), float(texts[2]), check)
    return "  " + "  ".join(texts) + more, figures


def _old_time(time_us: float) -> str:
    if time_us >= 10000.0:
        return f"{time_us:7.0f}"
    return f"{time_us:7.1f}" if time_us >= 100.0 else f"{time_us:7.2f}"


def _fitted(value: float, width: int) -> str:
    for decimals in (2, 1, 0):
        if len(text := f"{value:{width}.{decimals}f}") <= width:
            return text
    return f"{value:{width}.{1 if width >= 7 else 0}e}"
