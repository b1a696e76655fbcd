"""Runs `cases/rendering.md`: one test a case."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.units import THIN_SPACE

CASES = re.findall(
    r"^## (?P<name>.+?)\n\n(?P<fence>`{3,})markdown\n(?P<given>.*?)\n(?P=fence)\n\n```html\n(?P<expected>.*?)\n```$",
    (Path(__file__).parent / "cases" / "rendering.md").read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)


def test_every_case_of_the_file_is_run() -> None:
    text = (Path(__file__).parent / "cases" / "rendering.md").read_text(encoding="utf-8")

    assert len(CASES) == len(re.findall("^```html$", text, re.MULTILINE)) > 30


@pytest.mark.parametrize(("given", "expected"), [case[2:] for case in CASES], ids=[case[0] for case in CASES])
def test_renders(given: str, expected: str, html: Callable[..., str]) -> None:
    assert html(given) == expected.replace("␣", THIN_SPACE)
