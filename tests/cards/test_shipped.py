"""The shipped cards make sense alone: what a card shows does not lean on the page it was cut from."""

import re

import pytest

from app.cards.deck import cut_deck
from app.cards.model import Basic, Card, Claim, Hidden
from app.content.library import Library
from app.settings import ROOT

LEANING = re.compile(
    r"(It|Its|They|That|This|Only|Each one|The forward one|Two|\d+ times|它|是 |这只|只有其中|默认各|目前)"
)
"""How a reply begins that needs the sentence before it."""
ELSEWHERE = re.compile(r"\b(above|below)\b(?! (?:that|it|which|one)\b)|[上下]面的|前面例子", re.IGNORECASE)
"""Words that point at another place of the page."""
CAPTION = re.compile(r"^.*\]\(/(?:timelines|calculators)/.*$", re.MULTILINE)
"""A caption speaks of the picture that its link opens."""


CARDS = cut_deck(Library(ROOT / "content").questions()).cards


def ids(card: Card) -> str:
    return card.id


@pytest.mark.parametrize("card", [card for card in CARDS if card.kind == "wrong"], ids=ids)
def test_a_fact_can_be_judged_without_the_claim_it_answers(card: Card) -> None:
    for face in card.faces.values():
        assert isinstance(face, Claim)
        assert not LEANING.match(face.fact)


@pytest.mark.parametrize("card", [card for card in CARDS if card.kind == "cloze"], ids=ids)
def test_a_sentence_with_a_gap_names_what_it_speaks_of(card: Card) -> None:
    for face in card.faces.values():
        assert isinstance(face, Hidden)
        assert not LEANING.match(face.must.markdown)


@pytest.mark.parametrize("card", [card for card in CARDS if card.kind == "followup"], ids=ids)
def test_the_answer_to_a_follow_up_points_at_nothing_beside_it(card: Card) -> None:
    for face in card.faces.values():
        assert isinstance(face, Basic)
        assert not ELSEWHERE.search(CAPTION.sub("", face.back))
