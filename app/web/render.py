"""Turns a template and its data into an answer: a page, or one block of it for htmx.

Every template sees `lang`, `theme`, `t(en, zh)`, `tt(text)`, `asset(name)`, `path`, `url_with(**query)` and the
macros of `ui.html` as `ui`. Undefined names are errors. The answer always varies on `HX-Request`, and a
history restore gets the whole page, so that the back button never shows a bare fragment.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from starlette.responses import HTMLResponse

from app.content.search import plain
from app.core import units
from app.core.i18n import LANGUAGES, Language, Text
from app.web.language import language_of
from app.web.theme import theme_of


class Templates:
    """The Jinja environment of the app: autoescape on, undefined names are errors."""

    def __init__(self, folder: Path, asset: Callable[[str], str]) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {
            "quantity": units.quantity_text,
            "number": units.number,
            "both_bytes": units.both_bytes,
            "binary": units.binary_bytes,
            "duration": units.duration,
            "plain": plain,
            "tt": _in_language,
        }
        self._common = {language: self._names(language, asset) for language in LANGUAGES}

    def _names(self, language: Language, asset: Callable[[str], str]) -> dict[str, Any]:
        def t(en: str, zh: str) -> str:
            return zh if language == "zh" else en

        def tt(text: Text) -> str:
            return text[language]

        names: dict[str, Any] = {"lang": language, "t": t, "tt": tt, "asset": asset}
        # A block rendered alone does not run the imports at the top of its template, so macros are a global.
        names["ui"] = self._environment.get_template("ui.html").make_module(names)
        return names

    def render(self, template: str, language: Language, values: Mapping[str, Any], block: str | None = None) -> str:
        """The HTML of a template, or of one of its blocks."""
        loaded = self._environment.get_template(template)
        names = {**self._common[language], **values}
        if block is None:
            return loaded.render(names)
        return "".join(loaded.blocks[block](loaded.new_context(names)))


@pass_context
def _in_language(context: Context, text: Text) -> str:
    """`tt` as a filter, for `map`."""
    language: Language = context["lang"]
    return text[language]


def is_fragment(request: Request) -> bool:
    """Whether htmx asks for a part of the page."""
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-History-Restore-Request") != "true"


def page(
    request: Request, template: str, *, block: str | None = None, status: int = 200, **context: Any
) -> HTMLResponse:
    """The whole `template`, or only its `block` when htmx asks for a fragment."""
    html = text(request, template, block=block if is_fragment(request) else None, **context)
    response = HTMLResponse(html, status)
    response.headers["Vary"] = "HX-Request, Cookie, Accept-Language"
    return response


def text(request: Request, template: str, *, block: str | None = None, **context: Any) -> str:
    """The HTML of a template or of one of its blocks, with the names every template sees."""
    templates: Templates = request.app.state.templates
    values = {
        "request": request,
        "path": request.url.path,
        "theme": theme_of(request),
        "url_with": _url_with(request),
        **context,
    }
    return templates.render(template, language_of(request), values, block)


def _url_with(request: Request) -> Callable[..., str]:
    """`url_with(lang="zh")` is this address with some query values changed."""

    def url_with(**changes: str) -> str:
        kept = [(name, value) for name, value in request.query_params.multi_items() if name not in changes]
        query = [*kept, *changes.items()]
        return f"{request.url.path}?{urlencode(query)}" if query else request.url.path

    return url_with
