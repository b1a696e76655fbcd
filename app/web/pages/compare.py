"""Runs side by side, with a datasheet and with what others posted. The address holds everything that was chosen, so it can be shared."""

from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.bench.formats import compare_csv
from app.bench.result import RunResult
from app.bench.runs import Run
from app.bench.store import RunStore
from app.core.errors import NotFound
from app.hardware.presets import presets
from app.web import bench_view, compare_chart, compare_posted, compare_view, render
from app.web.language import language_of
from app.web.profiles import run_store
from app.web.services import services

router = APIRouter()

MAXIMUM_COMPARED = 5
MAXIMUM_OFFERED = 50

Runs = Annotated[list[str] | None, Query()]


@router.get("/bench/compare")
def compare(
    request: Request, runs: Runs = None, operation: str = "all_reduce", datasheet: str = "", published: str = ""
) -> Response:
    """All operations at a glance, one of them size by size, what differs, and what others posted.

    The first of `runs` is what the others are held against. `published` is a system, `none`, or blank for the runs' own GPU.
    """
    store, language = run_store(services(request)), language_of(request)
    ids = _ids(runs or [])
    found, gone = _found(store, ids[:MAXIMUM_COMPARED])
    sides = [compare_view.of_run(run, result) for run, result in found]
    measured = compare_view.operations(sides)
    chosen = operation if operation in measured or not measured else measured[0]
    sheet = presets().get(datasheet)
    posted = compare_posted.posted(published, sides, chosen)
    band = posted.comparable if posted else ()

    def address(keys: Iterable[str], *, of: str = chosen) -> str:
        return _address(keys, operation=of, datasheet=sheet.key if sheet else "", published=published)

    keys = [side.key for side in sides]
    return render.page(
        request,
        "bench/compare.html",
        block="comparison",
        sides=sides,
        operation=chosen,
        operations=measured,
        lines=compare_view.sweep_lines(sides, chosen),
        latency_lines=compare_view.latency_lines(sides, chosen),
        glances=compare_view.glances(sides),
        differences=compare_view.differences(sides, chosen),
        overlapped=list(dict.fromkeys(name for side in sides for name in side.overlaps)),
        offered=[run for run in store.newest(limit=MAXIMUM_OFFERED) if run.rows and run.id not in ids],
        datasheet=sheet,
        datasheets=presets(),
        published=published,
        systems=compare_posted.systems(),
        posted=posted,
        is_full=len(sides) >= MAXIMUM_COMPARED,
        left_out=max(0, len(ids) - MAXIMUM_COMPARED),
        gone=gone,
        address=address,
        keys=keys,
        csv_address=f"/bench/compare.csv?{urlencode({'runs': ','.join(keys)})}",
        chart=compare_chart.chart(sides, chosen, datasheet=sheet, posted=band, language=language) if measured else None,
        view=bench_view,
    )


@router.get("/bench/compare.csv")
def as_csv(request: Request, runs: Runs = None) -> Response:
    """All rows of the chosen runs, one after another."""
    ids = _ids(runs or [])[:MAXIMUM_COMPARED]
    found, _ = _found(run_store(services(request)), ids)
    response = Response(compare_csv.document((str(run.id), result) for run, result in found), media_type="text/csv")
    name = "-".join(str(run.id) for run, _ in found) or "none"
    response.headers["Content-Disposition"] = f'attachment; filename="ringside-runs-{name}.csv"'
    return response


def _ids(texts: list[str]) -> list[int]:
    """The run ids of `runs=1,2` and of `runs=1&runs=2`."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    return list(dict.fromkeys(int(part) for part in parts if part.isdecimal() and len(part) <= 9))


def _found(store: RunStore, ids: list[int]) -> tuple[list[tuple[Run, RunResult]], list[int]]:
    """The runs with what they brought, and the ids of those that are no longer there."""
    found, gone = [], []
    for run_id in ids:
        try:
            found.append((store.get(run_id), store.result(run_id)))
        except NotFound:
            gone.append(run_id)
    return found, gone


def _address(keys: Iterable[str], **chosen: str) -> str:
    """The address of a comparison, without what is blank; the commas stay readable."""
    query = {"runs": ",".join(keys), **{name: value for name, value in chosen.items() if value}}
    return f"/bench/compare?{urlencode(query, safe=',')}"
