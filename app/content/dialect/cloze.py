"""Cloze marks: `==hidden==`, with a name where a point hides several parts: `==hidden=={#name}`.

Marks pair like emphasis does, so they may hold emphasis, code and math but never cut through
them. A run of `=` that is not two long is text, and so is one with spaces on both sides (`a == b`).
Tokens: `cloze_open` and `cloze_close`; the opening one has in `meta` the `name` ("" without) and
`start` and `end`, the place of the hidden text in the source.
"""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token

_RUN = re.compile("=+")
_NAME = re.compile(r"\{#([^{}\n]*)\}")


def install(markdown: MarkdownIt) -> None:
    """Add the rule that finds marks and the one that turns pairs of them into tags."""
    markdown.inline.ruler.before("emphasis", "cloze", _rule)
    markdown.inline.ruler2.after("balance_pairs", "cloze", _pair_up)


def _rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's signature
    source, start = state.src, state.pos
    if silent or source[start] != "=":
        return False
    match = _RUN.match(source, start)
    assert match is not None
    if len(match[0]) != 2:
        state.append_pending(match[0])
        state.pos = match.end()
        return True
    end = match.end()
    token = state.push("text", "", 0)
    token.content = "=="
    token.meta = {"position": start, "name": ""}
    opens = end < state.posMax and not source[end].isspace()
    closes = start > 0 and not source[start - 1].isspace()
    name = _NAME.match(source, end) if closes else None
    if name is not None:
        token.meta["name"] = name[1]
        opens = False
        end = name.end()
    state.delimiters.append(
        Delimiter(marker=ord("="), length=0, token=len(state.tokens) - 1, end=-1, open=opens, close=closes)
    )
    state.pos = end
    return True


def _pair_up(state: StateInline) -> None:
    _pair(state.tokens, state.delimiters)
    for meta in state.tokens_meta:
        if meta and "delimiters" in meta:
            _pair(state.tokens, meta["delimiters"])


def _pair(tokens: list[Token], delimiters: list[Delimiter]) -> None:
    for delimiter in delimiters:
        if delimiter.marker != ord("="):
            continue
        token = tokens[delimiter.token]
        if delimiter.end >= 0:
            closing = tokens[delimiters[delimiter.end].token]
            place = {"start": token.meta["position"] + 2, "end": closing.meta["position"]}
            _become(token, 1, {"name": closing.meta["name"], **place})
            _become(closing, -1, {})
        elif token.type == "text" and token.meta.get("name"):
            token.content = f"=={{#{token.meta['name']}}}"


def _become(token: Token, nesting: int, meta: dict[str, Any]) -> None:
    token.type = "cloze_open" if nesting == 1 else "cloze_close"
    token.tag = "mark"
    token.nesting = 1 if nesting == 1 else -1
    token.content = ""
    token.markup = "=="
    token.meta = meta
