"""Drills with fresh numbers, claims to judge, timelines to read: repeatable, solvable, and judged by the engines."""

from collections.abc import Callable

import pytest

from app.calculators import catalog
from app.cards import exercises
from app.cards.answers import check
from app.cards.deck import Deck
from app.cards.exercises import draw, read, to_values
from app.cards.faces import Attempt, Shown, face_of, judge, suggested
from app.cards.model import Grade
from app.content.model import Embed, Expectation
from app.content.render import Renderer
from app.core.i18n import Language, same

SLUGS = sorted(catalog.calculators())


def calculator(slug: str, *, expect: dict[str, float] | None = None, **inputs: str) -> Embed:
    expectations = {name: Expectation(value=value) for name, value in (expect or {}).items()}
    return Embed(kind="calculator", id="x", slug=slug, inputs=inputs, expect=expectations, line=1)


def timeline(slug: str, **inputs: str) -> Embed:
    return Embed(kind="timeline", id="x", slug=slug, inputs=inputs, line=1)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_calculator_makes_drills_that_differ_and_repeat(slug: str) -> None:
    embed = calculator(slug)
    seeds = [f"card:{repetition}" for repetition in range(8)]

    drawn = [draw(embed, seed=seed) for seed in seeds]

    assert [draw(embed, seed=seed) for seed in seeds] == drawn
    assert len({(drill.name, drill.result.value) for drill in drawn}) > 1


@pytest.mark.parametrize("slug", SLUGS)
def test_the_right_result_is_accepted_and_known_mistakes_are_not(slug: str) -> None:
    """With every number that may be drawn: a mistake within the tolerance would make the exercise a lottery."""
    units = {"bytes": "B", "elements": "", "": ""}
    for repetition in range(12):
        drill = draw(calculator(slug), seed=f"card:{repetition}")
        unit = units.get(drill.result.unit, drill.result.unit)

        verdict = check(f"{drill.result.value!r} {unit}", value=drill.result.value, unit=drill.result.unit)

        assert verdict.kind == "right", (drill.name, verdict)
        for mistake in drill.wrong_answers:
            typed = f"{mistake.value!r} {units.get(mistake.unit, mistake.unit)}"
            judged = check(typed, value=drill.result.value, unit=drill.result.unit, wrong_answers=drill.wrong_answers)
            assert judged.kind == "wrong", (drill.name, mistake.title.en)


@pytest.mark.parametrize("slug", SLUGS)
def test_what_is_given_is_enough_to_get_the_result(slug: str) -> None:
    for repetition in range(10):
        drill = draw(calculator(slug), seed=f"card:{repetition}")
        given = {item.field.name: item.value for item in drill.given}

        outcome = catalog.run(slug, given)[1]

        assert outcome.results[drill.name].value == drill.result.value


def test_an_input_that_does_not_matter_is_not_given() -> None:
    drill = draw(calculator("tp-communication", expect={"message_bytes": 1}), seed="card:0")

    assert drill.name == "message_bytes"
    assert "bandwidth_gb_per_s" not in {item.field.name for item in drill.given}


def test_what_the_author_works_out_is_what_is_asked() -> None:
    embed = calculator("tp-communication", expect={"time_per_all_reduce_s": 1})

    assert {draw(embed, seed=str(seed)).name for seed in range(12)} == {"time_per_all_reduce_s"}


def test_the_derivation_ends_with_the_result() -> None:
    drill = draw(calculator("tp-communication"), seed="card:1")

    assert drill.steps[-1].result == drill.name


def test_a_block_whose_inputs_do_not_fit_the_draw_is_drawn_from_defaults() -> None:
    """Sequence parallelism with a length that no drawn size divides."""
    embed = calculator("tp-communication", sequence_parallel="true", layers="3")

    assert exercises.is_drill(embed)
    assert draw(embed, seed="card:0").result.value > 0


def test_a_calculator_that_is_gone_makes_no_drill() -> None:
    assert not exercises.is_drill(calculator("no-such-thing"))
    assert not exercises.is_readable(timeline("no-such-thing"))


def test_the_first_gather_of_a_prefetched_chain_is_the_exposed_one() -> None:
    reading = read(timeline("gtp-chain", layers="4", gemm="3", all_gather="2", **{"pass": "forward"}))

    assert [item for item in reading.choices if item in reading.exposed] == [reading.choices[0]]
    assert reading.run.summary["exposed"] == 2


def test_of_a_cold_start_every_gather_is_exposed() -> None:
    reading = read(timeline("gtp-chain", layers="4", gemm="3", all_gather="2", **{"pass": "cold_start"}))

    assert reading.exposed == set(reading.choices)


