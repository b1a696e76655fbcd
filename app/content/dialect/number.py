"""Computed numbers: `{{calc:tp-communication:message_bytes?tensor_parallel_size=8}}`.

The text names a calculator or timeline, one of its results, and inputs that differ from the
defaults. A `number` token carries the parsed `Number` in `meta["number"]`, or None where the
braces hold something else, which the parser reports.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

NumberKind = Literal["calc", "timeline"]

BRACES = re.compile(r"\{\{([^{}\n]*)\}\}")
_NUMBER = re.compile(r"\s*(calc|timeline):([a-z0-9-]+):([A-Za-z0-9_]+)(?:\?([^\s?]*))?\s*")


@dataclass(frozen=True, slots=True)
class Number:
    """A result of a calculator or timeline that stands in text."""

    kind: NumberKind
    slug: str
    result: str
    inputs: Mapping[str, str]


def install(markdown: MarkdownIt) -> None:
    """Add the rule; code and math have been read before it sees a brace."""
    markdown.inline.ruler.after("backticks", "number", _rule)


def read(text: str) -> Number | None:
    """The number that the text between the braces names, or None when it is none."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    kind, slug, result, query = match.groups()
    try:
        pairs = parse_qsl(query or "", keep_blank_values=True, strict_parsing=bool(query), max_num_fields=64)
    except ValueError:
        return None
    inputs = dict(pairs)
    if len(inputs) != len(pairs):
        return None
    return Number("calc" if kind == "calc" else "timeline", slug, result, inputs)


def _rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's signature
    if not state.src.startswith("{{", state.pos):
        return False
    match = BRACES.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        token = state.push("number", "span", 0)
        token.content = match[1]
        token.markup = "{{"
        token.meta = {"number": read(match[1]), "position": state.pos}
    state.pos = match.end()
    return True
