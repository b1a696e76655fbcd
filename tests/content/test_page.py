"""Runs `cases/problems.md`, one test a case, and checks what a right page becomes."""

import re
import time
from pathlib import Path

import pytest

from app.content.model import Cloze, Concept, Embed, Expectation, FollowUp, Misconception, MustHit, Page, Prose
from app.content.page import parse_page

TEXT = (Path(__file__).parent / "cases" / "problems.md").read_text(encoding="utf-8")
CASES = re.findall(
    r"^## (?P<name>[^\n]+)\n\n(?P<fence>`{3,})markdown\n(?P<given>.*?)\n(?P=fence)\n\n```text\n(?P<expected>.*?)```$",
    TEXT,
    re.DOTALL | re.MULTILINE,
)
EN = Path("en.md")


def page_of(text: str) -> Page:
    read = parse_page(text.encode(), path=EN, language="en")
    assert read.problems == ()
    assert read.page is not None
    return read.page


def test_every_case_of_the_file_is_run() -> None:
    assert len(CASES) == len(re.findall("^```text$", TEXT, re.MULTILINE)) > 10


@pytest.mark.parametrize(("given", "expected"), [case[2:] for case in CASES], ids=[case[0] for case in CASES])
def test_names_every_problem_with_its_line_and_remedy(given: str, expected: str) -> None:
    read = parse_page(given.encode(), path=EN, language="en")

    assert [f"{problem.line}: {problem.what} {problem.remedy}" for problem in read.problems] == expected.splitlines()
    assert (read.page is None) == bool(expected)


def test_reads_every_section() -> None:
    page = page_of(
        "# The *title*\n"
        "\n"
        "## asked\n\n- One way\n- Another\n  way\n\n"
        "## concepts\n\n### A `term` {#term}\n\nWhat it is.\n\nMore.\n\n"
        "## answer\n\nSaid\naloud.\n\n"
        "## must\n\n- It takes ==four==. {#count}\n- ==2=={#f} and ==$a==b$=={#b}. {#split}\n- Plain. {#plain}\n\n"
        "## followups\n\n### And then? {#then}\n\nThis.\n\n"
        "## wrong\n\n### A claim {#claim}\n\nThe fact.\n"
    )

    assert page == Page(
        language="en",
        path=EN,
        title="The *title*",
        asked=("One way", "Another\nway"),
        concepts=(Concept(id="term", term="A `term`", body="What it is.\n\nMore.", line=11),),
        answer="Said\naloud.",
        must=(
            MustHit(id="count", markdown="It takes ==four==.", clozes=(Cloze(key="count", text="four"),), line=24),
            MustHit(
                id="split",
                markdown="==2=={#f} and ==$a==b$=={#b}.",
                clozes=(Cloze(key="f", text="2"), Cloze(key="b", text="$a==b$")),
                line=25,
            ),
            MustHit(id="plain", markdown="Plain.", clozes=(), line=26),
        ),
        followups=(FollowUp(id="then", question="And then?", answer=(Prose(markdown="This.", line=32),), line=30),),
        wrong=(Misconception(id="claim", claim="A claim", fact="The fact.", line=36),),
    )


def test_live_blocks_stand_between_the_text_around_them() -> None:
    page = page_of(
        "# T\n\n## worked\n\nBefore.\n\n```calculator tp-communication {#t8}\ntensor_parallel_size: 8\n"
        "sizes: [1, 2]\nflag: yes\npower: 2^30\nexpect:\n  bytes: 67,108,864\n  time: 0.26 ± 1 %\ncaption: Eight.\n```\n"
        "After.\n\n## picture\n\n~~~timeline gtp-chain {#p}\ncompare: {pass: cold_start}\n~~~\n"
    )

    before, calculator, after = page.worked
    assert before == Prose(markdown="Before.", line=5)
    assert calculator == Embed(
        kind="calculator",
        id="t8",
        slug="tp-communication",
        inputs={"tensor_parallel_size": "8", "sizes": "1,2", "flag": "yes", "power": "2^30"},
        expect={"bytes": Expectation(value=67108864), "time": Expectation(value=0.26, relative=0.01)},
        caption="Eight.",
        line=7,
    )
    assert after == Prose(markdown="After.", line=17)
    assert page.picture == (
        Embed(kind="timeline", id="p", slug="gtp-chain", inputs={}, compare={"pass": "cold_start"}, line=21),
    )


def test_prose_keeps_the_authors_bytes() -> None:
    body = "A  line with `trailing`  \n\tand a tab\\\n\n\n$$ \\frac{a}{b} \\1 $$\n\n    indented code\n\n- list\n\n  - nested"
    page = page_of(f"# T\n\n## derivation\n\n\n{body}\n\n\n## answer\n\nX\n")

    assert page.derivation == (Prose(markdown=body, line=6),)


def test_accepts_a_byte_order_mark_and_any_line_ending() -> None:
    text = "# 标题\n\n## answer\n\n一\n二\n"
    windows = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    old = text.replace("\n", "\r").encode()

    expected = page_of(text)
    assert parse_page(windows, path=EN, language="en").page == expected
    assert parse_page(old, path=EN, language="en").page == expected


@pytest.mark.parametrize("separator", ["\u2028", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_only_line_feeds_count_as_lines(separator: str) -> None:
    """`str.splitlines` splits at more characters than Markdown does; line numbers would drift."""
    page = page_of(f"# T\n\n## answer\n\na{separator}b\n\n## wrong\n\n### C {{#c}}\n\nF{separator}G\n")

    assert page.wrong[0].line == 9
    assert page.wrong[0].fact == f"F{separator}G"


def test_says_where_a_file_stops_being_utf8() -> None:
    read = parse_page(b"# T\n\n\xff\xfe", path=EN, language="en")

    assert [str(problem) for problem in read.problems] == ["en.md:3: The file is not UTF-8 here. Save it as UTF-8."]


def test_refuses_a_file_that_was_put_here_by_mistake() -> None:
    read = parse_page(b"a" * 2_000_001, path=EN, language="en")

    assert [problem.what for problem in read.problems] == ["The file is larger than 2,000,000 bytes."]


@pytest.mark.parametrize(
    "unit", ["| a | b |\n|--|\n", "| a |\n|--|\n| `a|b` |\n\n", "x\n---\n", "> ", "- ", "$$\n", "[^", "{{", "`"]
)
def test_long_runs_of_blocks_take_no_time(unit: str) -> None:
    """A rule that looks ahead from every line would need minutes for a long file."""
    begin = time.process_time()
    parse_page(f"# T\n\n## derivation\n\n{unit * 4000}".encode(), path=EN, language="en")

    assert time.process_time() - begin < 5
