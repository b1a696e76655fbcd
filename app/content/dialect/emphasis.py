"""Emphasis next to Chinese punctuation: `这是**真的。**所以` is bold.

CommonMark decides whether `**` opens or closes by looking for spaces around it, which Chinese
does not write, so a closing mark after `。` and before a character is neither. Here East Asian
characters stand for a space where the rule asks for one, and East Asian punctuation no longer
counts as punctuation, as the discussion commonmark/commonmark-spec#650 proposes.
"""

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned


class State(StateInline):
    """An inline state whose delimiters know East Asian neighbours."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803, FBT001 - its name
        """Whether the run of marks at `start` may open or close emphasis, and its length."""
        source, end = self.src, start
        while end < self.posMax and source[end] == source[start]:
            end += 1
        before = source[start - 1] if start > 0 else " "
        after = source[end] if end < self.posMax else " "
        if before < "\u2010" and after < "\u2010":
            return super().scanDelims(start, canSplitWord)
        opens = _flanks(after, before)
        closes = _flanks(before, after)
        if canSplitWord:
            return Scanned(opens, closes, end - start)
        return Scanned(
            opens and (not closes or _is_punctuation(before)),
            closes and (not opens or _is_punctuation(after)),
            end - start,
        )


def _flanks(inner: str, outer: str) -> bool:
    """Whether a mark between `outer` and `inner` leans on `inner`."""
    if inner.isspace():
        return False
    if not _is_punctuation(inner) or _is_east_asian(inner):
        return True
    return outer.isspace() or _is_punctuation(outer) or _is_east_asian(outer)


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)


def _is_east_asian(character: str) -> bool:
    """Whether the character is written without spaces around it: Han, kana, and their punctuation."""
    code = ord(character)
    return (
        0x2E80 <= code <= 0xA4CF
        or 0xAC00 <= code <= 0xD7FF
        or 0xF900 <= code <= 0xFAFF
        or (0xFE30 <= code <= 0xFE6F or 0xFF01 <= code <= 0xFFEE or 0x20000 <= code <= 0x3FFFF)
    )
