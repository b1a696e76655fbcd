"""The inline parser: markdown-it's rules, each tried only at the characters it can begin with.

markdown-it asks every rule at every character that could begin any rule. Here a table says which
rules begin with which character, so that a `-` in text costs nothing and the rules we add cost
only where their mark stands. Emphasis is judged with East Asian text in mind (`emphasis.py`).
"""

import re
from collections.abc import Mapping

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline, RuleFuncInlineType
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.content.dialect.emphasis import State

FIRST_CHARACTERS: Mapping[str, str] = {
    "newline": "\n",
    "escape": "\\",
    "math": "$",
    "backticks": "`",
    "number": "{",
    "cloze": "=",
    "emphasis": "*_",
    "citation": "[",
    "link": "[",
    "image": "!",
    "autolink": "<",
    "entity": "&",
}
"""Every active rule but `text`, and the characters it looks for."""


class InlineParser(ParserInline):
    """Put in place of markdown-it's own parser before rules are added; `prepare` once they all are."""

    def __init__(self) -> None:
        super().__init__()
        self._rules: dict[str, tuple[RuleFuncInlineType, ...]] = {}

    def prepare(self) -> None:
        """Build the table from the rules that are active now."""
        names = [name for name in self.ruler.get_active_rules() if name != "text"]
        rules = dict(zip(self.ruler.get_active_rules(), self.ruler.getRules(""), strict=True))
        self._rules = {
            character: tuple(rules[name] for name in names if character in FIRST_CHARACTERS[name])
            for character in {character for name in names for character in FIRST_CHARACTERS[name]}
        }
        # Text also stops at "]", which ends a link's label without being a rule.
        self.terminator_re = re.compile(f"[{re.escape(''.join(sorted(self._rules)))}\\]]")

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """The tokens of `src`, appended to `tokens`."""
        state = State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens

    def tokenize(self, state: StateInline) -> None:
        """Read the source from `pos` to `posMax` into tokens."""
        source, end = state.src, state.posMax
        search = self.terminator_re.search
        rules = self._rules if state.level < state.md.options["maxNesting"] else {}
        while state.pos < end:
            start = state.pos
            found = search(source, start, end)
            stop = found.start() if found is not None else end
            if stop > start:
                state.append_pending(source[start:stop])
                state.pos = stop
            if found is None:
                break
            character = source[stop]
            for rule in rules.get(character, ()):
                if rule(state, False):  # noqa: FBT003 - not silent
                    break
            else:
                state.append_pending(character)
                state.pos = stop + 1
        if state.pending:
            state.pushPending()

    def skipToken(self, state: StateInline) -> None:  # noqa: N802 - its name in markdown-it
        """Move past one token without making it."""
        start = state.pos
        known = state.cache.get(start)
        if known is not None:
            state.pos = known
            return
        if state.level >= state.md.options["maxNesting"]:
            state.pos = state.posMax
        else:
            self._skip(state, start)
        state.cache[start] = state.pos

    def _skip(self, state: StateInline, start: int) -> None:
        found = self.terminator_re.search(state.src, start)
        stop = found.start() if found is not None else state.posMax
        if stop > start:
            state.pos = stop
            return
        state.level += 1
        is_token = any(rule(state, True) for rule in self._rules.get(state.src[start], ()))  # noqa: FBT003 - silent
        state.level -= 1
        if not is_token:
            state.pos = start + 1
