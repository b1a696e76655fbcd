"""The format's description is true: every example in `content/README.md` is read and checked."""

import re
from pathlib import Path
from typing import Any

import pytest

from app.content.check import check
from app.content.library import Library
from app.content.model import SectionName
from app.content.page import SECTIONS
from app.content.render import Renderer
from app.settings import ROOT
from app.web.numbers import check_embed, check_number, evaluate

README = (ROOT / "content" / "README.md").read_text(encoding="utf-8")
YAML = re.findall(r"^```yaml\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PAGES = re.findall(r"^````markdown\n(.*?)^````$", README, re.DOTALL | re.MULTILINE)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    topic, question = YAML
    english, chinese = PAGES
    folder = tmp_path / "content" / "communication" / "tp-communication"
    folder.mkdir(parents=True)
    (folder.parent / "topic.yaml").write_text(topic, encoding="utf-8")
    (folder / "question.yaml").write_text(question, encoding="utf-8")
    (folder / "en.md").write_text(english, encoding="utf-8")
    (folder / "zh.md").write_text(chinese, encoding="utf-8")
    return Library(tmp_path / "content")


def test_the_examples_pass_the_check(library: Library) -> None:
    problems = check(library, check_embed=check_embed, check_number=check_number)

    assert [str(problem) for problem in problems] == []


def test_the_example_fills_every_section(library: Library) -> None:
    for page in library.question("tp-communication").pages.values():
        assert all(getattr(page, name) for name in SECTIONS)


def test_the_table_names_every_section() -> None:
    assert set(re.findall(r"^\| `## ([a-z]+)` \|", README, re.MULTILINE)) == set(SECTIONS)
    assert SectionName.__args__ == SECTIONS  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", re.findall(r"`(\{\{[^`]*\}\})`", README))
def test_every_number_in_the_text_can_be_computed(number: str, library: Library) -> None:
    question = library.question("tp-communication")

    html = Renderer(evaluate).inline(number, question=question, language="en")
    assert html.startswith('<span class="number">')


def test_the_two_languages_show_the_same_number(library: Library, html: Any) -> None:
    numbers = [str(placed.number) for placed in library.numbers]

    assert len(numbers) == 2
    assert len(set(numbers)) == 1
