"""The Bench: choose a run, see the command it stands for, start it; and the list of all runs.

Handlers only write and read rows; the runner is a process of its own (`app/bench/runner.py`), which is summoned when a run
waits. A run's own page stands in `runs.py`, the nodes in `nodes.py`.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi import Form as FormField
from starlette.responses import RedirectResponse, Response

from app.bench import catalog
from app.bench.choices import Choices
from app.bench.diagnosis.model import INSTALL_TORCH
from app.bench.home import run_folder
from app.bench.plan import REDUCING, ROOTED
from app.bench.runner import has_torch
from app.core.errors import Conflict, Unavailable
from app.core.i18n import Text
from app.web import bench_form, bench_view, import_words, node_view, render
from app.web.bench_form import Form
from app.web.owner import is_owner, require_owner
from app.web.pages.runs import summon_runner
from app.web.profiles import import_store, run_store
from app.web.services import services

router = APIRouter()

MAXIMUM_WAITING = 20


@router.get("/bench")
def index(request: Request, choices: Annotated[Choices, Query()]) -> Response:
    """The form with the command it stands for, and all runs."""
    form = bench_form.read(choices, node_view.node_file(services(request)).nodes())
    response = _index(request, form, status=422 if form.problems and render.is_fragment(request) else 200)
    if render.is_fragment(request) and form.spec is not None:
        # The form sends every field; the address keeps what is not as by default.
        response.headers["HX-Replace-Url"] = bench_form.address(form.spec, node=choices.node) or "/bench"
    return response


@router.post("/bench/runs")
def start(request: Request, choices: Annotated[Choices, FormField()]) -> Response:
    """A new run waits for the runner; the answer leads to its page."""
    require_owner(request)
    form = bench_form.read(choices, node_view.node_file(services(request)).nodes())
    if form.spec is None:
        return _index(request, form, status=422)
    assert form.plan.node is not None
    if form.plan.node.launcher.is_here and not has_torch():
        raise Unavailable(Text("PyTorch is not installed here.", "本机没有安装 PyTorch。"), remedy=INSTALL_TORCH)
    store = run_store(services(request))
    if sum(run.is_active for run in store.newest(limit=MAXIMUM_WAITING + 1)) > MAXIMUM_WAITING:
        raise Conflict(
            Text("Too many runs are waiting.", "排队的运行太多了。"),
            remedy=Text("Wait for some to end, or cancel them.", "请等一些结束，或取消它们。"),
        )
    run_id = store.enqueue(form.spec, node=form.plan.node.name, now=services(request).clock())
    summon_runner(request)
    return RedirectResponse(f"/bench/runs/{run_id}", 303)


@router.get("/bench/runs")
def start_again(request: Request) -> Response:
    """A refused form stands at this address; reloaded, or in the other language, it is the Bench."""
    return RedirectResponse(f"/bench?{request.url.query}" if request.url.query else "/bench", 303)


def _index(request: Request, form: Form, *, status: int) -> Response:
    settings = services(request).settings
    nodes, broken = node_view.node_file(services(request)).read()
    command = None
    if form.spec is not None and form.plan.node is not None:
        command = str(form.plan.node.commands(form.spec, run_folder(settings.data, 0).with_name("<id>")))
    needs_torch = not has_torch() and (form.plan.node is None or form.plan.node.launcher.is_here)
    return render.page(
        request,
        "bench/index.html",
        block="plan",
        status=status,
        form=form,
        command=command,
        presets=catalog.PRESETS,
        operations=catalog.OPERATIONS,
        dtypes=catalog.DTYPE_TITLES,
        redops=catalog.REDOP_TITLES,
        extras=catalog.EXTRA_TITLES,
        reducing=REDUCING,
        rooted=ROOTED,
        backends=bench_form.BACKENDS,
        titles=bench_form.TITLES,
        nodes=nodes,
        broken=broken,
        hosts_of=bench_form.hosts_of(nodes),
        needs_torch=needs_torch,
        has_torch=has_torch(),
        install=INSTALL_TORCH,
        is_owner=is_owner(request),
        runs=run_store(services(request)).newest(),
        imports=import_store(services(request)).newest(),
        tool_title=import_words.tool_title,
        view=bench_view,
    )
