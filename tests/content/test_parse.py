"""A question from its three files: metadata, missing files, citations, the twin languages."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from app.content.dialect.number import Number
from app.content.model import Asked, Planned, Problem, Source, Topic
from app.content.parse import PlacedNumber, ReadQuestion, parse_question, parse_topic
from app.core.i18n import Text

Read = Callable[..., ReadQuestion]
Said = Callable[[tuple[Problem, ...]], list[str]]

FULL = """\
slug: tp-communication
order: 20
tags: [tensor-parallelism, 通信, no]
prerequisites: [tp-linear]
status: asked
experimental: 2026-08-22
verified_on: 2026-11-29
asked_by:
  - company: {en: Alibaba, zh: 阿里}
    round: {en: first interview, zh: 一面}
    quote: "tp的allreduce的次数"
    source: paper
  - company: {en: A start-up, zh: 某创业公司}
    quote: How many?
    language: en
sources:
  paper:
    title: "Megatron-LM: Training"
    locator: "§3, Fig. 4"
    url: https://arxiv.org/abs/1909.08053
    checked: 2026-11-29
"""


def test_reads_the_metadata(read: Read) -> None:
    found = read(yaml=FULL)

    assert found.problems == ()
    assert found.prerequisites == (("tp-linear", 4),)
    question = found.question
    assert question is not None
    assert question.slug == "tp-communication"
    assert question.topic == "parallelism"
    assert question.order == 20
    assert question.tags == ("tensor-parallelism", "通信", "no")
    assert question.prerequisites == ("tp-linear",)
    assert question.status == "asked"
    assert question.experimental == date(2026, 8, 22)
    assert question.verified_on == date(2026, 11, 29)
    assert question.asked_by == (
        Asked(
            company=Text("Alibaba", "阿里"),
            round=Text("first interview", "一面"),
            quote="tp的allreduce的次数",
            source="paper",
        ),
        Asked(company=Text("A start-up", "某创业公司"), quote="How many?", language="en"),
    )
    assert question.sources == (
        Source(
            key="paper",
            title="Megatron-LM: Training",
            locator="§3, Fig. 4",
            url="https://arxiv.org/abs/1909.08053",
            checked=date(2026, 11, 29),
        ),
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("order: 20\n", "", "1: `order` is missing. Add `order:`."),
        ("order: 20", "order:", "2: `order` is missing. Add `order:`."),
        ("order: 20", "ordre: 20\norder: 20", "2: `ordre` is not a field here. Did you mean `order`?"),
        ("order: 20", "order: soon", "2: `order` is not a whole number from 0 to 1,000,000. Write one, such as 20."),
        (
            "order: 20",
            "order: 9" + "9" * 5000,
            "2: `order` is not a whole number from 0 to 1,000,000. Write one, such as 20.",
        ),
        ("status: asked", "status: heard", "5: `status` cannot be 'heard'. Write 'asked' or 'inferred'."),
        ("2026-08-22", "2026-8-22", "6: `experimental` is not a date. Write it as 2026-11-29."),
        ("2026-08-22", "2026-02-30", "6: `experimental` is not a date. Write it as 2026-11-29."),
        ("2026-08-22", "1767225600", "6: `experimental` is not a date. Write it as 2026-11-29."),
        (
            "tags: [tensor-parallelism, 通信, no]",
            "tags: tp",
            "3: `tags` is not a list. Write it as [one, two] or as lines that begin with a dash.",
        ),
        (
            "[tp-linear]",
            "[TP linear]",
            "4: `prerequisites 1` cannot be 'TP linear'. Use lower-case letters, digits and dashes.",
        ),
        ("{en: Alibaba, zh: 阿里}", "{en: Alibaba}", "9: `asked_by 1 company zh` is missing. Add `zh:`."),
        (
            "{en: Alibaba, zh: 阿里}",
            "Alibaba",
            "9: `asked_by 1 company` is not written in both languages. Write `{en: …, zh: …}`.",
        ),
        (
            "{en: Alibaba, zh: 阿里}",
            "{en: Alibaba, zh: 阿里, fr: A}",
            "9: `asked_by 1 company fr` is not a field here. The fields here are en, zh.",
        ),
        (
            "    quote: How many?",
            "    quote: ''",
            "14: `asked_by 2 quote` is empty. Write something or remove the field.",
        ),
        (
            "    url: https://arxiv.org/abs/1909.08053",
            "    url: javascript:alert(1)",
            "20: `sources paper url` is not a web address. Begin it with https:// and leave out spaces.",
        ),
        ("    checked: 2026-11-29", "    check: 2026-11-29", "17: `sources paper checked` is missing. Add `checked:`."),
        (
            "source: paper",
            "source: papier",
            "12: There is no source `papier`. Add it under `sources:`, or leave it out.",
        ),
        (
            "slug: tp-communication",
            "slug: tp-comm",
            "1: The slug `tp-comm` is not the folder's name. Write `slug: tp-communication`, or rename the folder.",
        ),
        (
            FULL,
            "- a\n- b\n",
            "1: The file holds no fields. Write `key: value` lines; content/README.md has an example.",
        ),
        (FULL, "", "1: The file holds no fields. Write `key: value` lines; content/README.md has an example."),
    ],
)
def test_a_wrong_field_is_named_with_its_line_and_remedy(old: str, new: str, expected: str, read: Read) -> None:
    found = read(yaml=FULL.replace(old, new, 1))

    assert expected in [f"{problem.line}: {problem.what} {problem.remedy}" for problem in found.problems]


def test_all_wrong_fields_are_named_at_once(read: Read, said: Said) -> None:
    found = read(yaml="slug: tp-communication\norder: x\nstatus: y\nfoo: z\n")

    assert found.question is None
    assert said(found.problems) == [
        "question.yaml:2: `order` is not a whole number from 0 to 1,000,000.",
        "question.yaml:3: `status` cannot be 'y'.",
        "question.yaml:4: `foo` is not a field here.",
    ]


def test_asked_without_an_asker_is_a_contradiction(read: Read, said: Said) -> None:
    found = read(yaml="slug: tp-communication\norder: 1\nstatus: asked\n")

    assert said(found.problems) == ["question.yaml:3: The status is `asked` but nobody is named."]
    assert found.question is not None


def test_a_broken_language_leaves_the_other_readable(read: Read, said: Said) -> None:
    found = read(en="# Title\n\n## nothing\n\nText.\n", zh="# 标题\n")

    assert said(found.problems) == ["en.md:3: There is no section `nothing`."]
    assert found.question is not None
    assert set(found.question.pages) == {"zh"}
    assert found.question.page("en").title == "标题"


def test_missing_files_are_problems_but_one_language_is_enough() -> None:
    files = {"question.yaml": FULL.encode(), "zh.md": "# 标题\n".encode()}
    found = parse_question(Path("parallelism/tp-communication"), files)

    assert [str(problem) for problem in found.problems] == [
        "parallelism/tp-communication/en.md:1: This file is missing. content/README.md has an example."
    ]
    assert found.question is not None


def test_a_citation_of_an_unknown_source_is_named(read: Read, said: Said) -> None:
    found = read(
        en="# T\n\n## answer\n\nOne[^paper],\ntwo[^papier], `[^code]` \\[^no] $[^a]$.\n", zh="# T\n\n## answer\n\nX\n"
    )

    assert said(found.problems) == ["en.md:6: [^papier] names no source."]


def test_citations_in_lists_tables_headings_and_captions_count(read: Read, said: Said) -> None:
    text = (
        "# T[^a]\n\n## concepts\n\n### C[^b] {#c}\n\n- item[^c]\n\n  more[^d]\n\n| x |\n|---|\n| y[^e] |\n\n"
        "## worked\n\n```calculator x {#y}\ncaption: Z[^f]\n```\n"
    )

    assert said(read(en=text).problems)[:6] == [
        "en.md:1: [^a] names no source.",
        "en.md:5: [^b] names no source.",
        "en.md:7: [^c] names no source.",
        "en.md:9: [^d] names no source.",
        "en.md:13: [^e] names no source.",
        "en.md:17: [^f] names no source.",
    ]


def test_computed_numbers_are_listed_with_their_place(read: Read) -> None:
    found = read(
        en="# T\n\n## answer\n\nA\n{{calc:a-b:c_d?x=1%2F3&y=2%5E30}} {{timeline:e:f}}\n", zh="# T\n\n## answer\n\nX\n"
    )

    path = Path("parallelism/tp-communication/en.md")
    assert found.numbers == (
        PlacedNumber(Number("calc", "a-b", "c_d", {"x": "1/3", "y": "2^30"}), path, 6),
        PlacedNumber(Number("timeline", "e", "f", {}), path, 6),
    )


ENGLISH = """\
# T

