"""A question that is printed parses back to itself, whatever its texts hold."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.content.model import Cloze, Concept, Embed, Expectation, FollowUp, Misconception, MustHit, Page, Part, Prose
from app.content.page import parse_page

EN = Path("en.md")

WORDS = st.sampled_from(
    [
        *(
            "weight",
            "显存",
            "通信量",
            "`a == b`",
            "`{{x}}`",
            "`## must`",
            "$P(A|B)$",
            "$a==b$",
            "$2.50",
            "**bold**",
            "这是**真。**她",
        ),
        *("{{calc:a:b?x=1}}", "[link](#x)", "a_b", "<b>", "\\$", "50%", "`` ` ``", "x # y", "- z", "1. one", "…", "🙂"),
    ]
)
LINE = st.lists(WORDS, min_size=1, max_size=5).map(lambda words: "It " + " ".join(words))
BLOCK = st.one_of(
    LINE,
    LINE.map(lambda text: f"- {text}\n- {text}\n\n  more"),
    LINE.map(lambda text: f"> {text}"),
    st.just("| a | b |\n|---|--:|\n| `x|y` | $P(A|B)$ |"),
    st.just("```python\n## not a section\n\n### nor {#this}\n---\n```"),
    st.just("~~~~markdown\n```calculator x {#y}\n```\n~~~~"),
    st.just("$$\na = \\frac{b}{c}\n$$"),
    st.just("    ## indented code"),
    st.just("#### a smaller heading"),
)
PROSE = st.lists(BLOCK, min_size=1, max_size=3).map("\n\n".join)
VALUE = st.sampled_from(["1", "0.1", "2^30", "1/3", "fp8", "true", "3,5,2"])
INPUTS = st.dictionaries(st.sampled_from(["layers", "size_bytes", "pass"]), VALUE, max_size=3)


@st.composite
def pages(draw: st.DrawFn) -> Page:
    ids = iter([f"id-{number}" for number in range(40)])

    def parts() -> tuple[Part, ...]:
        found: list[Part] = []
        for kind in draw(st.lists(st.sampled_from(["prose", "calculator", "timeline"]), max_size=3)):
            if kind != "prose":
                compare = draw(INPUTS) or None if kind == "timeline" else None
                expect = {"x_s": Expectation(value=0.25, relative=0.01)} if draw(st.booleans()) else {}
                found.append(
                    Embed(
                        kind="timeline" if kind == "timeline" else "calculator",
                        id=next(ids),
                        slug="gtp-chain",
                        inputs=draw(INPUTS),
                        compare=compare,
                        expect=expect,
                        caption=draw(st.sampled_from(["", "A caption: with # signs"])),
                        line=0,
                    )
                )
            elif not (found and isinstance(found[-1], Prose)):
                found.append(Prose(markdown=draw(PROSE), line=0))
        return tuple(found)

    def many() -> range:
        return range(draw(st.integers(0, 2)))

    def point() -> MustHit:
        identity, hidden = next(ids), draw(st.sampled_from(["four", "$a==b$", "`x == y`", "**真。**"]))
        if draw(st.booleans()):
            return MustHit(id=identity, markdown=f"A =={hidden}==.", clozes=(Cloze(key=identity, text=hidden),), line=0)
        one, two = next(ids), next(ids)
        clozes = (Cloze(key=one, text=hidden), Cloze(key=two, text="2"))
        return MustHit(id=identity, markdown=f"=={hidden}=={{#{one}}} or ==2=={{#{two}}}", clozes=clozes, line=0)

    return Page(
        language="en",
        path=EN,
        title=draw(LINE),
        asked=tuple(draw(LINE) for _ in many()),
        concepts=tuple(Concept(id=next(ids), term=draw(LINE), body=draw(PROSE), line=0) for _ in many()),
        picture=parts(),
        answer=draw(st.one_of(st.just(""), PROSE)),
        worked=parts(),
        must=tuple(point() for _ in many()),
        followups=tuple(
            FollowUp(id=next(ids), question=draw(LINE), answer=(Prose(markdown=draw(PROSE), line=0),), line=0)
            for _ in many()
        ),
        wrong=tuple(Misconception(id=next(ids), claim=draw(LINE), fact=draw(PROSE), line=0) for _ in many()),
    )


def printed(page: Page) -> str:
    """The page as a file an author could have written."""
    sections = {
        "asked": "\n".join(f"- {text}" for text in page.asked),
        "concepts": "\n\n".join(f"### {entry.term} {{#{entry.id}}}\n\n{entry.body}" for entry in page.concepts),
        "picture": printed_parts(page.picture),
        "answer": page.answer,
        "worked": printed_parts(page.worked),
        "must": "\n".join(f"- {point.markdown} {{#{point.id}}}" for point in page.must),
        "followups": "\n\n".join(
            f"### {entry.question} {{#{entry.id}}}\n\n{printed_parts(entry.answer)}" for entry in page.followups
        ),
        "wrong": "\n\n".join(f"### {entry.claim} {{#{entry.id}}}\n\n{entry.fact}" for entry in page.wrong),
    }
    return f"# {page.title}\n\n" + "".join(f"## {name}\n\n{text}\n\n" for name, text in sections.items() if text)


def printed_parts(parts: tuple[Part, ...]) -> str:
    return "\n\n".join(part.markdown if isinstance(part, Prose) else printed_embed(part) for part in parts)


def printed_embed(embed: Embed) -> str:
    lines = [f"{name}: '{value}'" for name, value in embed.inputs.items()]
    if embed.compare:
        lines.append("compare: {" + ", ".join(f"{name}: '{value}'" for name, value in embed.compare.items()) + "}")
    if embed.expect:
        lines += ["expect:", *(f"  {name}: {e.value} ± {e.relative * 100} %" for name, e in embed.expect.items())]
    if embed.caption:
        lines.append(f"caption: '{embed.caption}'")
    return "\n".join((f"```{embed.kind} {embed.slug} {{#{embed.id}}}", *lines, "```"))


def without_lines(value: object) -> object:
    """A dumped model with the line numbers taken out."""
    if isinstance(value, dict):
        return {name: without_lines(item) for name, item in value.items() if name != "line"}
    if isinstance(value, list | tuple):
        return [without_lines(item) for item in value]
    return value


@given(page=pages())
def test_a_printed_page_parses_back(page: Page) -> None:
    read = parse_page(printed(page).encode(), path=EN, language="en")

    assert [str(problem) for problem in read.problems] == []
    assert read.page is not None
    assert without_lines(read.page.model_dump()) == without_lines(page.model_dump())


@given(page=pages())
def test_every_line_number_points_at_its_text(page: Page) -> None:
    text = printed(page)
    lines = text.split("\n")
    read = parse_page(text.encode(), path=EN, language="en").page

    assert read is not None
    for entries in (read.concepts, read.must, read.followups, read.wrong, read.embeds()):
        assert all(f"{{#{entry.id}}}" in lines[entry.line - 1] for entry in entries)
    for part in (*read.picture, *read.worked):
        if isinstance(part, Prose):
            assert lines[part.line - 1] == part.markdown.split("\n")[0]
