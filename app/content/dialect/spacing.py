"""A thin space between Chinese and Latin text, so that authors need not type it.

Works on the tokens of a paragraph: between a Han character and a Latin letter or digit, also
across the borders of emphasis, links, math, code and computed numbers, but never inside math
or code and never where a space stands already. A line break between two Chinese characters
is dropped, since a browser would show it as a space.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from app.core.units import THIN_SPACE

HAN = "\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WIDE = HAN + "\u3000-\u303f\uff01-\uffee"
LATIN = "A-Za-z0-9\u00c0-\u024f\u0370-\u03ff\u2070-\u209f"

_HAN = re.compile(f"[{HAN}]")
_WIDE = re.compile(f"[{WIDE}]")
_LATIN_FIRST = re.compile(f"[{LATIN}]")
_LATIN_LAST = re.compile(f"[{LATIN}%°]")
_GAP = re.compile(f"(?<=[{HAN}])(?=[{LATIN}])|(?<=[{LATIN}%°])(?=[{HAN}])")

_LATIN_LIKE = frozenset({"math_inline", "code_inline", "number"})
_BREAKS = frozenset({"hardbreak", "citation", "math_display"})


def install(markdown: MarkdownIt) -> None:
    """Add the rule, after the text has been read."""
    markdown.core.ruler.after("inline", "spacing", _rule)


def spaced(text: str) -> str:
    """Plain text with the thin spaces in."""
    return _GAP.sub(THIN_SPACE, text)


def _rule(state: StateCore) -> None:
    for token in state.tokens:
        if token.children and _HAN.search(token.content):
            _space(token.children)


def _space(tokens: list[Token]) -> None:
    last = ""  # the character before, or "" where none counts
    before: Token | None = None  # the text before, when tags have opened since: the gap belongs outside them
    waiting: Token | None = None  # a line break that may have to go
    text: Token | None = None
    for token in tokens:
        if token.type == "text":
            if not token.content:
                continue
            first = token.content[0]
            token.content = spaced(token.content)
            if waiting is not None:
                waiting.hidden = bool(_WIDE.match(last) and _WIDE.match(first))
            elif last and _needs_gap(last, first):
                _gap_before(token, before)
            last, text = token.content[-1], token
            before = waiting = None
        elif token.type in _LATIN_LIKE:
            if waiting is None and last and _needs_gap(last, "a"):
                token.meta["gap"] = True
            last = "a"
            text = before = waiting = None
        elif token.type == "softbreak":
            waiting = token
        elif token.type in _BREAKS:
            last = ""
            text = before = waiting = None
        elif token.nesting == 1:
            before = text


def _gap_before(token: Token, before: Token | None) -> None:
    if before is not None:
        before.content += THIN_SPACE
    else:
        token.content = THIN_SPACE + token.content


def _needs_gap(last: str, first: str) -> bool:
    if _HAN.match(last):
        return bool(_LATIN_FIRST.match(first))
    return bool(_LATIN_LAST.match(last) and _HAN.match(first))
