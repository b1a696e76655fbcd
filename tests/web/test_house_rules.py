"""Rules every page keeps, checked over the templates and over what is really served."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.settings import ROOT

TEMPLATES = sorted(path.relative_to(ROOT) for path in (ROOT / "templates").rglob("*.html"))
PAGES = (
    "/",
    "/study",
    "/study/parallelism",
    "/study/parallelism/ring",
    "/search?q=ring",
    "/quiz",
    "/progress",
    "/calculators",
    "/calculators/tp-communication",
    "/timelines",
    "/timelines/gtp-chain",
    "/bench",
    "/lab",
    "/nowhere",
)
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,:;?!](?![\w/=&])")


@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_templates_hold_no_inline_script_or_style(template: Path) -> None:
    """The content security policy would drop them without a word."""
    text = (ROOT / template).read_text(encoding="utf-8")

    assert not re.search(r"\sstyle=", text)
    assert not re.search(r"\son[a-z]+=", text)
    assert not re.search(r"<script(?![^>]*(?:\bsrc=|application/json))[^>]*>", text)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", PAGES)
def test_pages_hold_no_inline_script_or_style(site: TestClient, path: str, language: str) -> None:
    text = site.get(path, headers={"Accept-Language": language}).text

    assert not re.search(r"<[^>]+\sstyle=", text)
    assert not re.search(r"<[^>]+\son[a-z]+=", text)
    assert not re.search(r"<script(?![^>]*(?:\bsrc=|application/json))[^>]*>", text)


@pytest.mark.parametrize("path", PAGES)
def test_pages_load_nothing_from_elsewhere(site: TestClient, path: str) -> None:
    text = site.get(path).text

    assert not re.search(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(?:https?:)?//', text)


@pytest.mark.parametrize("path", PAGES)
def test_ids_are_unique_and_labels_find_their_field(site: TestClient, path: str) -> None:
    text = site.get(path).text
    ids = re.findall(r'\sid="([^"]+)"', text)

    assert len(ids) == len(set(ids)), sorted(name for name in set(ids) if ids.count(name) > 1)
    assert set(re.findall(r'<label[^>]*\sfor="([^"]+)"', text)) <= set(ids)


@pytest.mark.parametrize("path", PAGES)
def test_pages_have_one_title_one_heading_and_a_main_landmark(site: TestClient, path: str) -> None:
    text = site.get(path).text

    assert len(re.findall(r"<title>[^<]+</title>", text)) >= 1
    assert len(re.findall(r"<h1\b", text)) == 1
    assert len(re.findall(r"<main\b", text)) == 1


@pytest.mark.parametrize("path", PAGES)
def test_chinese_pages_use_chinese_punctuation(site: TestClient, path: str) -> None:
    text = site.get(path, headers={"Accept-Language": "zh"}).text
    prose = re.sub(r"<[^>]+>", "", text)

    assert HALF_WIDTH.findall(prose) == []
