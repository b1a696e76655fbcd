"""The language of an answer: `?lang=`, else the cookie, else what the browser prefers."""

from fastapi import Request

from app.core.i18n import Language, negotiate, parse_language

COOKIE = "lang"
COOKIE_SECONDS = 365 * 24 * 3600


def language_of(request: Request) -> Language:
    """The language this request is answered in."""
    return (
        parse_language(request.query_params.get("lang"))
        or parse_language(request.cookies.get(COOKIE))
        or negotiate(request.headers.get("accept-language", ""))
    )
