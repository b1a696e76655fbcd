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
    line = _Line()
    for token in tokens:
        if token.type == "text":
            if token.content:
                line.text(token)
        elif token.type in _LATIN_LIKE:
            line.latin_like(token)
        elif token.type == "softbreak":
            line.waiting = token
        elif token.type in _BREAKS:
            line.goes_on(None, last="")
        elif token.nesting == 1:
            line.before = line.previous


class _Line:
    """What stands to the left while a paragraph is walked through."""

    def __init__(self) -> None:
        self.last = ""
        """The character before, or "" where none counts."""
        self.previous: Token | None = None
        """The text token that holds it."""
        self.before: Token | None = None
        """The same, once tags have opened since: a gap belongs outside them."""
        self.waiting: Token | None = None
        """A line break that may have to go."""

    def text(self, token: Token) -> None:
        first = token.content[0]
        token.content = spaced(token.content)
        if self.waiting is not None:
            self.waiting.hidden = bool(_WIDE.match(self.last) and _WIDE.match(first))
        elif self.last and _needs_gap(self.last, first):
            if self.before is not None:
                self.before.content += THIN_SPACE
            else:
                token.content = THIN_SPACE + token.content
        self.goes_on(token, last=token.content[-1])

    def latin_like(self, token: Token) -> None:
        if self.waiting is None and self.last and _needs_gap(self.last, "a"):
            token.meta["gap"] = True
        self.goes_on(None, last="a")

    def goes_on(self, token: Token | None, *, last: str) -> None:
        self.last, self.previous, self.before, self.waiting = last, token, None, None


def _needs_gap(last: str, first: str) -> bool:
    if _HAN.match(last):
        return bool(_LATIN_FIRST.match(first))
    return bool(_LATIN_LAST.match(last) and _HAN.match(first))
