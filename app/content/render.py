"""Markdown of the content as safe HTML. The only place whose output templates may mark safe.

`Renderer.block` and `.inline` render any text of a page; `cloze_front` and `cloze_back` render a
must-hit point as a card. Math stays LaTeX source inside an element that the browser enhances,
computed numbers come from the `evaluate` the app passes in, citations become links to the
question's sources. markdown-it never passes raw HTML, and nh3 checks what it wrote once more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import nh3
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from app.content import dialect
from app.content.dialect.number import Number, NumberKind
from app.content.model import MustHit, Question
from app.core.errors import AppError
from app.core.i18n import Language, Text
from app.core.units import THIN_SPACE

Evaluate = Callable[[NumberKind, str, str, Mapping[str, str]], Text]
"""`evaluate(kind, slug, result, inputs)` is that result with its unit. Raises AppError."""

TABLE = Text("Table", "表格")
SOURCE = Text("Source {number}", "来源 {number}")
NOT_COMPUTED = Text("This number cannot be computed: {reason}", "这个数字算不出来:{reason}")

_ENVIRONMENT = "ringside"

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


@dataclass(frozen=True, slots=True)
class _Context:
    """What the tokens of one text are rendered for."""

    evaluate: Evaluate
    question: Question
    language: Language
    hidden: str = ""


class Renderer:
    """Renders the text of questions; computed numbers come from `evaluate`."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._markdown = dialect.make(_Html)

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
        return {_ENVIRONMENT: _Context(self._evaluate, question, language)}

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


class _Html(RendererHTML):
    """HTML for the dialect's tokens; methods are named after them."""

    def math_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return (
            _gap(tokens[idx])
            + f'<span class="math" data-display="false">\\({escapeHtml(tokens[idx].content)}\\)</span>'
        )

    def math_display(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<span class="math" data-display="true">\\[{escapeHtml(tokens[idx].content)}\\]</span>'

    def math_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<div class="math" data-display="true">\\[{escapeHtml(tokens[idx].content)}\\]</div>\n'

    def number(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        context: _Context = env[_ENVIRONMENT]
        token = tokens[idx]
        number: Number | None = token.meta["number"]
        if number is None:
            return escapeHtml(f"{{{{{token.content}}}}}")
        try:
            value = context.evaluate(number.kind, number.slug, number.result, number.inputs)[context.language]
        except AppError as error:
            reason = error.message[context.language]
            title = NOT_COMPUTED.format(reason=reason)[context.language]
            return f'<span class="number number-error" title="{escapeHtml(title)}">{escapeHtml(number.result)}?</span>'
        return _gap(token) + f'<span class="number">{escapeHtml(value)}</span>'

    def citation(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        context: _Context = env[_ENVIRONMENT]
        key = tokens[idx].content
        for position, source in enumerate(context.question.sources, start=1):
            if source.key == key:
                label = SOURCE.format(number=position)[context.language]
                link = f'<a href="#source-{escapeHtml(key)}" aria-label="{label}">[{position}]</a>'
                return f'<sup class="cite">{link}</sup>'
        return f'<sup class="cite">[{escapeHtml(key)}?]</sup>'

    def cloze_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<mark class="{escapeHtml(str(tokens[idx].attrs.get("class", "cloze")))}">'

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        label = TABLE[env[_ENVIRONMENT].language]
        return f'<div class="table-scroll" tabindex="0" role="region" aria-label="{label}">\n<table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table>\n</div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[idx])

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[idx])

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        if not str(token.attrs.get("href", "")).startswith("#"):
            token.attrs["rel"] = "noopener"
        return f"<a{self.renderAttrs(token)}>"

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"{_gap(tokens[idx])}<code>{escapeHtml(tokens[idx].content)}</code>"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return escapeHtml(tokens[idx].content)

    def softbreak(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "" if tokens[idx].hidden else "\n"


def _gap(token: Token) -> str:
    return THIN_SPACE if token.meta.get("gap") else ""


def _cell(token: Token) -> str:
    align = str(token.attrs.get("style", "")).removeprefix("text-align:")
    return f'<{token.tag} class="align-{align}">' if align else f"<{token.tag}>"
