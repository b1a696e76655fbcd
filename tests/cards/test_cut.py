"""Cards and their ids: what an author wrote decides them, and no edit of the text changes them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.cards.cut import as_markdown, hide_term
from app.cards.deck import Deck
from app.cards.model import Basic, Exercise, Hidden
from app.content.model import Embed

Cut = Callable[[], Deck]

IDS = {
    "ring/answer",
    "ring/concept/ring",
    "ring/concept/busbw",
    "ring/concept-reverse/ring",
    "ring/concept-reverse/busbw",
    "ring/cloze/phases",
    "ring/cloze/steps",
    "ring/cloze/factor",
    "ring/drill/eight",
    "ring/drill/two-ranks",
    "ring/timeline/chain",
    "ring/followup/two",
    "ring/wrong/once",
}


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_question_gives_a_card_of_each_kind(cut: Cut) -> None:
    assert set(cut().by_id) == IDS


def test_cutting_is_repeatable(cut: Cut) -> None:
    first = cut()

    assert cut().cards == first.cards


def test_twins_share_one_card(cut: Cut) -> None:
    assert {frozenset(card.faces) for card in cut().cards} == {frozenset({"en", "zh"})}


def test_a_timeline_without_compute_gives_no_card(cut: Cut) -> None:
    """In `ring-all-reduce` nothing waits, so nothing can be asked."""
    assert "ring/timeline/picture" not in cut().by_id


def test_an_edit_of_the_text_keeps_every_id(cut: Cut, content: Path) -> None:
    page = content / "rings" / "ring" / "en.md"
    cut()
    edit(page, "A ring all-reduce has two phases.", "A ring all-reduce (note the hyphen) runs in two phases.")
    edit(page, "### Ring all-reduce {#ring}", "### All-reduce on a ring {#ring}")
    edit(page, "==two=={#phases}", "==2=={#phases}")

    deck = cut()

    assert set(deck.by_id) == IDS
    face = deck.by_id["ring/concept/ring"].face("en")
    assert isinstance(face, Basic)
    assert face.front == "All-reduce on a ring"


def test_removing_a_gap_leaves_its_siblings_alone(cut: Cut, content: Path) -> None:
    before = cut().by_id["ring/cloze/steps"]
    for name in ("en.md", "zh.md"):
        page = content / "rings" / "ring" / name
        edit(page, "==两=={#phases}" if name == "zh.md" else "==two=={#phases}", "2")

    after = cut()

    assert set(after.by_id) == IDS - {"ring/cloze/phases"}
    assert after.by_id["ring/cloze/steps"].id == before.id


def test_moving_a_question_to_another_topic_keeps_its_ids(cut: Cut, content: Path) -> None:
    cut()
    (content / "rings").rename(content / "circles")

    deck = cut()

    assert set(deck.by_id) == IDS
    assert {card.topic for card in deck.cards} == {"circles"}


def test_math_and_code_hold_no_gap(cut: Cut) -> None:
    gaps = [card for card in cut().cards if isinstance(card.face("en"), Hidden)]

    assert len(gaps) == 3


def test_siblings_share_a_group(cut: Cut) -> None:
    cards = cut().by_id

    assert cards["ring/concept/ring"].group == cards["ring/concept-reverse/ring"].group
    assert cards["ring/cloze/phases"].group == cards["ring/cloze/steps"].group
    assert cards["ring/cloze/factor"].group != cards["ring/cloze/steps"].group
    assert cards["ring/concept/busbw"].group != cards["ring/concept/ring"].group


@pytest.mark.parametrize(
    ("card", "anchor"),
    [
        ("ring/answer", "answer"),
        ("ring/concept/ring", "concept-ring"),
        ("ring/concept-reverse/ring", "concept-ring"),
        ("ring/cloze/steps", "must-count"),
        ("ring/drill/eight", "eight"),
        ("ring/followup/two", "followup-two"),
        ("ring/wrong/once", "wrong-once"),
    ],
)
def test_a_card_knows_where_it_stands_on_the_page(cut: Cut, card: str, anchor: str) -> None:
    assert cut().by_id[card].anchor == anchor


def test_the_answer_is_english_in_both_languages_and_chinese_adds_a_gloss(cut: Cut) -> None:
    card = cut().by_id["ring/answer"]
    english, chinese = card.face("en"), card.face("zh")
    assert isinstance(english, Basic)
    assert isinstance(chinese, Basic)

    assert english.spoken == chinese.spoken == "A ring sends two times n minus one over n."
    assert english.back == ""
    assert "每个 rank" in chinese.back


def test_a_question_with_one_broken_language_keeps_its_cards(cut: Cut, content: Path) -> None:
    deck = cut()
    question = deck.questions["ring"].model_copy(update={"pages": {"en": deck.questions["ring"].pages["en"]}})

    from app.cards.deck import cut_deck

    alone = cut_deck((question,))

    assert set(alone.by_id) == IDS
    assert alone.by_id["ring/concept/ring"].face("zh") == deck.by_id["ring/concept/ring"].face("en")


def test_a_calculator_in_a_follow_up_is_a_link_on_its_card_and_a_drill_of_its_own(cut: Cut) -> None:
    deck = cut()
    face = deck.by_id["ring/followup/two"].face("en")
    assert isinstance(face, Basic)

    assert "(/calculators/busbw?ranks=2)" in face.back
    assert isinstance(deck.by_id["ring/drill/two-ranks"].face("en"), Exercise)


def test_a_comparison_in_a_follow_up_is_linked_with_both_its_schedules() -> None:
    embed = Embed(
        kind="timeline",
        id="slow",
        slug="gtp-chain",
        inputs={"layers": "3", "all_gather": "1/2"},
        compare={"all_gather": "4"},
        expect={},
        caption="Above [fast], below slow.",
        line=1,
    )

    link = "[Open the timeline](/timelines/gtp-chain?layers=3&all_gather=1/2&vs.all_gather=4)"
    assert as_markdown(embed, language="en") == f"Above [fast], below slow. {link}"


@pytest.mark.parametrize(
    ("term", "body", "hidden"),
    [
        ("Ring", "A ring is a Ring, rings are not a string.", "A […] is a […], […] are not a string."),
        ("Bus bandwidth (busbw)", "busbw, or bus bandwidth.", "[…], or […]."),
        ("`GTP_remat`", "A `GTP_remat` group; `GTP_remat.py`.", "A […] group; `GTP_remat.py`."),
        ("跑道(runway)", "跑道是计算,runway 也是。", "[…]是计算,[…] 也是。"),
        ("n", "n is $n$.", "n is $n$."),
        ("Size S", "The size S is $S$.", "The […] is $S$."),
        ("C++ (a.b)", "C++ or a.b, not axb.", "[…] or […], not axb."),
        ("$x$", "The $x$ axis.", "The $x$ axis."),
    ],
)
def test_the_term_is_hidden_from_its_own_definition(term: str, body: str, hidden: str) -> None:
    assert hide_term(body, term=term) == hidden