def test_a_gather_longer_than_its_gemm_sticks_out() -> None:
    reading = read(timeline("gtp-chain", layers="3", gemm="2", all_gather="3", **{"pass": "forward"}))

    assert reading.exposed == set(reading.choices)


def test_lanes_list_every_block_once() -> None:
    reading = read(timeline("gtp-chain", **{"pass": "step"}))

    listed = [block.id for lane in reading.lanes for block in lane.blocks]

    assert sorted(listed) == sorted(operation.id for operation in reading.run.operations)


@pytest.fixture
def deck(cut: Callable[[], Deck]) -> Deck:
    return cut()


def show(deck: Deck, card: str, *, reps: int = 0, language: Language = "en") -> Shown:
    def evaluate(*_: object) -> object:
        return same("?")

    renderer = Renderer(evaluate)  # type: ignore[arg-type]
    found = deck.by_id[card]
    return face_of(found, question=deck.questions["ring"], renderer=renderer, language=language, reps=reps)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_card_has_a_front_and_a_back(deck: Deck, language: Language) -> None:
    for card in deck.by_id:
        shown = show(deck, card, language=language)

        assert shown.drill or shown.reading or (shown.front and (shown.back or shown.spoken)), card


def test_the_spoken_answer_is_english_and_its_gloss_is_not(deck: Deck) -> None:
    """They stand apart, so that a screen reader changes its voice between them."""
    shown = show(deck, "ring/answer", language="zh")

    assert "A ring sends" in shown.spoken
    assert "A ring sends" not in shown.back
    assert "每个 rank" in shown.back


def test_a_gap_is_empty_on_the_front_and_filled_on_the_back(deck: Deck) -> None:
    shown = show(deck, "ring/cloze/steps")

    assert "n - 1" not in shown.front
    assert "two" in shown.front
    assert "n - 1" in shown.back


def test_both_languages_see_the_same_numbers(deck: Deck) -> None:
    english, chinese = (show(deck, "ring/drill/eight", language=language) for language in ("en", "zh"))

    assert english.drill is not None
    assert chinese.drill is not None
    assert to_values(catalog.run("tp-communication", english.drill.query)[0]) == to_values(
        catalog.run("tp-communication", chinese.drill.query)[0]
    )


def test_the_next_repetition_has_other_numbers(deck: Deck) -> None:
    drills = {repr(show(deck, "ring/drill/eight", reps=reps).drill) for reps in range(6)}

    assert len(drills) > 3


def test_a_claim_is_sometimes_the_wrong_one_and_sometimes_the_fact(deck: Deck) -> None:
    shown = [show(deck, "ring/wrong/once", reps=reps) for reps in range(30)]

    assert {item.is_true for item in shown} == {True, False}
    for item in shown:
        assert ("nearly twice" in item.front) == item.is_true
        assert ("nearly twice" in item.back) != item.is_true


def test_a_citation_on_a_card_leads_to_its_study_page(deck: Deck) -> None:
    shown = show(deck, "ring/concept/ring")

    assert 'href="/study/rings/ring#source-perf"' in shown.back


@pytest.mark.parametrize("reps", range(6))
def test_a_judged_claim_gets_its_verdict(deck: Deck, reps: int) -> None:
    shown = show(deck, "ring/wrong/once", reps=reps)
    truth = "true" if shown.is_true else "false"
    lie = "false" if shown.is_true else "true"

    right, wrong = judge(shown, Attempt(said=truth)), judge(shown, Attempt(said=lie))

    assert right is not None
    assert wrong is not None
    assert (right.kind, suggested(right)) == ("right", Grade.GOOD)
    assert (wrong.kind, suggested(wrong)) == ("wrong", Grade.AGAIN)
    assert judge(shown, Attempt(said="maybe")) is None


def test_a_timeline_is_right_only_with_exactly_the_exposed_blocks(deck: Deck) -> None:
    shown = show(deck, "ring/timeline/chain")
    assert shown.reading is not None
    first, second, *_ = shown.reading.choices

    def verdict(*picked: str) -> str:
        judged = judge(shown, Attempt(picked=picked, has_picked=True))
        assert judged is not None
        return f"{judged.kind}: {judged.message.en}" if judged.message else judged.kind

    assert verdict(first) == "right"
    assert verdict().startswith("wrong: Exposed, but not picked")
    assert "hidden under compute" in verdict(first, second)
    assert verdict(first, "no-such-block").startswith("wrong")
    assert judge(shown, Attempt()) is None
