"""Factories for content files, and a renderer whose numbers are fixed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.content.model import Problem, Question
from app.content.parse import ReadQuestion, parse_question
from app.content.render import Renderer
from app.core.errors import NotFound
from app.core.i18n import Text

YAML = """\
slug: tp-communication
order: 20
status: inferred
sources:
  paper: {title: A paper, locator: section 3, checked: 2026-11-29}
  code: {title: Its code, locator: line 12, url: "https://example.org", checked: 2026-11-29}
"""
TOPIC = "order: 10\ntitle: {en: Parallelism, zh: 并行}\nsummary: {en: How a model is split., zh: 模型怎样切分。}\n"
PAGE = "# A title\n"


@dataclass(frozen=True)
class ContentFolder:
    """A content folder that tests write into."""

    root: Path

    def topic(self, name: str = "parallelism", text: str = TOPIC) -> Path:
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "topic.yaml").write_text(text, encoding="utf-8")
        return folder

    def question(
        self, slug: str, *, topic: str = "parallelism", yaml: str | None = None, en: str = PAGE, zh: str = PAGE
    ) -> Path:
        if not (self.root / topic / "topic.yaml").exists():
            self.topic(topic)
        folder = self.root / topic / slug
        folder.mkdir(parents=True, exist_ok=True)
        head = YAML.replace("tp-communication", slug) if yaml is None else yaml
        for name, text in (("question.yaml", head), ("en.md", en), ("zh.md", zh)):
            (folder / name).write_text(text, encoding="utf-8")
        return folder


@pytest.fixture
def folder(tmp_path: Path) -> ContentFolder:
    return ContentFolder(tmp_path / "content")


@pytest.fixture
def read() -> Callable[..., ReadQuestion]:
    """`read(en=..., zh=..., yaml=...)` parses one question; the twin defaults to the same text."""

    def read(en: str = PAGE, zh: str | None = None, yaml: str = YAML) -> ReadQuestion:
        files = {"question.yaml": yaml.encode(), "en.md": en.encode(), "zh.md": (en if zh is None else zh).encode()}
        return parse_question(Path("parallelism/tp-communication"), files)

    return read


@pytest.fixture
def question(read: Callable[..., ReadQuestion]) -> Question:
    """A question with the sources `paper` and `code`."""
    found = read().question
    assert found is not None
    return found


def fixed_numbers(kind: str, slug: str, result: str, inputs: Mapping[str, str]) -> Text:
    """An evaluator for the renderer that knows one calculator and shows what it was asked."""
    if slug != "known":
        raise NotFound(Text(f"There is no {kind} {slug}.", f"没有 {slug}。"))
    value = inputs.get("value", "64")
    return Text(f"{value} MiB", f"{value} 兆")


@pytest.fixture
def renderer() -> Renderer:
    return Renderer(fixed_numbers)


@pytest.fixture
def html(renderer: Renderer, question: Question) -> Callable[..., str]:
    """`html(markdown)` renders a block in English."""

    def html(markdown: str, language: str = "en") -> str:
        return renderer.block(markdown, question=question, language="zh" if language == "zh" else "en").strip()

    return html


@pytest.fixture
def said() -> Callable[[tuple[Problem, ...]], list[str]]:
    """The problems as `file:line: what`."""

    def said(problems: tuple[Problem, ...]) -> list[str]:
        return [f"{problem.path.name}:{problem.line}: {problem.what}" for problem in problems]

    return said
