"""The calculators: their list, a page each, the compact panel for study pages, and the JSON API.

A page's state is its query. htmx asks for the same address and gets the regions that change; a wrong input
answers 422 with a message at its field, and the results of before stay, dimmed.
"""

import re
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import JSONResponse, RedirectResponse, Response

from app.calculators import catalog
from app.calculators.model import Calculator
from app.calculators.shapes import SHAPES
from app.core.errors import NotFound
from app.core.i18n import Text
from app.core.inputs import Inputs, describe, to_query
from app.web import calculator_view, profiles, render
from app.web.calculator_view import View
from app.web.language import language_of
from app.web.services import Services, services

router = APIRouter()

EMBED_ID = re.compile(r"[A-Za-z][\w-]{0,63}")


@router.get("/calculators")
def index(request: Request) -> Response:
    """Every calculator with its question and an example computed now."""
    views = [calculator_view.build(slug, {}, with_sweep=False) for slug in catalog.calculators()]
    return render.page(request, "calculators/index.html", views=views)


@router.get("/calculators/{slug}")
def show(request: Request, slug: str) -> Response:
    """One calculator for the state in the query."""
    query = dict(request.query_params)
    calculator = catalog.calculator(slug)
    if "profile" in query or "model" in query:
        return _filled(request, calculator, query)
    embed = query.get("embed", "")
    if render.is_fragment(request) and EMBED_ID.fullmatch(embed):
        view = calculator_view.build(slug, query, view_id=embed, with_sweep=False)
        return _update(request, view, "calculators/panel.html", replace_url=False)
    view = calculator_view.build(slug, query)
    if render.is_fragment(request):
        return _update(request, view, "calculators/show.html", replace_url=True)
    return _page(request, view)


@router.get("/api/calculators")
def api_index(request: Request) -> JSONResponse:
    """The calculators with their inputs and the results they give."""
    language = language_of(request)
    return JSONResponse(
        {
            "calculators": [
                {
                    "calculator": entry.slug,
                    "title": entry.title[language],
                    "question": entry.question[language],
                    "inputs": [
                        {
                            "name": doc.name,
                            "title": doc.title[language],
                            "help": doc.help[language],
                            "unit": doc.unit,
                            "default": doc.default,
                            "minimum": doc.minimum,
                            "maximum": doc.maximum,
                            "choices": [name for name, _ in doc.choices],
                        }
                        for doc in describe(entry.inputs)
                    ],
                }
                for entry in catalog.calculators().values()
            ]
        }
    )


@router.get("/api/calculators/{slug}")
def api_show(request: Request, slug: str) -> JSONResponse:
    """One computation as JSON. Bad inputs answer 422 with one message per field."""
    language = language_of(request)
    raw = {name: value for name, value in request.query_params.items() if name != "lang"}
    inputs, outcome = catalog.run(slug, raw)
    return JSONResponse(
        {
            "calculator": slug,
            "inputs": {name: _plain(getattr(inputs, name)) for name in type(inputs).model_fields},
            "results": {
                name: {
                    "title": result.title[language],
                    "value": _plain(result.value),
                    "unit": result.unit,
                    "formula": result.formula,
                    "substituted": result.substituted,
                    "source": result.source,
                }
                for name, result in outcome.results.items()
            },
            "steps": [
                {
                    "title": step.title[language],
                    "formula": step.formula,
                    "substituted": step.substituted,
                    "why": step.why[language] if step.why else None,
                    "result": step.result,
                }
                for step in outcome.steps
            ],
            "assumptions": [text[language] for text in outcome.assumptions],
            "warnings": [text[language] for text in outcome.warnings],
            "wrong_answers": [
                {
                    "result": wrong.result,
                    "title": wrong.title[language],
                    "value": _plain(wrong.value),
                    "unit": wrong.unit,
                    "why": wrong.why[language],
                }
                for wrong in outcome.wrong_answers
            ],
        }
    )


