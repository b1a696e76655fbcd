"""The library over real files: look-ups, broken neighbours, refreshing."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.content.library import Broken, Library
from app.content.model import Problem
from app.content.parse import parse_question
from app.core.errors import NotFound
from app.core.i18n import same

Said = Callable[[tuple[Problem, ...]], list[str]]


def test_reads_topics_and_questions_in_order(folder: Any) -> None:
    folder.topic("second", "order: 2\ntitle: {en: S, zh: S}\nsummary: {en: S, zh: S}\n")
    folder.topic("first", "order: 1\ntitle: {en: F, zh: F}\nsummary: {en: F, zh: F}\n")
    folder.question("b", topic="second")
    folder.question("z", topic="first", yaml="slug: z\norder: 1\nstatus: inferred\n")
    folder.question("a", topic="first", yaml="slug: a\norder: 2\nstatus: inferred\n")

    library = Library(folder.root)

    assert library.problems() == ()
    assert [topic.slug for topic in library.topics] == ["first", "second"]
    assert [question.slug for question in library.questions()] == ["z", "a", "b"]
    assert [question.slug for question in library.questions("second")] == ["b"]
    assert library.questions("third") == ()
    assert library.question("a").topic == "first"


def test_an_unknown_slug_is_not_found(folder: Any) -> None:
    folder.topic()

    with pytest.raises(NotFound):
        Library(folder.root).question("nowhere")


def test_a_broken_question_hides_no_other(folder: Any, said: Said) -> None:
    folder.question("fine")
    folder.question("broken", yaml="slug: [broken\n")
    library = Library(folder.root)

    assert library.question("fine").slug == "fine"
    assert [question.slug for question in library.questions()] == ["fine"]
    assert dict(library.broken) == {"broken": "parallelism"}
    with pytest.raises(Broken) as caught:
        library.question("broken")
    assert caught.value.topic == "parallelism"
    assert caught.value.problems == library.problems("broken") == library.problems()
    assert len(said(library.problems())) == 1
    assert library.problems("fine") == ()


def test_a_topic_without_its_file_still_shows_its_questions(folder: Any, said: Said) -> None:
    folder.question("fine")
    (folder.root / "parallelism" / "topic.yaml").unlink()
    library = Library(folder.root)

    assert said(library.problems()) == ["topic.yaml:1: This file is missing."]
    assert library.topics[0].title == same("parallelism")
    assert [question.slug for question in library.questions()] == ["fine"]


def test_a_missing_folder_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    library = Library(tmp_path / "nowhere")

    assert [problem.what for problem in library.problems()] == ["No content was found in this folder."]
    assert library.questions() == ()
    assert library.topics == ()


def test_a_slug_stands_once_in_all_topics(folder: Any, said: Said) -> None:
    folder.question("twice", topic="aaa")
    folder.question("twice", topic="bbb")
    library = Library(folder.root)

    assert library.question("twice").topic == "aaa"
    assert len(library.questions()) == 1
    assert said(library.problems()) == ["question.yaml:1: The slug `twice` is taken by aaa/twice."]


def head(slug: str, prerequisites: str) -> str:
    return f"slug: {slug}\norder: 1\nstatus: inferred\nprerequisites: [{prerequisites}]\n"


def test_prerequisites_are_questions_or_planned_ones(folder: Any, said: Said) -> None:
    folder.topic(
        text="order: 1\ntitle: {en: T, zh: T}\nsummary: {en: S, zh: S}\nplanned: [{slug: later, title: {en: L, zh: L}}]\n"
    )
    folder.question("one", yaml=head("one", "later, two, nowhere, one"))
    folder.question("two")

    assert said(Library(folder.root).problems()) == [
        "question.yaml:4: There is no question `nowhere`.",
        "question.yaml:4: The question is its own prerequisite.",
    ]


def test_prerequisites_that_lead_in_a_circle_are_named(folder: Any, said: Said) -> None:
    folder.question("one", yaml=head("one", "two"))
    folder.question("two", yaml=head("two", "three"))
    folder.question("three", yaml=head("three", "one"))
    folder.question("four", yaml=head("four", "one"))

    problems = Library(folder.root).problems()
    assert said(problems) == ["question.yaml:4: The prerequisites lead back to this question."] * 3
    assert {problem.path.parent.name for problem in problems} == {"one", "two", "three"}


def test_a_planned_question_that_is_written_is_named(folder: Any, said: Said) -> None:
    planned = "planned: [{slug: one, title: {en: L, zh: L}}, {slug: x, title: {en: L, zh: L}}, {slug: x, title: {en: L, zh: L}}]\n"
    folder.topic(text="order: 1\ntitle: {en: T, zh: T}\nsummary: {en: S, zh: S}\n" + planned)
    folder.question("one")

    assert said(Library(folder.root).problems()) == [
        "topic.yaml:1: `one` is planned but already written.",
        "topic.yaml:1: `x` is planned twice.",
    ]


def test_what_is_no_content_is_passed_over(folder: Any) -> None:
    place = folder.question("fine")
    (folder.root / "README.md").write_text("# Format")
    (folder.root / ".git").mkdir()
    (folder.root / "parallelism" / ".cache").mkdir()
    (place / "notes.txt").write_text("later")
    (place / "en.md~").write_text("# Old")

    assert Library(folder.root).problems() == ()


def test_a_folder_in_place_of_a_file_is_a_problem(folder: Any, said: Said) -> None:
    place = folder.question("odd")
    (place / "en.md").unlink()
    (place / "en.md").mkdir()
    library = Library(folder.root)

    assert said(library.problems()) == ["en.md:1: The file cannot be read: Is a directory."]
    assert set(library.question("odd").pages) == {"zh"}


def test_refresh_sees_changed_added_and_removed_files(folder: Any) -> None:
    place = folder.question("one")
    library = Library(folder.root)
    revision = library.revision
    assert library.refresh() is False
    assert library.revision == revision

    (place / "en.md").write_text("# Another title\n")
    assert library.refresh() is True
    assert library.question("one").pages["en"].title == "Another title"
    assert library.revision == revision + 1

    folder.question("two")
    assert library.refresh() is True
    assert [question.slug for question in library.questions()] == ["one", "two"]

    for path in (folder.root / "parallelism" / "two").iterdir():
        path.unlink()
    (folder.root / "parallelism" / "two").rmdir()
    assert library.refresh() is True
    assert [question.slug for question in library.questions()] == ["one"]


def test_an_edit_within_the_same_time_stamp_and_size_is_seen(folder: Any) -> None:
    """File systems stamp in steps of milliseconds: a second save in the same step must not be lost."""
    place = folder.question("one", en="# Title A\n")
    library = Library(folder.root)
    stamp = (place / "en.md").stat()
    (place / "en.md").write_text("# Title B\n")
    os.utime(place / "en.md", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    assert library.refresh() is True
    assert library.question("one").pages["en"].title == "Title B"


def test_touching_a_file_changes_nothing(folder: Any) -> None:
    place = folder.question("one")
    library = Library(folder.root)
    before = library.question("one")
    os.utime(place / "en.md", ns=(1, 1))

    assert library.refresh() is False
    assert library.question("one") is before


def test_only_the_changed_question_is_read_again(folder: Any) -> None:
    folder.question("one")
    folder.question("two")
    library = Library(folder.root)
    untouched = library.question("one")
    (folder.root / "parallelism" / "two" / "zh.md").write_text("# 新标题\n")

    assert library.refresh() is True
    assert library.question("one") is untouched


def test_mending_a_broken_question_brings_it_back(folder: Any) -> None:
    folder.question("one", en="# T\n\n## nothing\n\nX\n", zh="# T\n\n## nothing\n\nX\n")
    library = Library(folder.root)
    with pytest.raises(Broken):
        library.question("one")

    folder.question("one")
    assert library.refresh() is True
    assert set(library.question("one").pages) == {"en", "zh"}
    assert library.problems() == ()


@given(
    st.lists(
        st.sampled_from(
            [
                "# T\n",
                "## must\n",
                "- a ==b== {#c}\n",
                "```\n",
                "### x {#y}\n",
                "text\n",
                "\n",
                "> ",
                "  ",
                "| a |\n|--|\n",
            ]
        ),
        max_size=15,
    ).map("".join)
)
def test_no_file_can_break_the_parser(text: str) -> None:
    read = parse_question(
        Path("t/q"), {"question.yaml": b"slug: q\norder: 1\nstatus: inferred\n", "en.md": text.encode()}
    )

    lines = text.count("\n") + 1
    assert all(1 <= problem.line <= lines for problem in read.problems)
    assert all(problem.remedy for problem in read.problems)
