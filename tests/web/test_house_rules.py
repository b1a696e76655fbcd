"""Rules every page keeps, checked over the templates and over what is really served."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import ROOT, Settings

MODULES = sorted(path.relative_to(ROOT) for path in (ROOT / "app").rglob("*.py"))
TEMPLATES = sorted(path.relative_to(ROOT) for path in (ROOT / "templates").rglob("*.html"))
PAGES = (
    "/",
    "/study",
    "/study/parallelism",
    "/study/parallelism/gtp",
    "/study/communication/tp-communication",
    "/search?q=ring",
    "/quiz",
    "/progress",
    "/calculators",
    "/calculators/tp-communication",
    "/timelines",
    "/timelines/gtp-chain",
    "/bench",
    "/bench/nodes",
    "/bench/nodes/local",
    "/bench/import",
    "/lab",
    "/nowhere",
)
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,:;?!](?![A-Za-z0-9_/=&])")
HALF_PARENTHESIS = re.compile(r"[(](?=[\u4e00-\u9fff])")


@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_templates_hold_no_inline_script_or_style(template: Path) -> None:
    """The content security policy would drop them without a word."""
    text = (ROOT / template).read_text(encoding="utf-8")

    assert not re.search(r"\sstyle=", text)
    assert not re.search(r"\son[a-z]+=", text)
    assert not re.search(r"<script(?![^>]*(?:\bsrc=|application/json))[^>]*>", text)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], str]]:
    """`read(path, language)` gives the HTML of a page over the shipped content; each is asked for once."""
    settings = Settings(data=tmp_path_factory.mktemp("rules"), database_url="", watch_content=False)
    kept: dict[tuple[str, str], str] = {}
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as client:

        def page(path: str, language: str) -> str:
            if (path, language) not in kept:
                kept[path, language] = client.get(path, headers={"Accept-Language": language}).text
            return kept[path, language]

        yield page


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", PAGES)
def test_pages_hold_no_inline_script_or_style(read: Callable[[str, str], str], path: str, language: str) -> None:
    text = read(path, language)

    assert not re.search(r"<[^>]+\sstyle=", text)
    assert not re.search(r"<[^>]+\son[a-z]+=", text)
    assert not re.search(r"<script(?![^>]*(?:\bsrc=|application/json))[^>]*>", text)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", PAGES)
def test_pages_show_no_markup_as_text(read: Callable[[str, str], str], path: str, language: str) -> None:
    """HTML that was escaped a second time, or a template expression that was never filled in."""
    html = re.sub(r"<script.*?</script>", "", read(path, language), flags=re.DOTALL)

    assert not re.search(r"&lt;/?(?:span|a|div|p|strong|em|sup|code|table|svg)\b", html)
    assert "{{" not in html


@pytest.mark.parametrize("path", PAGES)
def test_pages_load_nothing_from_elsewhere(read: Callable[[str, str], str], path: str) -> None:
    text = read(path, "en")

    assert not re.search(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(?:https?:)?//', text)


@pytest.mark.parametrize("path", PAGES)
def test_ids_are_unique_and_labels_find_their_field(read: Callable[[str, str], str], path: str) -> None:
    text = read(path, "en")
    ids = re.findall(r'\sid="([^"]+)"', text)

    assert len(ids) == len(set(ids)), sorted(name for name in set(ids) if ids.count(name) > 1)
    assert set(re.findall(r'<label[^>]*\sfor="([^"]+)"', text)) <= set(ids)


@pytest.mark.parametrize("path", PAGES)
def test_pages_have_one_title_one_heading_and_a_main_landmark(read: Callable[[str, str], str], path: str) -> None:
    text = read(path, "en")

    assert re.search(r"<title>[^<]+</title>", text)
    assert len(re.findall(r"<h1\b", text)) == 1
    assert len(re.findall(r"<main\b", text)) == 1


@pytest.mark.parametrize("path", PAGES)
def test_chinese_pages_use_chinese_punctuation(read: Callable[[str, str], str], path: str) -> None:
    prose = re.sub(r"<[^>]+>", "", read(path, "zh"))
    hits = [*HALF_WIDTH.finditer(prose), *HALF_PARENTHESIS.finditer(prose)]

    found = [prose[max(0, hit.start() - 12) : hit.end() + 12] for hit in hits]

    assert found == []


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_chinese_messages_use_chinese_punctuation(module: Path) -> None:
    """Messages of rare moments stand on no page that a test reads."""
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]

    assert [text for text in texts if HALF_WIDTH.search(text)] == []
