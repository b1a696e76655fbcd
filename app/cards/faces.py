"""A card ready to be shown: its front and back as HTML, and the exercise on it, for one repetition.

`face_of` asks the content renderer for Markdown and draws what changes from time to time (numbers, or whether a
claim or the fact is shown) by card id and repetition. `judge` says whether what the learner did was right.
"""

import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from app.cards import exercises
from app.cards.answers import Verdict, check
from app.cards.exercises import Drill, Reading
from app.cards.model import Basic, Card, Claim, Exercise, Grade, Hidden
from app.content.model import MustHit, Question
from app.core.i18n import Language, Text


class Renderer(Protocol):
    """The part of `app.content.render.Renderer` that a card needs."""

    def block(self, markdown: str, *, question: Question, language: Language) -> str: ...
    def cloze_front(self, point: MustHit, key: str, *, question: Question, language: Language) -> str: ...
    def cloze_back(self, point: MustHit, key: str, *, question: Question, language: Language) -> str: ...


@dataclass(frozen=True, slots=True)
class Shown:
    """One card as the learner sees it. `front`, `back` and `spoken` (English, above the back) are safe HTML.

    `is_true` is set for a claim to be judged; `drill` and `reading` for an exercise.
    """

    card: Card
    prompt: Text
    front: str
    back: str
    spoken: str = ""
    is_true: bool | None = None
    drill: Drill | None = None
    reading: Reading | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the learner did before the answer was shown: typed a result, judged a claim, picked blocks."""

    typed: str = ""
    said: str = ""
    picked: Collection[str] = ()
    has_picked: bool = False


PROMPTS = {
    "answer": Text("Say it aloud in 30 seconds.", "用 30 秒把答案说出来。"),
    "concept": Text("What is it?", "这是什么？"),
    "concept-reverse": Text("Which term is this?", "这说的是哪个术语？"),
    "followup": Text("What do you answer?", "你怎么回答？"),
    "cloze": Text("What belongs in the gap?", "空格里填什么？"),
    "wrong": Text("True or false?", "对还是错？"),
    "drill": Text("Work it out, with its unit.", "算出结果，写上单位。"),
    "timeline": Text(
        "Which communication blocks run, at least partly, while compute stands idle?",
        "哪些通信块（至少有一部分）执行时，计算处于空闲？",
    ),
}


def face_of(card: Card, *, question: Question, renderer: Renderer, language: Language, reps: int) -> Shown:
    """The card as it is shown for repetition `reps`."""
    face = card.face(language)
    # A card that stands in one language only is shown in that one.
    language = language if language in card.faces else next(iter(card.faces))
    seed = f"{card.id}:{reps}"
    prompt = PROMPTS[card.kind]

    def html(markdown: str) -> str:
        return _with_full_links(renderer.block(markdown, question=question, language=language), card)

    match face:
        case Basic():
            spoken = renderer.block(face.spoken, question=question, language="en") if face.spoken else ""
            back = html(face.back) if face.back else ""
            return Shown(card, prompt, html(face.front), back, spoken=_with_full_links(spoken, card))
        case Hidden():
            front = renderer.cloze_front(face.must, face.key, question=question, language=language)
            back = renderer.cloze_back(face.must, face.key, question=question, language=language)
            return Shown(card, prompt, _with_full_links(front, card), _with_full_links(back, card))
        case Claim():
            is_true = random.Random(seed).random() < 0.5  # noqa: S311 - varies a card, guards nothing
            shown, other = (face.fact, face.claim) if is_true else (face.claim, face.fact)
            return Shown(card, prompt, html(shown), html(other), is_true=is_true)
        case Exercise() if card.kind == "drill":
            return Shown(card, prompt, "", "", drill=exercises.draw(face.embed, seed=seed))
        case Exercise():
            return Shown(card, prompt, "", "", reading=exercises.read(face.embed))


def source_address(card: Card) -> str:
    """The study page the card was cut from."""
    return f"/study/{card.topic}/{card.question}"


def _with_full_links(html: str, card: Card) -> str:
    """A citation points into its study page, which is elsewhere when its text stands on a card."""
    return html.replace('href="#', f'href="{source_address(card)}#')


def judge(shown: Shown, attempt: Attempt) -> Verdict | None:
    """The verdict on an attempt; None where nothing was tried, or the learner judges alone."""
    if shown.drill is not None and attempt.typed.strip():
        drill = shown.drill
        return check(attempt.typed, value=drill.result.value, unit=drill.result.unit, wrong_answers=drill.wrong_answers)
    if shown.is_true is not None and attempt.said in {"true", "false"}:
        return Verdict("right" if (attempt.said == "true") == shown.is_true else "wrong")
    if shown.reading is not None and attempt.has_picked:
        picked = frozenset(attempt.picked)
        if picked == shown.reading.exposed:
            return Verdict("right")
        return Verdict("wrong", message=_misread(shown.reading, picked))
    return None


def _misread(reading: Reading, picked: frozenset[str]) -> Text:
    labels = {operation.id: operation.label for operation in reading.run.operations}
    missed = [labels[name] for name in reading.choices if name in reading.exposed - picked]
    hidden = [labels[name] for name in reading.choices if name in picked - reading.exposed]
    parts = []
    if missed:
        names = ", ".join(missed)
        parts.append(Text(f"Exposed, but not picked: {names}.", f"暴露却没选：{names}。"))
    if hidden:
        names = ", ".join(hidden)
        parts.append(Text(f"Picked, but hidden under compute: {names}.", f"选了，但其实被计算掩盖：{names}。"))
    parts = parts or [Text("Pick from the blocks of this timeline.", "请从这条时间线的通信块中选择。")]
    return Text(" ".join(part.en for part in parts), "".join(part.zh for part in parts))


def suggested(verdict: Verdict | None) -> Grade:
    """The grade that the verdict suggests; the learner decides."""
    return Grade.AGAIN if verdict is not None and verdict.kind == "wrong" else Grade.GOOD
