r"""`|` inside math and code of a table row is no cell border: `| $P(A|B)$ |` is one cell.

GitHub's tables cut cells before they look at code or math, so authors had to write `\|`. A block
rule that runs before the table's swaps such a `|` for a stand-in of the same length, and a core
rule swaps it back in every token.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore

STAND_IN = "\ufdd0"
"""A noncharacter: never valid in text, so never an author's own."""

_BORDER = re.compile(r"[ ]{0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)(?:.*?[^`])??\1(?!`)|(?<![\\$])\$(?![\s$])(?:\\.|[^$\\])*?(?<!\s)\$(?![\d$])")

_DONE, _HIDDEN = "table_pipes_done", "table_pipes_hidden"


def install(markdown: MarkdownIt) -> None:
    """Add both rules."""
    markdown.block.ruler.before("table", "table_pipes", _hide, {"alt": ["paragraph", "reference"]})
    markdown.core.ruler.after("block", "table_pipes", _show)


def _hide(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: ARG001, FBT001
    if start_line + 2 > end_line or start_line < state.env.get(_DONE, 0):
        return False
    begin, end = state.bMarks[start_line + 1] + state.tShift[start_line + 1], state.eMarks[start_line + 1]
    border = state.src[begin:end]
    if "|" not in border or not _BORDER.fullmatch(border):
        return False
    line = start_line
    pieces: list[str] = []
    first = last = state.bMarks[start_line]
    while line < end_line and not state.isEmpty(line):
        last = state.eMarks[line]
        pieces.append(_SPAN.sub(_swap, state.src[state.bMarks[line] : last]))
        line += 1
    state.env[_DONE] = line  # every line is looked at once, however many of them look like a border
    hidden = "\n".join(pieces)
    if STAND_IN in hidden:
        state.env[_HIDDEN] = True
        state.src = state.src[:first] + hidden + state.src[last:]
    return False


def _swap(match: re.Match[str]) -> str:
    return match[0].replace("|", STAND_IN)


def _show(state: StateCore) -> None:
    state.env.pop(_DONE, None)
    if state.env.pop(_HIDDEN, False):
        for token in state.tokens:
            if STAND_IN in token.content:
                token.content = token.content.replace(STAND_IN, "|")
