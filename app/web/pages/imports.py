"""Imported logs: read one to see what it holds, keep it, confirm what it is about, take it along, delete it.

Reading a log costs the server work and keeping one changes what everybody sees, so both are the owner's; anybody may look.
"""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi import Form as FormField
from starlette.responses import RedirectResponse, Response

from app.bench.formats import imported as files
from app.bench.imports import Confirmed, Draft, KeptImport
from app.core.errors import InvalidInput, NotFound
from app.core.i18n import Text
from app.hardware.collective import OPERATIONS
from app.hardware.imported import contradiction
from app.web import bench_view, import_form, import_view, import_words, profiles, render
from app.web.import_form import Form, Sent
from app.web.language import language_of
from app.web.owner import is_owner, require_owner
from app.web.profiles import import_store
from app.web.services import services

router = APIRouter()

MAXIMUM_RANKS = 1_000_000

ImportId = Annotated[int, Path(ge=1, le=2**31 - 1)]
Number = Annotated[int, Path(ge=1, le=1_000_000)]


async def _sent(request: Request) -> Sent:
    require_owner(request)
    return await import_form.read(request)


@router.get("/bench/import")
def blank(request: Request) -> Response:
    """The empty form."""
    return _form(request, Form(), None)


@router.post("/bench/import")
def send(request: Request, sent: Annotated[Sent, Depends(_sent)]) -> Response:
    """What the log holds; with `action=keep` it is kept, and the answer leads to its page."""
    form, draft = import_form.draft_of(sent)
    if draft is None:
        return _form(request, form, None, status=422)
    if not sent.keeps:
        return _form(request, form, draft)
    try:
        import_id, is_new = import_store(services(request)).keep(draft, now=services(request).clock())
    except InvalidInput as error:
        return _form(request, replace(form, problem=next(iter(error.fields.values()))), draft, status=422)
    return RedirectResponse(f"/bench/imports/{import_id}{'' if is_new else '?known=1'}", 303)


@router.get("/bench/imports")
def index() -> Response:
    """The list stands on the Bench."""
    return RedirectResponse("/bench#imports", 303)


@router.get("/bench/imports/{import_id}")
def show(request: Request, import_id: ImportId, known: str = "") -> Response:
    """One log."""
    return _show(request, import_store(services(request)).get(import_id), is_known=known == "1")


@router.post("/bench/imports/{import_id}/runs/{number}/confirm")
def confirm(
    request: Request,
    import_id: ImportId,
    number: Number,
    *,
    operation: Annotated[str, FormField()] = "",
    ranks: Annotated[str, FormField()] = "",
    action: Annotated[str, FormField()] = "",
) -> Response:
    """A person vouches for operation and ranks of a run, or takes that back."""
    require_owner(request)
    store = import_store(services(request))
    confirmed: Confirmed | None = None
    if action != "withdraw":
        kept = store.get(import_id)
        entry = next((entry for entry in kept.runs if entry.number == number), None)
        if entry is None:
            raise _no_run()
        confirmed, problems = _confirmed(operation, ranks)
        if confirmed is not None and (clash := contradiction(entry.read, confirmed.operation, confirmed.ranks)):
            problems = {"ranks": clash}
        if confirmed is None or problems:
            typed = {"operation": operation, "ranks": ranks[:20]}
            return _show(request, kept, status=422, refused=number, typed=typed, problems=problems)
    store.confirm(import_id, number, confirmed)
    return RedirectResponse(f"/bench/imports/{import_id}#run-{number}", 303)


@router.get("/bench/imports/{import_id}/runs/{number}/confirm")
def confirm_again(import_id: ImportId, number: Number) -> Response:
    """A refused confirmation stands at this address; reloaded, or in the other language, it is the log's page."""
    return RedirectResponse(f"/bench/imports/{import_id}#run-{number}", 303)


@router.post("/bench/imports/{import_id}/delete")
def delete(request: Request, import_id: ImportId) -> Response:
    """The log is forgotten, and its profiles with it."""
    require_owner(request)
    import_store(services(request)).delete(import_id)
    return RedirectResponse("/bench#imports", 303)


