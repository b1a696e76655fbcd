"""Light, dark, or as the system: the reader's choice, kept in a cookie.

The server writes it as `data-theme` on `<html>`, so the first paint already has it. Without a
cookie the style sheet follows the system.
"""

from typing import Literal

from fastapi import Request

Theme = Literal["", "light", "dark"]
"""The empty theme is the system's."""

COOKIE = "theme"
COOKIE_SECONDS = 365 * 24 * 3600


def parse_theme(value: str | None) -> Theme:
    """The theme a cookie or a form names; the system's for anything else."""
    if value == "light":
        return "light"
    return "dark" if value == "dark" else ""


def theme_of(request: Request) -> Theme:
    """The theme this request is answered in."""
    return parse_theme(request.cookies.get(COOKIE))
