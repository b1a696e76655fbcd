"""The page of one run: watched while it goes, read, downloaded, cancelled and deleted; and the runs as JSON.

A watched page asks each second; the answer to the last question has status 286, on which htmx stops asking. Without
JavaScript the page reloads itself.
"""

import shutil
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import RedirectResponse, Response

from app.bench import catalog
from app.bench.formats import json_export
from app.bench.home import run_folder
from app.bench.runner import summon
from app.bench.runs import Run
from app.hardware.fit import fit_rows
from app.web import bench_findings, bench_form, bench_view, node_view, render, run_files
from app.web.language import language_of
from app.web.owner import is_owner, require_owner
from app.web.profiles import run_store
from app.web.services import services

router = APIRouter()

STOP_POLLING = 286

RunId = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("/bench/runs/{run_id}")
def show(request: Request, run_id: RunId) -> Response:
    """One run, while it goes and when it is over."""
    store = run_store(services(request))
    run = store.get(run_id)
    if run.is_active:
        summon_runner(request)
    rows = store.rows(run_id)
    fits = {} if run.is_active else fit_rows(rows)
    response = render.page(
        request,
        "bench/run.html",
        block="run",
        run=run,
        node=node_view.node_file(services(request)).nodes().get(run.node),
        rows=rows,
        groups=bench_view.by_operation(rows),
        fits=fits,
        found=bench_findings.gather(store.findings(run_id)),
        findings=bench_findings,
        told=bench_view.told(run),
        phases=bench_view.PHASES,
        chart=bench_view.run_chart(rows, fits, language=language_of(request)) if rows else None,
        preset=catalog.PRESETS.get(run.spec.preset),
        labels=catalog.LABELS,
        again=bench_form.again(run),
        address=str(request.base_url.replace(path=f"/bench/runs/{run_id}", query="")),
        is_owner=is_owner(request),
        view=bench_view,
    )
    if render.is_fragment(request) and not run.is_active:
        response.status_code = STOP_POLLING
    return response


@router.post("/bench/runs/{run_id}/stop")
def stop(request: Request, run_id: RunId) -> Response:
    """The runner is asked to end the run; what was measured is kept."""
    require_owner(request)
    run_store(services(request)).request_stop(run_id, now=services(request).clock())
    summon_runner(request)
    return RedirectResponse(f"/bench/runs/{run_id}", 303)


@router.post("/bench/runs/{run_id}/delete")
def delete(request: Request, run_id: RunId) -> Response:
    """The run is gone, with its rows and its files."""
    require_owner(request)
    store = run_store(services(request))
    store.delete(run_id)
    folder = run_folder(services(request).settings.data, run_id)
    shutil.rmtree(folder, ignore_errors=True)
    return RedirectResponse("/bench", 303)


@router.get("/bench/runs/{run_id}/{name}")
def download(request: Request, run_id: RunId, name: str, operation: str = "") -> Response:
    """The result as a file, see `app/web/run_files.py`.

    The JSON of nccl-tests has a document a line, one for each operation; with `operation` only that, as its own program writes it.
    """
    store = run_store(services(request))
    file = run_files.make(name, store.get(run_id), store.result(run_id), operation=operation)
    stem, _, extension = name.partition(".")
    disposition = f'attachment; filename="ringside-run-{run_id}-{stem}.{extension}"'
    return Response(file.content, media_type=file.media_type, headers={"Content-Disposition": disposition})


@router.get("/api/bench/runs")
def runs_json(request: Request) -> list[dict[str, Any]]:
    """The newest runs."""
    return [_summary(run) for run in run_store(services(request)).newest()]


@router.get("/api/bench/runs/{run_id}")
def run_json(request: Request, run_id: RunId) -> dict[str, Any]:
    """One run with its rows, findings, fits and environment."""
    store = run_store(services(request))
    run, result = store.get(run_id), store.result(run_id)
    fits = {operation: fit.to_json() for operation, fit in fit_rows(result.rows).items()}
    return {**_summary(run), **json_export.document(result, fits=fits)}


def summon_runner(request: Request) -> None:
    """See to it that a runner lives when a run waits for one."""
    settings = services(request).settings
    if settings.runner_on_demand and run_store(services(request)).has_waiting():
        summon(data=settings.data.resolve(), database_url=settings.database, idle_seconds=settings.runner_idle_seconds)


def _summary(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "status": run.status,
        "node": run.node,
        "preset": run.spec.preset,
        "ranks": run.spec.ranks,
        "created_at": run.created_at.isoformat(),
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "ended_at": run.ended_at.isoformat() if run.ended_at else None,
        "num_rows": run.rows,
        "profile": run.profile_key if run.is_usable else None,
    }
