"""What the pages of an imported log show: its runs with their use, and one chart over all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from app.bench.formats import imported as files
from app.bench.importers.document import document
from app.bench.importers.model import ImportedRow, ImportedRun
from app.bench.imports import Draft, KeptImport, KeptRun
from app.core.errors import NotFound
from app.core.i18n import Language, Text
from app.core.units import binary_bytes
from app.hardware.imported import why_not
from app.web import bench_view
from app.web.compare_logs import of_log
from app.web.compare_view import Side
from app.web.profiles import import_store
from app.web.services import Services

MAXIMUM_ROWS = 200
"""Rows of a run that a page shows; its files hold all."""
MAXIMUM_RUNS = 30
"""Runs of a log that a page shows row by row."""
MAXIMUM_LISTED = 300
"""Runs of a log that a page lists."""
MAXIMUM_BADGES = 40
"""Badges of a run that a page shows."""
MAXIMUM_CURVES = 10


@dataclass(frozen=True, slots=True)
class RunView:
    """A run of a log as its page shows it; `run` has what was confirmed."""

    entry: KeptRun
    reason: Text | None
    """Why it feeds no profile; None when it does, or would once it is kept."""

    @property
    def number(self) -> int:
        """Counted from 1."""
        return self.entry.number

    @property
    def run(self) -> ImportedRun:
        """The run with what was confirmed."""
        return self.entry.run

    @property
    def title(self) -> Text:
        """Its operation and ranks, as far as they are known."""
        run = self.run
        operation = (
            Text("operation unknown", "操作未知")
            if run.operation is None
            else bench_view.operation_title(run.operation)
        )
        if not run.rows and run.tables:
            return Text("tables", "表格")
        if run.ranks is None:
            return Text(f"{operation.en}, ranks unknown", f"{operation.zh}，rank 数未知")
        ranks = "1 rank" if run.ranks == 1 else f"{run.ranks} ranks"
        return Text(f"{operation.en}, {ranks}", f"{operation.zh}，{run.ranks} 个 rank")

    @property
    def asks(self) -> bool:
        """Whether a person has to confirm operation and ranks, and it would be of use."""
        return self.entry.read.needs_confirmation and self.entry.read.may_feed_fits

    @property
    def shown(self) -> tuple[ImportedRow, ...]:
        """The first rows."""
        return self.run.rows[:MAXIMUM_ROWS]

    @property
    def largest_busbw(self) -> float | None:
        """The largest bus bandwidth that was printed, GB/s."""
        rates = [half.busbw_gb_per_s for row in self.run.rows for half in row.halves if half.busbw_gb_per_s]
        return max(rates, default=None)

    @property
    def has_text(self) -> bool:
        """Whether it can be written in the layout of nccl-tests."""
        return files.has_text(self.run)


def views(runs: Iterable[KeptRun]) -> tuple[RunView, ...]:
    """The runs of a kept log."""
    return tuple(RunView(entry, why_not(entry.run, is_sure=entry.is_sure)) for entry in runs)


def previews(draft: Draft) -> tuple[RunView, ...]:
    """The runs of a log that was only read; nothing is confirmed yet."""
    return views(KeptRun(number, run) for number, run in enumerate(draft.imported.runs, start=1))


def chart(found: Sequence[RunView], *, language: Language) -> Markup | None:
    """Bus bandwidth over size, a curve per run; None where no run has a rate."""
    data: list[dict[str, Any]] = []
    sizes: list[int] = []
    for view in found:
        points = _points(view.run)
        if points and len(data) < MAXIMUM_CURVES:
            name = Text(f"{view.number}: {view.title.en}", f"{view.number}：{view.title.zh}")
            data.append(_curve(points, name=name[language], style=len(data)))
            sizes += [size for size, _, _ in points]
    return bench_view.figure(data, sizes, language=language) if data else None


def side(services: Services, key: str) -> Side | None:
    """A run of a kept log, by `<id>-<n>`, as a side of the comparison; None when it is gone or tells too little."""
    found = _find(services, key)
    return None if found is None else _side(*found)


def lines(services: Services, key: str) -> Iterator[Mapping[str, Any]]:
    """Its rows for the CSV of the comparison; `key` is that of its side."""
    found = _find(services, key.removeprefix("import-"))
    return iter(()) if found is None else files.lines(key, found[1].run)


def _find(services: Services, key: str) -> tuple[KeptImport, KeptRun] | None:
    import_id, _, number = key.partition("-")
    if not (import_id.isdecimal() and number.isdecimal()) or max(len(import_id), len(number)) > 9:
        return None
    try:
        kept = import_store(services).get(int(import_id))
    except NotFound:
        return None
    entry = next((entry for entry in kept.runs if entry.number == int(number)), None)
    return None if entry is None else (kept, entry)


def _side(kept: KeptImport, entry: KeptRun) -> Side | None:
    return of_log(
        entry.run,
        key=f"import-{kept.id}-{entry.number}",
        title=Text(f"Import {kept.id}, run {entry.number}", f"导入 {kept.id}，运行 {entry.number}"),
        href=f"/bench/imports/{kept.id}#run-{entry.number}",
        about=f"{kept.name}, {kept.created_at:%Y-%m-%d}",
    )


def to_json(kept: KeptImport) -> Mapping[str, Any]:
    """What `ringside import log --json` prints, with where it is kept, what was confirmed, and what each run may be used for."""
    raw = document(kept.imported)
    for run, view in zip(raw["runs"], views(kept.runs), strict=True):
        confirmed = view.entry.confirmed
        run["confirmed"] = None if confirmed is None else {"operation": confirmed.operation, "ranks": confirmed.ranks}
        run["profile"] = None if view.reason else f"import-{kept.id}-{view.number}"
        run["not_used_because"] = view.reason.en if view.reason else None
    return {
        "id": kept.id,
        "name": kept.name,
        "sha256": kept.sha256,
        "size_bytes": kept.size_bytes,
        "hosts_masked": kept.is_masked,
        "created_at": kept.created_at.isoformat(),
        **raw,
    }


def _points(run: ImportedRun) -> list[tuple[int, float, float | None]]:
    """Size, rate in GB/s and time in microseconds: as the comparison has them, else as they were printed."""
    known = of_log(run, key="", title=Text("-", "-"), href="", about="")
    if known is not None:
        cells = next(iter(known.sweeps.values()))
        return [(cell.size_bytes, cell.rate, cell.time_us) for cell in cells if cell.rate > 0]
    found: dict[int, tuple[int, float, float | None]] = {}
    for row in run.rows:
        half = row.halves[0] if row.halves else None
        rate = half and (half.busbw_gb_per_s or half.algbw_gb_per_s)
        if half and rate and row.size_bytes > 0:
            found.setdefault(row.size_bytes, (row.size_bytes, rate, half.time_us))
    return [found[size] for size in sorted(found)]


def _curve(points: Sequence[tuple[int, float, float | None]], *, name: str, style: int) -> dict[str, Any]:
    colour, dash, symbol = bench_view.STYLES[style % len(bench_view.STYLES)]
    symbol += "-open" * (style // len(bench_view.STYLES) % 2)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [size for size, _, _ in points],
        "y": [rate for _, rate, _ in points],
        "customdata": [[binary_bytes(size), time_us or 0.0] for size, _, time_us in points],
        "hovertemplate": "%{customdata[0]}: %{y:.4g} GB/s, %{customdata[1]:,.1f} µs",
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"color": colour, "symbol": symbol, "size": 7},
    }
