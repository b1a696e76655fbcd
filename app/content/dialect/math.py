r"""Math: `$…$` in text, `$$…$$` in text or as a block of its own.

The hard part is money. A `$` after a digit or before a space opens nothing, a closing one is not
followed by a digit, and what starts like a price and goes on in words without any sign of math
(`$5 in the US$`) is text. Anybody can write `\$`. Tokens: `math_inline`, `math_display` (both inline) and `math_block`;
`content` is the LaTeX source.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

DIGITS = frozenset("0123456789")
SPACES = frozenset(" \t\n\u00a0\u3000\u2009")

_PRICE = re.compile(r"[0-9][0-9.,]*(?:[kKMB]\b|/[a-z]+)?(?=[\s\u3400-\u9fff])[^\\^_=+*<>{}]*")
_WORDS = re.compile(r"[a-z]{2,}|[\u3400-\u9fff]")


def install(markdown: MarkdownIt) -> None:
    """Add the rules, before those that could read a part of the math as something else."""
    markdown.inline.ruler.after("escape", "math", _inline)
    markdown.block.ruler.before(
        "fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def end(source: str, start: int) -> int:
    """Where the math that opens with the `$` at `start` ends (behind its last `$`), or -1 where it is text."""
    if source.startswith("$$", start):
        closing = _closing(source, start + 2, "$$")
        return closing + 2 if closing >= 0 and source[start + 2 : closing].strip() else -1
    closing = _closing(source, start + 1, "$")
    return closing + 1 if closing >= 0 and _is_math(source, start, closing) else -1


def _inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's signature
    source, start = state.src, state.pos
    if source[start] != "$":
        return False
    behind = end(source, start)
    if behind < 0 or behind > state.posMax:
        return False
    if not silent:
        markup = "$$" if source.startswith("$$", start) else "$"
        token = state.push("math_display" if markup == "$$" else "math_inline", "span", 0)
        token.content = source[start + len(markup) : behind - len(markup)].strip()
        token.markup = markup
    state.pos = behind
    return True


def _closing(source: str, position: int, marker: str) -> int:
    """Where the next unescaped `marker` stands, or -1."""
    while (found := source.find(marker, position)) >= 0:
        backslashes = found - len(source[position:found].rstrip("\\")) - position
        if backslashes % 2 == 0:
            return found
        position = found + 1
    return -1


def _is_math(source: str, start: int, closing: int) -> bool:
    if start and source[start - 1] in DIGITS:
        return False
    if closing == start + 1 or source[start + 1] in SPACES or source[closing - 1] in SPACES:
        return False
    if source[closing + 1 : closing + 2] in DIGITS:
        return False
    content = source[start + 1 : closing]
    return content[0] not in DIGITS or not (_PRICE.fullmatch(content) and _WORDS.search(content))


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001
    first = state.bMarks[start_line] + state.tShift[start_line]
    if not state.src.startswith("$$", first) or state.is_code_block(start_line):
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
