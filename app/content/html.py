# ruff: noqa: ARG002 - the methods have the signature that markdown-it calls
"""HTML for each token of the dialect, without any inline style.

`Html` holds a method for each kind of token that CommonMark does not know or that we write
differently. What the text is rendered for travels in markdown-it's environment as a `Context`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from app.content.dialect.number import Number, NumberKind
from app.content.model import Question
from app.core.errors import AppError
from app.core.i18n import Language, Text
from app.core.units import THIN_SPACE

Evaluate = Callable[[NumberKind, str, str, Mapping[str, str]], Text]
"""`evaluate(kind, slug, result, inputs)` is that result with its unit. Raises AppError."""

TABLE = Text("Table", "表格")
SOURCE = Text("Source {number}", "来源 {number}")
NOT_COMPUTED = Text("This number cannot be computed: {reason}", "这个数字算不出来：{reason}")

ENVIRONMENT = "ringside"
"""Where the context stands in the environment."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the tokens of one text are rendered for."""

    evaluate: Evaluate
    question: Question
    language: Language


class Html(RendererHTML):
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
        context: Context = env[ENVIRONMENT]
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
        context: Context = env[ENVIRONMENT]
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
        label = TABLE[env[ENVIRONMENT].language]
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
