"""The timelines: the list, one with its form, its figure alone, the picture as a file, the JSON answer.

`/timelines/<slug>?…` answers the whole page, or to htmx what has changed: the figure and the messages at the
fields. A wrong value keeps the last good figure. Study pages put a timeline into their text with `figure`.
"""

from typing import Any

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, JSONResponse, Response

from app.core.errors import InvalidInput
from app.core.i18n import Text
from app.core.inputs import describe
from app.timelines import catalog, svg
from app.timelines.catalog import PROFILE
from app.timelines.scenario import Scenario
from app.web import render, timeline_figure, timeline_view
from app.web.language import language_of
from app.web.profiles import last_measured, profiles
from app.web.services import services
from app.web.timeline_figure import figure
from app.web.timeline_query import COMPARE, Query, address, canonical, fillable, find, read

__all__ = ["figure", "router"]

router = APIRouter()


@router.get("/timelines")
def index(request: Request) -> Response:
    """Every timeline with a small picture."""
    entries = []
    for scenario in catalog.scenarios():
        run = catalog.run(scenario.slug, {})
        picture = Markup(svg.thumbnail(run, embed_id=f"thumb-{scenario.slug}"))  # noqa: S704 - drawn by us
        entries.append((scenario, run, picture))
    measured = last_measured(services(request))
    return render.page(request, "timelines/index.html", entries=entries, measured=measured)


@router.get("/timelines/{slug}")
def show(request: Request, slug: str) -> Response:
    """One timeline: the form and the figure."""
    scenario = find(slug)
    query = read(request, scenario)
    problems: dict[str, Text] = {}
    runs: tuple[catalog.Run, ...] = ()
    try:
        runs = timeline_figure.run(request, slug, query)
    except InvalidInput as error:
        problems = _placed(request, scenario, query, error)
    context = _context(request, scenario, query, runs=runs, problems=problems)
    changed = request.headers.get("HX-Trigger-Name") == PROFILE
    block = "workbench" if changed else "live"
    status = 422 if problems and not changed else 200
    response = render.page(request, "timelines/show.html", block=block, status=status, **context)
    if render.is_fragment(request):
        if problems and not changed:
            response.headers["HX-Reswap"] = "none"
        else:
            response.headers["HX-Replace-Url"] = address(slug, canonical(scenario, query))
    return response


@router.get("/timelines/{slug}/figure")
def figure_alone(request: Request, slug: str) -> Response:
    """The picture of a figure without its tools, for another zoom; on its own page the address takes the zoom over."""
    scenario = find(slug)
    query = read(request, scenario)
    runs = timeline_figure.run(request, slug, query)
    response = HTMLResponse(timeline_figure.html(request, runs, query, block="stage"))
    if not query.embed:
        response.headers["HX-Replace-Url"] = address(slug, canonical(scenario, query))
    return response


@router.get("/timelines/{slug}/figure.svg")
def picture(request: Request, slug: str) -> Response:
    """The picture as a file to save."""
    scenario = find(slug)
    body = timeline_figure.svg_file(request, slug, read(request, scenario))
    disposition = {"Content-Disposition": f'attachment; filename="{slug}.svg"'}
    return Response(body, media_type="image/svg+xml", headers=disposition)


@router.get("/api/timelines")
def api_index(request: Request) -> Response:
    """The timelines and their inputs."""
    language = language_of(request)
    return JSONResponse(
        [
            {
                "scenario": scenario.slug,
                "title": scenario.title[language],
                "inputs": [
                    {"name": doc.name, "kind": doc.kind, "default": doc.default, "unit": doc.unit}
                    for doc in describe(scenario.inputs)
                ],
            }
            for scenario in catalog.scenarios()
        ]
    )


@router.get("/api/timelines/{slug}")
def api(request: Request, slug: str) -> Response:
    """The run as JSON: inputs, summary, operations with what each does in the reader's language."""
    scenario = find(slug)
    query = read(request, scenario)
    run = timeline_figure.run(request, slug, Query(raw=query.raw))[0]
    return JSONResponse(run.to_json(language_of(request)))


def _placed(request: Request, scenario: Scenario, query: Query, error: InvalidInput) -> dict[str, Text]:
    """The messages by the name of the field in the form: those of the second schedule carry its prefix."""
    if not query.compare:
        return error.fields
    try:
        timeline_figure.run(request, scenario.slug, Query(raw=query.raw))
    except InvalidInput:
        return error.fields
    return {COMPARE + name: text for name, text in error.fields.items()}


def _context(
    request: Request,
    scenario: Scenario,
    query: Query,
    *,
    runs: tuple[catalog.Run, ...],
    problems: dict[str, Text],
) -> dict[str, Any]:
    chosen = query.raw.get(PROFILE, "")
    known = profiles(services(request)) if scenario.filling else {}
    measured = last_measured(services(request)) if scenario.filling else None
    docs = describe(scenario.inputs)
    fills = fillable(scenario)
    shape = describe(scenario.filling.shape) if scenario.filling and chosen else ()
    return {
        "scenario": scenario,
        "query": query,
        "figure": timeline_figure.html(request, runs, query) if runs else None,
        "problems": problems,
        "loose": {
            name: text
            for name, text in problems.items()
            if name not in {doc.name for doc in (*docs, *shape)} | {COMPARE + doc.name for doc in docs} | {PROFILE}
        },
        "durations": [doc for doc in docs if doc.name in fills or doc.unit == "ms"],
        "others": [doc for doc in docs if doc.name not in fills and doc.unit != "ms"],
        "shape": shape,
        "fills": fills,
        "profiles": known,
        "chosen": chosen,
        "measured": measured,
        "filled": dict(runs[0].filled) if runs else {},
        "effective": _effective(runs),
        "comparisons": _comparisons(scenario, query),
        "basis": timeline_view.BASIS,
        "compare_prefix": COMPARE,
    }


def _effective(runs: tuple[catalog.Run, ...]) -> dict[str, str]:
    """The values that were drawn, shape included, as text."""
    if not runs:
        return {}
    shape = runs[0].shape
    dimensions = {name: f"{getattr(shape, name):g}" for name in type(shape).model_fields} if shape else {}
    return {**dimensions, **runs[0].values()}


def _comparisons(scenario: Scenario, query: Query) -> list[tuple[Text, str, bool]]:
    """(title, address, whether it is drawn) of each prepared comparison."""
    found = []
    for comparison in scenario.comparisons:
        drawn = dict(query.compare) == dict(comparison.inputs)
        other = Query(raw=query.raw, compare={} if drawn else comparison.inputs, zoom=query.zoom)
        found.append((comparison.title, address(scenario.slug, canonical(scenario, other)), drawn))
    return found
