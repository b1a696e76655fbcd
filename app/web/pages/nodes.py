"""The nodes benchmarks may run on: listed, attached, tested and removed.

A test asks in the background for at most half a minute; its page looks every second until the answer is kept. Strangers see that a
node is there and whether it is ready, not how it is reached.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from app.bench.launchers.model import Launcher, Node
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.i18n import Text
from app.web import node_view, render
from app.web.node_view import AddForm
from app.web.owner import is_owner, require_owner
from app.web.services import services

router = APIRouter()

STOP_POLLING = 286
MAXIMUM_FIELDS = 100


async def _sent(request: Request) -> FormData:
    """The fields of the form that was sent; each launcher has its own."""
    return await request.form(max_fields=MAXIMUM_FIELDS, max_files=0)


@router.get("/bench/nodes")
def index(request: Request, launcher: Annotated[str, Query()] = "") -> Response:
    """All nodes, and the form that adds one of the chosen launcher."""
    return _index(request, node_view.blank(_launcher(launcher)))


@router.post("/bench/nodes")
def add(request: Request, sent: Annotated[FormData, Depends(_sent)]) -> Response:
    """A new node stands in `nodes.toml`; the answer leads to its page, where it can be tested."""
    require_owner(request)
    texts = {name: str(sent.getlist(name)[-1]) for name in sent}
    form, node = node_view.filled(
        _launcher(texts.pop("launcher", "")), texts.pop("name", ""), {k: v for k, v in texts.items() if k != "lang"}
    )
    if node is None:
        return _index(request, form, status=422)
    try:
        node_view.node_file(services(request)).add(node)
    except Conflict as error:
        remedy = error.remedy or error.message
        problem = Text(f"{error.message.en} {remedy.en}", f"{error.message.zh}{remedy.zh}")
        return _index(request, AddForm(form.launcher, form.name, problem, form.fields), status=409)
    return RedirectResponse(f"/bench/nodes/{node.name}", 303)


@router.get("/bench/nodes/{name}")
def show(request: Request, name: str) -> Response:
    """One node: its settings, and what it answered last."""
    node = _node(request, name)
    view = node_view.view(services(request), node)
    owns = is_owner(request)
    response = render.page(
        request,
        "bench/node.html",
        block="node",
        view=view,
        section=_section(request, name) if owns and view.is_removable else "",
        told=node_view.told(view.checkup) if view.checkup and owns else [],
        is_owner=owns,
    )
    if render.is_fragment(request) and not view.is_asking:
        response.status_code = STOP_POLLING
    return response


@router.post("/bench/nodes/{name}/test")
def test(request: Request, name: str) -> Response:
    """Its hosts are asked in the background; somebody else's question will do."""
    require_owner(request)
    node = _node(request, name)
    node_view.checkups(services(request)).begin(node, clock=services(request).clock)
    return RedirectResponse(f"/bench/nodes/{name}", 303)


@router.post("/bench/nodes/{name}/remove")
def remove(request: Request, name: str) -> Response:
    """Its section is taken out of `nodes.toml`, right or wrong; the runs that were made on it stay."""
    require_owner(request)
    node_view.node_file(services(request)).remove(name)
    node_view.checkups(services(request)).forget(name)
    return RedirectResponse("/bench/nodes", 303)


def _index(request: Request, form: AddForm, *, status: int = 200) -> Response:
    nodes, broken = node_view.node_file(services(request)).read()
    return render.page(
        request,
        "bench/nodes.html",
        block="add",
        status=status,
        nodes=[node_view.view(services(request), node) for node in nodes.values()],
        broken=broken,
        launchers=node_view.attachable(),
        form=form,
        path_of_file=str(node_view.node_file(services(request)).path),
        is_owner=is_owner(request),
    )


def _launcher(slug: str) -> Launcher:
    """The launcher of that name, or the first that leads elsewhere."""
    known = node_view.attachable()
    return known.get(slug) or next(iter(known.values()))


def _node(request: Request, name: str) -> Node:
    """Raises NotFound, also for a section that is wrong: the list says why."""
    try:
        return node_view.node_file(services(request)).get(name)
    except InvalidInput as error:
        raise NotFound(
            Text(f"The section of {name} in nodes.toml is wrong.", f"nodes.toml 中 {name} 的配置有误。"),
            remedy=Text("The list of nodes says why.", "节点列表中写明了原因。"),
        ) from error


def _section(request: Request, name: str) -> str:
    return node_view.node_file(services(request)).section(name)
