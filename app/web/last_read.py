"""The question read last, in a cookie, so that the home page can offer to go on.

It names a page of this site and nothing about the reader; a value that is no such page is ignored.
"""

import re

from fastapi import Request
from starlette.responses import Response

COOKIE = "last"
COOKIE_SECONDS = 180 * 24 * 3600

_PLACE = re.compile(r"[a-z0-9-]{1,80}/[a-z0-9-]{1,80}")


def remember(request: Request, response: Response, topic: str, slug: str) -> None:
    """Keep the question as the last one read, unless it is already."""
    place = f"{topic}/{slug}"
    if request.cookies.get(COOKIE) != place and _PLACE.fullmatch(place):
        response.headers.append(
            "Set-Cookie", f"{COOKIE}={place}; Path=/; Max-Age={COOKIE_SECONDS}; SameSite=Lax; HttpOnly"
        )


def last_read(request: Request) -> str | None:
    """The slug of the question read last."""
    place = request.cookies.get(COOKIE, "")
    return place.partition("/")[2] if _PLACE.fullmatch(place) else None