## concepts

### A {#a}

X

## must

- It takes ==four==. {#count}
- ==2=={#f} and ==2=={#b}. {#split}

## worked

```calculator tp {#t}
x: 1
expect: {y: 2}
```
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "{#a}",
            "{#other}",
            [
                "en.md:5: The concept {#a} has no twin in zh.md.",
                "zh.md:5: The concept {#other} has no twin in en.md.",
            ],
        ),
        ("==four==", "four", ["zh.md:11: The point {#count} hides other parts than in en.md."]),
        ("{#f}", "{#g}", ["zh.md:12: The point {#split} hides other parts than in en.md."]),
        ("x: 1", "x: 2", ["zh.md:16: The calculator {#t} differs from en.md in its inputs."]),
        ("{y: 2}", "{y: 2 ± 1 %}", ["zh.md:16: The calculator {#t} differs from en.md in its expect."]),
        ("tp {#t}", "tq {#t}", ["zh.md:16: The calculator {#t} differs from en.md in its slug."]),
        ("{y: 2}", "{y: 2}\ncaption: Another.", []),
        (
            "## concepts\n\n### A {#a}\n\nX",
            "## wrong\n\n### A {#a}\n\nX",
            [
                "en.md:5: The concept {#a} is a claim in zh.md.",
                "zh.md:5: The claim {#a} is a concept in en.md.",
            ],
        ),
        (
            "## worked",
            "## answer\n\nX\n\n## worked",
            ["en.md:1: The section `answer` of zh.md is missing."],
        ),
    ],
)
def test_twins_that_differ_are_named(old: str, new: str, expected: list[str], read: Read, said: Said) -> None:
    found = read(en=ENGLISH, zh=ENGLISH.replace(old, new, 1))

    assert said(found.problems) == expected
    assert found.question is not None


def test_reads_a_topic() -> None:
    text = (
        "order: 10\ntitle: {en: Parallelism, zh: 并行}\nsummary: {en: How., zh: 怎样。}\n"
        "planned:\n  - {slug: tp-linear, title: {en: TP, zh: 线性}}\n"
    )
    topic, problems = parse_topic(text.encode(), path=Path("content/parallelism/topic.yaml"))

    assert problems == ()
    assert topic == Topic(
        slug="parallelism",
        order=10,
        title=Text("Parallelism", "并行"),
        summary=Text("How.", "怎样。"),
        planned=(Planned(slug="tp-linear", title=Text("TP", "线性")),),
    )


def test_a_topic_with_mistakes_is_none_and_says_why(said: Said) -> None:
    topic, problems = parse_topic(b"order: 10\ntitle: P\nplanned: [{slug: A b}]\n", path=Path("p/topic.yaml"))

    assert topic is None
    assert said(problems) == [
        "topic.yaml:2: `title` is not written in both languages.",
        "topic.yaml:1: `summary` is missing.",
        "topic.yaml:3: `planned 1 slug` cannot be 'A b'.",
        "topic.yaml:3: `planned 1 title` is missing.",
    ]
