r"""Math: `$…$` in text, `$$…$$` in text or as a block of its own.

The hard part is money. A `$` after a digit or before a space opens nothing, a closing one is not
followed by a digit, and what starts like a price and goes on in words (`$5 in the US$`) is text.
Anybody can write `\$`. Tokens: `math_inline`, `math_display` (both inline) and `math_block`;
`content` is the LaTeX source.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

DIGITS = frozenset("0123456789")
SPACES = frozenset(" \t\n\u00a0\u3000\u2009")

_COMMAND = re.compile(r"\\[A-Za-z]+\*?(?:\{[^{}]*\})?")
_WORDS = re.compile(r"[a-z]{2,}|[\u3400-\u9fff]")


def install(markdown: MarkdownIt) -> None:
    """Add the rules, before those that could read a part of the math as something else."""
    markdown.inline.ruler.after("escape", "math", _inline)
    markdown.block.ruler.before(
        "fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def _inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's signature
    source, start = state.src, state.pos
    if source[start] != "$":
        return False
    if source.startswith("$$", start):
        return _display(state, silent=silent)
    end = _closing(source, start + 1, "$")
    if end < 0 or not _is_math(source, start, end):
        return False
    if not silent:
        token = state.push("math_inline", "span", 0)
        token.content = source[start + 1 : end]
        token.markup = "$"
    state.pos = end + 1
    return True


def _display(state: StateInline, *, silent: bool) -> bool:
    start = state.pos
    end = _closing(state.src, start + 2, "$$")
    content = state.src[start + 2 : end].strip() if end >= 0 else ""
    if not content:
        return False
    if not silent:
        token = state.push("math_display", "span", 0)
        token.content = content
        token.markup = "$$"
    state.pos = end + 2
    return True


def _closing(source: str, position: int, marker: str) -> int:
    """Where the next unescaped `marker` stands, or -1."""
    while (end := source.find(marker, position)) >= 0:
        backslashes = end - len(source[position:end].rstrip("\\")) - position
        if backslashes % 2 == 0:
            return end
        position = end + 1
    return -1


def _is_math(source: str, start: int, end: int) -> bool:
    if start and source[start - 1] in DIGITS:
        return False
    if end == start + 1 or source[start + 1] in SPACES or source[end - 1] in SPACES:
        return False
    if source[end + 1 : end + 2] in DIGITS:
        return False
    content = source[start + 1 : end]
    return content[0] not in DIGITS or not _WORDS.search(_COMMAND.sub("", content))


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001
    if state.is_code_block(start_line):
        return False
    first = state.bMarks[start_line] + state.tShift[start_line]
    if not state.src.startswith("$$", first):
        return False
    line = start_line
    text = state.src[first + 2 : state.eMarks[line]].rstrip()
    lines = [text]
    if "$$" in text and not text.endswith("$$"):
        return False
    while not lines[-1].endswith("$$"):
        line += 1
        if line >= end_line or state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            return False
        lines.append(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip())
    content = "\n".join(lines)[:-2].strip()
    if not content:
        return False
    if not silent:
        state.line = line + 1
        token = state.push("math_block", "div", 0)
        token.content = content
        token.markup = "$$"
        token.map = [start_line, state.line]
    return True
