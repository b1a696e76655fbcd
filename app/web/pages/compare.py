"""Runs side by side. The address holds everything that was chosen, so it can be shared."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.bench.events import Row
from app.bench.runs import Run
from app.bench.store import RunStore
from app.core.errors import NotFound
from app.core.i18n import Language, Text
from app.hardware.presets import presets
from app.web import bench_view, compare_view, render
from app.web.language import language_of
from app.web.profiles import run_store
from app.web.services import services

router = APIRouter()

MAXIMUM_COMPARED = 5


@router.get("/bench/compare")
def compare(
    request: Request,
    runs: Annotated[list[str] | None, Query()] = None,
    operation: str = "all_reduce",
    datasheet: str = "",
) -> Response:
    """Several runs side by side: bus bandwidth and time by size for one operation."""
    store = run_store(services(request))
    ids = _ids(runs or [])
    found, gone = _found(store, ids[:MAXIMUM_COMPARED])
    measured = list(dict.fromkeys(row.operation for _, rows in found for row in rows))
    chosen = operation if operation in measured or not measured else measured[0]
    tables = [(run, {row.size_bytes: row for row in rows if row.operation == chosen}) for run, rows in found]
    sheet = presets().get(datasheet)
    groups = [(_name(run, language_of(request)), list(rows.values())) for run, rows in tables if rows]
    return render.page(
        request,
        "bench/compare.html",
        block="comparison",
        tables=tables,
        sizes=sorted({size for _, rows in tables for size in rows}),
        operation=chosen,
        operations=measured,
        datasheet=sheet,
        datasheets=presets(),
        left_out=max(0, len(ids) - MAXIMUM_COMPARED),
        gone=gone,
        chart=compare_view.chart(groups, datasheet=sheet, language=language_of(request)) if groups else None,
        view=bench_view,
    )


def _ids(texts: list[str]) -> list[int]:
    """The run ids of `runs=1,2` and of `runs=1&runs=2`."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    return list(dict.fromkeys(int(part) for part in parts if part.isdecimal() and len(part) <= 9))


def _found(store: RunStore, ids: list[int]) -> tuple[list[tuple[Run, tuple[Row, ...]]], list[int]]:
    """The runs with their rows, and the ids of those that are no longer there."""
    found, gone = [], []
    for run_id in ids:
        try:
            found.append((store.get(run_id), store.rows(run_id)))
        except NotFound:
            gone.append(run_id)
    return found, gone


def _name(run: Run, language: Language) -> str:
    return Text(f"Run {run.id}", f"运行 {run.id}")[language]
