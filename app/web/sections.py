"""The sections of a question page in the order a candidate needs them, with their headings.

The slug of a section is the name the author writes after `##`, and its anchor on the page.
"""

from dataclasses import dataclass

from app.content.model import Page, Question
from app.core.i18n import Text


@dataclass(frozen=True, slots=True)
class Section:
    """One section: `slug` is the anchor, `title` the heading, `short` the entry in the page's contents."""

    slug: str
    title: Text
    short: Text


SECTIONS = (
    Section("asked", Text("How it is asked", "面试里怎么问"), Text("How it is asked", "怎么问")),
    Section("concepts", Text("Concepts", "核心概念"), Text("Concepts", "核心概念")),
    Section("picture", Text("The picture", "看图"), Text("The picture", "看图")),
    Section("answer", Text("The 30-second answer", "30 秒口头回答"), Text("30-second answer", "30 秒回答")),
    Section("compare", Text("Comparison", "对比"), Text("Comparison", "对比")),
    Section("derivation", Text("Derivation", "推导"), Text("Derivation", "推导")),
    Section("worked", Text("Work it out", "动手算"), Text("Work it out", "动手算")),
    Section("must", Text("Must-hit points", "必须说到的点"), Text("Must-hit points", "必须说到")),
    Section("followups", Text("Follow-ups", "追问"), Text("Follow-ups", "追问")),
    Section("wrong", Text("Commonly said, and wrong", "常见的错误说法"), Text("Wrong and right", "错误说法")),
    Section("sources", Text("Sources", "来源"), Text("Sources", "来源")),
)


def sections_of(question: Question, page: Page) -> tuple[Section, ...]:
    """The sections this page has something to show in."""
    filled = {
        "asked": bool(page.asked or question.asked_by),
        "answer": bool(page.answer or question.spoken_answer()),
        "sources": bool(question.sources),
    }
    return tuple(
        section
        for section in SECTIONS
        if filled.get(section.slug, False) or (section.slug not in filled and getattr(page, section.slug))
    )
