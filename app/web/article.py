"""A question as HTML: its Markdown through the content renderer, its embeds through the live panels.

`Article` is what `study/question.html` calls while it draws. A panel that cannot be drawn (an input
the engine refuses, a calculator that is gone) becomes a notice in its place; the page stays.
"""

import re
from collections.abc import Iterable

from fastapi import Request
from markupsafe import Markup

from app.content.model import Embed, Page, Part, Question
from app.content.render import Renderer
from app.core.errors import AppError
from app.core.i18n import Language
from app.web import numbers, render
from app.web.language import language_of
from app.web.pages import calculators, timelines

_NAME = re.compile(r"\b[A-Za-z]+-\d+\b", re.ASCII)

RENDERER = Renderer(numbers.evaluate)


class Article:
    """One language of a question, ready to be drawn for `request`."""

    def __init__(self, request: Request, question: Question) -> None:
        self._request = request
        self.question = question
        self.language: Language = language_of(request)
        self.page: Page = question.page(self.language)

    def block(self, markdown: str) -> Markup:
        """Paragraphs, lists, tables."""
        return Markup(RENDERER.block(markdown, question=self.question, language=self.page.language))  # noqa: S704

    def inline(self, markdown: str) -> Markup:
        """A run of text without paragraphs."""
        return Markup(RENDERER.inline(markdown, question=self.question, language=self.page.language))  # noqa: S704

    def title(self) -> Markup:
        """The title, with names such as ZeRO-3 kept on one line."""
        # A plain string: `re.sub` on a Markup joins its pieces as Markup and escapes them.
        html = str(self.inline(self.page.title))
        return Markup(html if "<" in html else _NAME.sub(r'<span class="keep">\g<0></span>', html))  # noqa: S704

    def english(self, markdown: str) -> Markup:
        """The spoken answer, which is English on both pages."""
        return Markup(RENDERER.block(markdown, question=self.question, language="en"))  # noqa: S704

    def parts(self, parts: Iterable[Part]) -> Markup:
        """Text and live panels in reading order."""
        return Markup("").join(self._embed(p) if isinstance(p, Embed) else self.block(p.markdown) for p in parts)

    def _embed(self, embed: Embed) -> Markup:
        try:
            if embed.kind == "calculator":
                return calculators.panel(
                    self._request, embed.slug, embed.inputs, embed_id=embed.id, caption=embed.caption
                )
            return timelines.figure(
                self._request,
                embed.slug,
                embed.inputs,
                embed_id=embed.id,
                compare=embed.compare,
                caption=embed.caption,
            )
        except AppError as error:
            return Markup(render.text(self._request, "study/refused.html", error=error, embed=embed))  # noqa: S704
