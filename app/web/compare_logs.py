"""A run of an imported log as a side of the comparison.

A log tells less than a run of ours: what it does not hold is left out rather than guessed, and a bus bandwidth is computed only where
none was printed. Of several types or roots in one log, the one with the most sizes is shown.
"""

from collections.abc import Iterable, Mapping
from statistics import median

from app.bench.importers.model import Half, ImportedRow, ImportedRun
from app.core.i18n import Text, same
from app.hardware.collective import OPERATIONS, bus_factor
from app.web.compare_view import Cell, Side

ROUNDING = 0.0051
"""GB/s that a rate of two decimals may be off."""


def of_log(run: ImportedRun, *, key: str, title: Text, href: str, about: str) -> Side | None:
    """The run as a side; None where operation or ranks are not known, or no row holds a time."""
    if run.operation not in OPERATIONS or run.ranks is None:
        return None
    rows = _most_alike(run.rows)
    cells = _cells(rows, operation=run.operation, ranks=run.ranks)
    if not cells:
        return None
    operation, known = run.operation, _conditions(run, rows)
    status, status_kind = _status(run)
    devices = list(dict.fromkeys(device.name for device in run.devices))
    return Side(
        key=key,
        title=title,
        href=href,
        status=status,
        status_kind=status_kind,
        about=about,
        ranks=run.ranks,
        hosts=max(1, len(run.hosts)),
        device=devices[0] if devices else None,
        dtype=rows[0].dtype or "float",
        sweeps={operation: cells},
        conditions=lambda _: known,
    )


def _status(run: ImportedRun) -> tuple[Text, str]:
    """What a reader has to know before comparing, and how it looks."""
    kinds = {badge.kind for badge in run.badges}
    if "wrong-values" in kinds:
        return Text("wrong values", "数值错误"), "error"
    if "emulated" in kinds:
        return Text("emulated", "模拟"), "warning"
    return Text("imported", "导入"), ""


def _most_alike(rows: Iterable[ImportedRow]) -> tuple[ImportedRow, ...]:
    groups: dict[tuple[object, ...], list[ImportedRow]] = {}
    for row in rows:
        groups.setdefault((row.dtype, row.redop, row.root), []).append(row)
    most: list[ImportedRow] = max(groups.values(), key=len, default=[])
    return tuple(most)


def _cells(rows: Iterable[ImportedRow], *, operation: str, ranks: int) -> tuple[Cell, ...]:
    """A cell per size, out-of-place where the log has it; a size that was measured several times has the median time."""
    by_size: dict[int, list[Cell]] = {}
    for row in rows:
        half = next((half for half in row.halves if half.time_us), None)
        if half is not None and row.size_bytes > 0:
            by_size.setdefault(row.size_bytes, []).append(_cell(row, half, operation=operation, ranks=ranks))
    middle = {size: median(cell.time_us for cell in cells) for size, cells in by_size.items()}
    return tuple(min(by_size[size], key=lambda cell: abs(cell.time_us - middle[size])) for size in sorted(by_size))


def _cell(row: ImportedRow, half: Half, *, operation: str, ranks: int) -> Cell:
    assert half.time_us
    algbw = row.size_bytes / half.time_us / 1e3
    busbw = algbw * float(bus_factor(operation, ranks=ranks))
    return Cell(
        size_bytes=row.size_bytes,
        time_us=half.time_us,
        algbw_gb_per_s=_sharper(half.algbw_gb_per_s, algbw),
        busbw_gb_per_s=_sharper(half.busbw_gb_per_s, busbw) if ranks > 1 else None,
        # Before 2022-08 the column held the largest difference, which is a fraction, not a count.
        is_wrong=any((each.wrong_or_error or 0) >= 1 for each in row.halves),
    )


def _sharper(printed: float | None, computed: float) -> float:
    """The computed rate where the printed one is the same but for its two decimals; a rate of another definition stays."""
    return computed if printed is None or abs(printed - computed) <= ROUNDING else printed


def _conditions(run: ImportedRun, rows: tuple[ImportedRow, ...]) -> Mapping[str, Text]:
    first = rows[0]
    devices = ", ".join(dict.fromkeys(device.name for device in run.devices))
    found = {
        "ranks": str(run.ranks),
        "hosts": str(len(run.hosts)) if run.hosts else "",
        "device": devices,
        "dtype": first.dtype or "",
        "redop": first.redop if first.redop and first.redop != "none" else "",
        "root": str(first.root) if first.root is not None and first.root >= 0 else "",
    }
    return {name: same(text) for name, text in found.items() if text}
