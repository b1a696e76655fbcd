"""The quick scan for marks agrees with the full inline parser."""

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from app.content import dialect
from app.content.findings import Findings
from app.content.inline import Marks, scan

MARKDOWN = dialect.make()
PIECES = st.sampled_from(
    [
        *("`", "``", "\\", "$", "$$", "[^key]", "[^", "{{calc:a:b}}", "{{calc:a:b?x=1}}", "{{no}}", "{{", "}}"),
        *("*", "**", "==", "_", "[", "]", "a", "5", " ", "中", "。", "\n", "<https://x.org>", "<b>", "x"),
    ]
)


def parsed(text: str) -> tuple[list[str], list[str]]:
    """Citations and numbers as the full parser sees them."""
    citations, numbers = [], []
    (inline,) = MARKDOWN.parseInline(text)
    waiting = list(inline.children or ())
    for token in waiting:
        if token.type == "citation":
            citations.append(token.content)
        elif token.type == "number":
            numbers.append(token.content)
    return citations, numbers


@given(st.lists(PIECES, max_size=14).map("".join))
@example("`` ` [^key] ``")
@example("\\`[^key]`")
@example("$5 [^key] and $6")
@example("$a [^key]$ $b [^key] c$")
@example("$$ [^key] $$ {{calc:a:b}}")
@example("\\\\`[^key]`")
@example("\\{{{{calc:a:b}}")
def test_scan_finds_the_marks_that_the_parser_finds(text: str) -> None:
    marks, findings = Marks(), Findings(Path("x.md"))
    scan(text, line=1, marks=marks, findings=findings)

    citations, numbers = parsed(text)
    assert [key for key, _ in marks.citations] == citations
    assert len(marks.numbers) + sum("names no computed" in p.what for p in findings.problems) == len(numbers)


def test_marks_know_their_lines() -> None:
    marks = Marks()
    scan("one\ntwo[^a]\n\nfour {{calc:b:c}}[^d]", line=10, marks=marks, findings=Findings(Path("x.md")))

    assert marks.citations == [("a", 11), ("d", 13)]
    assert [line for _, line in marks.numbers] == [13]
