"""Fixtures of the page tests: a small content folder and a client of an app over it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.settings import Settings

TOPIC = """\
order: 10
title: {en: Parallelism, zh: 并行}
summary: {en: How a model is split., zh: 模型怎样切。}
planned:
  - {slug: tp-linear, title: {en: TP linear layers, zh: TP 线性层}}
"""

QUESTION = """\
slug: ring
order: 10
prerequisites: [tp-linear]
status: asked
experimental: 2026-08-22
verified_on: 2026-11-29
asked_by:
  - company: {en: Example Corp, zh: 某公司}
    quote: "ring 要几步？"
    language: zh
    source: notes
sources:
  notes:
    title: Notes on rings
    locator: "§2"
    url: https://example.org/rings
    checked: 2026-11-29
"""

ENGLISH = """\
# How many steps does a ring take?

## asked

- How many steps does a ring all-reduce take?

## concepts

### Step {#step}

Each rank sends one chunk.[^notes]

## answer

It takes two times n minus one steps.

## must

- It takes ==2(n − 1)== steps. {#steps}
- Each chunk is 1/n of the buffer. {#chunk}

## followups

### What if n is 1? {#one}

Nothing is sent.

## wrong

### It takes n steps. {#n-steps}

That is only one of the two phases, plus one.
"""

CHINESE = """\
# Ring 要走几步？

## asked

- How many steps does a ring all-reduce take?

## concepts

### 步 {#step}

每个 rank 发一个 chunk，不占额外显存。[^notes]

## answer

一共 2(n − 1) 步。

## must

- 一共 ==2(n − 1)== 步。 {#steps}
- 每个 chunk 是 buffer 的 1/n。 {#chunk}

## followups

### n 等于 1 呢？ {#one}

什么也不用发。

## wrong

### 要走 n 步。 {#n-steps}

那只是两个阶段之一再加一步。
"""

SECOND = """\
slug: tree
order: 20
prerequisites: [ring]
status: inferred
"""

SECOND_ENGLISH = """\
# When does a tree win?

## answer

When the message is small.
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A content folder: one topic, `ring` in both languages, `tree` in English only."""
    root = tmp_path / "content"
    topic = root / "parallelism"
    files = {
        topic / "topic.yaml": TOPIC,
        topic / "ring" / "question.yaml": QUESTION,
        topic / "ring" / "en.md": ENGLISH,
        topic / "ring" / "zh.md": CHINESE,
        topic / "tree" / "question.yaml": SECOND,
        topic / "tree" / "en.md": SECOND_ENGLISH,
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def site(settings: Settings, shelf: Path, make_client: Callable[..., TestClient]) -> TestClient:
    """A client of the app over `shelf`."""
    return make_client(settings.model_copy(update={"content": shelf}))