def panel(request: Request, slug: str, raw: Mapping[str, str], *, embed_id: str, caption: str = "") -> Markup:
    """The compact live panel for a study page: form, results, and a link to the full calculator.

    The inputs in `raw` stand in front, the others behind a disclosure. A wrong input or an unknown slug shows as a
    message in the panel's place, never as an error of the page. `embed_id` begins every id in it.
    """
    view_id = embed_id if EMBED_ID.fullmatch(embed_id) else "calculator-" + re.sub(r"\W", "-", embed_id)
    try:
        view = calculator_view.build(slug, raw, view_id=view_id, prominent=frozenset(raw) or None, with_sweep=False)
    except NotFound as error:
        return Markup('<p class="notice" data-kind="error">{}</p>').format(error.message[language_of(request)])
    html = render.text(request, "calculators/panel.html", view=view, caption=caption)
    return Markup(html)  # noqa: S704 - the template escapes


def _page(request: Request, view: View, *, block: str | None = None) -> Response:
    status = 422 if view.errors else 200
    return render.page(request, "calculators/show.html", block=block, status=status, **_context(request, view))


def _update(request: Request, view: View, template: str, *, replace_url: bool) -> Response:
    """The regions that change. With a wrong input only the messages are sent, beside what stands there."""
    context = _context(request, view) if replace_url else {"view": view, "caption": ""}
    if view.errors:
        response = render.page(request, template, block="errors", status=422, **context)
        response.headers["HX-Reswap"] = "none"
        return response
    response = render.page(request, template, block="update", **context)
    if replace_url:
        response.headers["HX-Replace-Url"] = view.address
    return response


def _context(request: Request, view: View) -> dict[str, Any]:
    language = language_of(request)
    made = services(request)
    context: dict[str, Any] = {
        "view": view,
        "shapes": SHAPES if view.calculator.from_shape else (),
        "profiles": tuple(profiles.profiles(made).values()) if view.calculator.from_profile else (),
        "questions": _questions(made, view.calculator),
        "chart": "",
        "markdown": "",
    }
    if view.outcome is not None:
        url = str(request.base_url).rstrip("/") + view.address
        context["chart"] = calculator_view.chart(view, language) if view.sweep else ""
        context["markdown"] = calculator_view.as_markdown(view, language, url=url)
    return context


def _questions(made: Services, calculator: Calculator) -> list[tuple[str, Text]]:
    """Address and title of the study pages that use the calculator, in the order of the library."""
    found = []
    for question in made.library.questions():
        embeds = any(embed.slug == calculator.slug for page in question.pages.values() for embed in page.embeds())
        if embeds or question.slug in calculator.questions:
            title = Text(question.page("en").title, question.page("zh").title)
            found.append((f"/study/{question.topic}/{question.slug}", title))
    return found


def _filled(request: Request, calculator: Calculator, query: Mapping[str, str]) -> Response:
    """The form with what a machine or a model settles filled in, at an address of its own."""
    inputs = calculator_view.parse_leniently(calculator, query)
    kept = {name: value for name, value in query.items() if name in {"sweep", "plot"}}
    changed = {**to_query(inputs), **_changes(services(request), calculator, inputs, query), **kept}
    view = calculator_view.build(calculator.slug, changed)
    if not render.is_fragment(request):
        return RedirectResponse(view.address, 303)
    response = _page(request, view, block="calculator")
    response.headers["HX-Retarget"] = "#calculator"
    response.headers["HX-Reswap"] = "outerHTML"
    response.headers["HX-Push-Url"] = view.address
    return response


def _changes(made: Services, calculator: Calculator, inputs: Inputs, query: Mapping[str, str]) -> dict[str, str]:
    changes: dict[str, str] = {}
    if calculator.from_shape and query.get("model"):
        shape = next((shape for shape in SHAPES if shape.key == query["model"]), None)
        if shape is None:
            raise NotFound(Text("There is no such model preset.", "没有这个模型预设。"))
        changes |= calculator.from_shape(shape)
    if calculator.from_profile and query.get("profile"):
        chosen = profiles.profile(made, query["profile"])
        if chosen is None:
            raise NotFound(Text("There is no such hardware profile.", "没有这个硬件配置。"))
        changes |= calculator.from_profile(chosen, inputs)
    return changes


def _plain(value: object) -> object:
    """A number for JSON: whole where it is whole."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
