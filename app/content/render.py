"""Markdown of the content as safe HTML. The only place whose output templates may mark safe.

`Renderer.block` and `.inline` render any text of a page; `cloze_front` and `cloze_back` render a
must-hit point as a card. Math stays LaTeX source inside an element that the browser enhances,
computed numbers come from the `evaluate` the app passes in, citations become links to the
question's sources. markdown-it never passes raw HTML, and nh3 checks what it wrote once more.
"""

from typing import Any

import nh3
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.content import dialect
from app.content.html import ENVIRONMENT, Context, Evaluate, Html
from app.content.model import MustHit, Question
from app.core.i18n import Language

__all__ = ["Evaluate", "Renderer"]

_CLASSED = ("a", "code", "div", "mark", "span", "sup", "td", "th")
_SANITIZER = nh3.Cleaner(
    tags={
        *("a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "mark"),
        *("ol", "p", "pre", "span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    },
    clean_content_tags={"script", "style"},
    attributes={tag: {"class"} for tag in _CLASSED}
    | {
        "a": {"class", "href", "title", "rel", "aria-label"},
        "div": {"class", "data-display", "tabindex", "role", "aria-label"},
        "span": {"class", "data-display", "title"},
        "ol": {"start"},
    },
    link_rel=None,
    url_schemes={"http", "https", "mailto"},
)


class Renderer:
    """Renders the text of questions; computed numbers come from `evaluate`."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._markdown = dialect.make(Html)

    def block(self, markdown: str, *, question: Question, language: Language) -> str:
        """Paragraphs, lists, tables and code as HTML."""
        environment = self._environment(question, language)
        return _SANITIZER.clean(self._markdown.render(markdown, environment))

    def inline(self, markdown: str, *, question: Question, language: Language) -> str:
        """One run of text as HTML without a paragraph around it, as for titles and list items."""
        environment = self._environment(question, language)
        return _SANITIZER.clean(self._markdown.renderInline(markdown, environment))

    def cloze_front(self, point: MustHit, key: str, *, question: Question, language: Language) -> str:
        """The point with the hidden part `key` as `[…]` and its other parts shown."""
        environment = self._environment(question, language)
        tokens = self._cloze_tokens(point, key, environment, hide=True)
        return _SANITIZER.clean(self._markdown.renderer.render(tokens, self._markdown.options, environment))

    def cloze_back(self, point: MustHit, key: str, *, question: Question, language: Language) -> str:
        """The point in full, with the part `key` marked as the answer."""
        environment = self._environment(question, language)
        tokens = self._cloze_tokens(point, key, environment, hide=False)
        return _SANITIZER.clean(self._markdown.renderer.render(tokens, self._markdown.options, environment))

    def _environment(self, question: Question, language: Language) -> dict[str, Any]:
        return {ENVIRONMENT: Context(self._evaluate, question, language)}

    def _cloze_tokens(self, point: MustHit, key: str, environment: EnvType, *, hide: bool) -> list[Token]:
        tokens = self._markdown.parseInline(point.markdown, environment)
        for inline in tokens:
            inline.children = _reveal(inline.children or [], point, key, hide=hide)
        return tokens


def _reveal(tokens: list[Token], point: MustHit, key: str, *, hide: bool) -> list[Token]:
    """The tokens with only the cloze `key` left as a mark; `hide` puts `[…]` in place of its text."""
    kept: list[Token] = []
    level = 0  # inside the marked cloze when above 0
    for token in tokens:
        if token.type == "cloze_open":
            name = token.meta["name"] or point.id
            if level or name == key:
                level += 1
            if level == 1:
                token.attrs["class"] = "cloze cloze-hidden" if hide else "cloze cloze-answer"
                kept += [token, Token("text", "", 0, content="[…]")] if hide else [token]
        elif token.type == "cloze_close":
            if level == 1:
                kept.append(token)
            level = max(0, level - 1)
        elif not (hide and level):
            kept.append(token)
    return kept
