"""Languages: negotiation and the two-language text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.i18n import LANGUAGES, Text, negotiate, parse_language


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,en;q=0.9,zh;q=0.8", "en"),
        ("fr,zh;q=0.3,en;q=0.7", "en"),
        ("de", "en"),
        ("", "en"),
        ("zh;q=0", "en"),
        ("zh;q=high", "en"),
        ("ZH-hant", "zh"),
    ],
)
def test_negotiate_takes_the_best_of_ours(header: str, expected: str) -> None:
    assert negotiate(header) == expected


@given(st.text())
def test_negotiate_never_fails(header: str) -> None:
    assert negotiate(header) in LANGUAGES


def test_only_our_languages_are_parsed() -> None:
    assert [parse_language(value) for value in ("en", "zh", "fr", None, "")] == ["en", "zh", None, None, None]


def test_format_fills_both_languages() -> None:
    assert Text("{n} cards", "{n} 张卡片").format(n=3) == Text("3 cards", "3 张卡片")


def test_text_without_a_language_is_refused() -> None:
    with pytest.raises(AssertionError):
        Text("only English", "")
