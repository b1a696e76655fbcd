"""The Bench: choose a run and see its command, start it, watch it, read its results.

Handlers only write and read rows; the runner is a process of its own (`app/bench/runner.py`), which is summoned when a run
waits. A watched page asks each second; the answer to the last question has status 286, on which htmx stops asking. Without
JavaScript the page reloads itself.
"""

import dataclasses
import shutil
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi import Form as FormField
from starlette.responses import JSONResponse, RedirectResponse, Response

from app.bench import catalog
from app.bench.diagnosis.model import INSTALL_TORCH
from app.bench.formats import csv_export, json_export, nccl_json, nccl_text
from app.bench.home import run_folder
from app.bench.launchers import local
from app.bench.runner import has_torch, summon
from app.bench.runs import Run
from app.core.errors import Conflict, NotFound, Unavailable
from app.core.i18n import Text
from app.hardware.fit import fit_rows
from app.web import bench_form, bench_view, render
from app.web.bench_form import Form
from app.web.language import language_of
from app.web.owner import is_owner, require_owner
from app.web.profiles import run_store
from app.web.services import services

router = APIRouter()

STOP_POLLING = 286
MAXIMUM_WAITING = 20

RunId = Annotated[int, Path(ge=1, le=2**31 - 1)]
Operations = Annotated[list[str] | None, Query(alias="operation")]


@router.get("/bench")
def index(
    request: Request,
    operation: Operations = None,
    preset: str = "quick",
    ranks: str = str(catalog.DEFAULT_RANKS),
    backend: str = "auto",
) -> Response:
    """The form with the command it stands for, and all runs."""
    chosen = list(catalog.DEFAULT_OPERATIONS) if operation is None else _named(operation)
    form = bench_form.read(preset=preset, ranks=ranks, operations=chosen, backend=backend)
    return _index(request, form, status=422 if form.problems and render.is_fragment(request) else 200)


@router.post("/bench/runs")
def start(
    request: Request,
    operation: Annotated[list[str] | None, FormField()] = None,
    preset: Annotated[str, FormField()] = "",
    ranks: Annotated[str, FormField()] = "",
    backend: Annotated[str, FormField()] = "auto",
) -> Response:
    """A new run waits for the runner; the answer leads to its page."""
    require_owner(request)
    form = bench_form.read(preset=preset, ranks=ranks, operations=_named(operation or []), backend=backend)
    if form.spec is None:
        return _index(request, form, status=422)
    if not has_torch():
        raise Unavailable(Text("PyTorch is not installed here.", "本机没有安装 PyTorch。"), remedy=INSTALL_TORCH)
    store = run_store(services(request))
    if sum(run.is_active for run in store.newest(limit=MAXIMUM_WAITING + 1)) > MAXIMUM_WAITING:
        raise Conflict(
            Text("Too many runs are waiting.", "排队的运行太多了。"),
            remedy=Text("Wait for some to end, or cancel them.", "请等一些结束，或取消它们。"),
        )
    run_id = store.enqueue(form.spec, node=local.launcher.slug, now=services(request).clock())
    _summon(request)
    return RedirectResponse(f"/bench/runs/{run_id}", 303)


@router.get("/bench/runs")
def start_again(request: Request) -> Response:
    """A refused form stands at this address; reloaded, or in the other language, it is the Bench."""
    return RedirectResponse(f"/bench?{request.url.query}" if request.url.query else "/bench", 303)


@router.get("/bench/runs/{run_id}")
def show(request: Request, run_id: RunId) -> Response:
    """One run, while it goes and when it is over."""
    store = run_store(services(request))
    run = store.get(run_id)
    if run.is_active:
        _summon(request)
    rows = store.rows(run_id)
    fits = {} if run.is_active else fit_rows(rows)
    response = render.page(
        request,
        "bench/run.html",
        block="run",
        run=run,
        rows=rows,
        groups=bench_view.by_operation(rows),
        fits=fits,
        told=bench_view.told(run),
        chart=bench_view.run_chart(rows, fits, language=language_of(request)) if rows else None,
        preset=catalog.PRESETS.get(run.spec.preset),
        labels=catalog.LABELS,
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
    _summon(request)
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
    """The result as a file: `nccl-tests.txt`, `nccl-tests.json`, `result.json`, `rows.csv`.

    The JSON of nccl-tests has a document a line, one for each operation; with `operation` only that, as its own program writes it.
    """
    store = run_store(services(request))
    run, result = store.get(run_id), store.result(run_id)
    match name:
        case "nccl-tests.txt":
            response: Response = Response(nccl_text.document(result), media_type="text/plain; charset=utf-8")
        case "nccl-tests.json":
            kept = tuple(row for row in result.rows if operation in ("", row.operation))
            result = dataclasses.replace(result, rows=kept)
            text = nccl_json.document(result, began=run.started_at, ended=run.ended_at)
            response = Response(text, media_type="application/json")
        case "result.json":
            fits = {operation: fit.to_json() for operation, fit in fit_rows(result.rows).items()}
            response = JSONResponse(json_export.document(result, fits=fits))
        case "rows.csv":
            response = Response(csv_export.document(result), media_type="text/csv; charset=utf-8")
        case _:
            raise NotFound(
                Text(f"A run has no file {name!r}.", f"运行没有 {name!r} 这个文件。"),
                remedy=Text("The page of the run lists its downloads.", "运行的页面上列出了可下载的文件。"),
            )
    stem, _, extension = name.partition(".")
    response.headers["Content-Disposition"] = f'attachment; filename="ringside-run-{run_id}-{stem}.{extension}"'
    return response


@router.get("/api/bench/runs")
def runs_json(request: Request) -> list[dict[str, Any]]:
    """The newest runs."""
    return [_summary(run) for run in run_store(services(request)).newest()]


@router.get("/api/bench/runs/{run_id}")
def run_json(request: Request, run_id: RunId) -> dict[str, Any]:
    """One run with its rows, fits and environment."""
    store = run_store(services(request))
    run = store.get(run_id)
    rows = store.rows(run_id)
    fits = {operation: fit.to_json() for operation, fit in fit_rows(rows).items()}
    return {**_summary(run), **json_export.document(run.result(rows), fits=fits)}


def _index(request: Request, form: Form, *, status: int) -> Response:
    settings = services(request).settings
    command = None
    if form.spec is not None:
        command = str(local.node.commands(form.spec, run_folder(settings.data, 0).with_name("<id>")))
    return render.page(
        request,
        "bench/index.html",
        block="plan",
        status=status,
        form=form,
        command=command,
        presets=catalog.PRESETS,
        operations=catalog.OPERATIONS,
        backends=bench_form.BACKENDS,
        maximum_ranks=bench_form.MAXIMUM_RANKS,
        node=local.launcher,
        has_torch=has_torch(),
        install=INSTALL_TORCH,
        is_owner=is_owner(request),
        runs=run_store(services(request)).newest(),
        view=bench_view,
    )


def _named(operations: list[str]) -> list[str]:
    """Without the blank one that the form always sends, so that none chosen differs from none asked for."""
    return [operation for operation in operations if operation]


def _summon(request: Request) -> None:
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