@router.get("/bench/imports/{import_id}/{number}/{name}")
def download(request: Request, import_id: ImportId, number: Number, name: str) -> Response:
    """A run of the log as `rows.csv`, or as `nccl-tests.txt` where its rows allow it."""
    kept = import_store(services(request)).get(import_id)
    run = next((entry.run for entry in kept.runs if entry.number == number), None)
    if run is None:
        raise _no_run()
    if name == "rows.csv":
        content, media_type = files.csv(run), "text/csv; charset=utf-8"
    elif name == "nccl-tests.txt" and files.has_text(run):
        content, media_type = files.text(run, name=kept.name), "text/plain; charset=utf-8"
    else:
        raise NotFound(
            Text(f"This run has no file {name!r}.", f"这次运行没有 {name!r} 这个文件。"),
            remedy=Text("The page of the import lists its downloads.", "导入的页面上列出了可下载的文件。"),
        )
    stem, _, extension = name.partition(".")
    disposition = f'attachment; filename="ringside-import-{import_id}-{number}-{stem}.{extension}"'
    return Response(content, media_type=media_type, headers={"Content-Disposition": disposition})


@router.get("/api/bench/imports")
def imports_json(request: Request) -> list[dict[str, Any]]:
    """The newest logs."""
    return [
        {"id": entry.id, "name": entry.name, "tool": entry.tool, "created_at": entry.created_at.isoformat()}
        for entry in import_store(services(request)).newest()
    ]


@router.get("/api/bench/imports/{import_id}")
def import_json(request: Request, import_id: ImportId) -> dict[str, Any]:
    """What `ringside import log --json` prints of it, and what each run may be used for."""
    return dict(import_view.to_json(import_store(services(request)).get(import_id)))


def _form(request: Request, form: Form, draft: Draft | None, *, status: int = 200) -> Response:
    runs = import_view.previews(draft) if draft else ()
    return render.page(
        request,
        "bench/import.html",
        block="preview",
        status=status,
        form=form,
        draft=draft,
        chart=import_view.chart(runs, language=language_of(request)),
        is_owner=is_owner(request),
        **_common(runs),
    )


def _show(
    request: Request,
    kept: KeptImport,
    *,
    status: int = 200,
    is_known: bool = False,
    refused: int = 0,
    typed: dict[str, str] | None = None,
    problems: dict[str, Text] | None = None,
) -> Response:
    runs = import_view.views(kept.runs)
    return render.page(
        request,
        "bench/imported.html",
        status=status,
        kept=kept,
        is_known=is_known,
        profiles=profiles.runs_of_log(kept),
        operations={name: bench_view.operation_title(name) for name in OPERATIONS},
        refused=refused,
        typed=typed or {},
        problems=problems or {},
        chart=import_view.chart(runs, language=language_of(request)),
        address=str(request.base_url.replace(path=f"/bench/imports/{kept.id}", query="")),
        is_owner=is_owner(request),
        **_common(runs),
    )


def _common(runs: tuple[import_view.RunView, ...]) -> dict[str, Any]:
    return {
        "runs": runs,
        "listed": runs[: import_view.MAXIMUM_LISTED],
        "detailed": runs[: import_view.MAXIMUM_RUNS],
        "maximum_badges": import_view.MAXIMUM_BADGES,
        "maximum_rows": import_view.MAXIMUM_ROWS,
        "words": import_words,
        "view": bench_view,
    }


def _confirmed(operation: str, ranks: str) -> tuple[Confirmed | None, dict[str, Text]]:
    problems: dict[str, Text] = {}
    if operation not in OPERATIONS:
        problems["operation"] = Text("Choose the operation that was measured.", "请选择测的是哪种操作。")
    text = ranks.strip()
    count = int(text) if text.isascii() and text.isdigit() and len(text) <= 7 else 0
    if not 2 <= count <= MAXIMUM_RANKS:
        problems["ranks"] = Text("A whole number of ranks, at least 2.", "rank 数应为整数，至少为 2。")
    return (None, problems) if problems else (Confirmed(operation, count), {})


def _no_run() -> NotFound:
    return NotFound(
        Text("This import has no such run.", "这个导入里没有这次运行。"),
        remedy=Text("Its page lists all of them.", "它的页面列出了全部运行。"),
    )
