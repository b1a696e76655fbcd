"""Two languages side by side.

Every text a reader sees is written in English and Chinese at the same place, as one
`Text`, so a translation cannot be forgotten or drift to another file. Templates use the
global `t("English", "中文")`; Python code that describes something builds a `Text`.
"""

from dataclasses import dataclass
from typing import Literal, get_args

Language = Literal["en", "zh"]

LANGUAGES: tuple[Language, ...] = get_args(Language)
DEFAULT_LANGUAGE: Language = "en"


@dataclass(frozen=True, slots=True)
class Text:
    """The same sentence in both languages."""

    en: str
    zh: str

    def __post_init__(self) -> None:
        assert self.en, "a text needs both languages"
        assert self.zh, "a text needs both languages"

    def __getitem__(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en

    def format(self, **values: object) -> "Text":
        """The text with `{name}` fields filled in, in both languages."""
        return Text(self.en.format(**values), self.zh.format(**values))


def same(text: str) -> Text:
    """A text that reads the same in both languages: a name, a symbol, a unit."""
    return Text(text, text)


def parse_language(value: str | None) -> Language | None:
    """The language a query value or a cookie names; None for anything else."""
    if value == "en":
        return "en"
    return "zh" if value == "zh" else None


def negotiate(accept_language: str) -> Language:
    """The best of our languages for an `Accept-Language` header; English when none fits."""
    best: tuple[float, Language] = (0.0, DEFAULT_LANGUAGE)
    for part in accept_language.split(","):
        tag, _, parameters = part.strip().partition(";")
        language = parse_language(tag.strip().lower().split("-")[0])
        if language is None:
            continue
        quality = 1.0
        key, _, value = parameters.strip().partition("=")
        if key.strip() == "q":
            try:
                quality = float(value)
            except ValueError:
                continue
        if quality > best[0]:
            best = (quality, language)
    return best[1]
