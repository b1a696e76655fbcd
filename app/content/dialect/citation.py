"""Citations: `[^key]` names a source of the question by its key in `question.yaml`."""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

KEY = r"[A-Za-z0-9][A-Za-z0-9._-]*"

CITATION = re.compile(rf"\[\^({KEY})\]")


def install(markdown: MarkdownIt) -> None:
    """Add the rule before links, which begin with the same bracket."""
    markdown.inline.ruler.before("link", "citation", _rule)


def _rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's signature
    if not state.src.startswith("[^", state.pos):
        return False
    match = CITATION.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        token = state.push("citation", "sup", 0)
        token.content = match[1]
        token.meta = {"position": state.pos}
    state.pos = match.end()
    return True
