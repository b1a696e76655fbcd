"""Who is learning, and in which time zone their day is.

With SQLite the server is one person's own: everything belongs to the learner `local`. With a shared database each
browser gets a random id in a cookie at its first answer; the database holds only its hash, so whoever reads the
database cannot become someone else (decision 0019). The zone is the cookie `tz`, which `static/js/quiz.js` sets from the
browser; anything that is not an IANA name counts as not said.
"""

import hashlib
import re
import secrets
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from fastapi import Request
from starlette.responses import Response

from app.cards.day import StudyCalendar, is_zone
from app.web.services import services

LEARNER_COOKIE = "learner"
ZONE_COOKIE = "tz"
COOKIE_SECONDS = 400 * 24 * 3600
LOCAL = "local"
NOBODY = ""
"""A visitor of a shared server who has not answered anything yet. No row has this learner."""

_ID = re.compile(r"[A-Za-z0-9_-]{32,64}")


def learner_of(request: Request) -> str:
    """The learner this request belongs to; `NOBODY` for a visitor without a cookie."""
    if not _is_shared(request):
        return LOCAL
    secret = request.cookies.get(LEARNER_COOKIE, "")
    return _hashed(secret) if _ID.fullmatch(secret) else NOBODY


def enrol(request: Request, response: Response) -> str:
    """The learner, made on the spot for a visitor without a cookie; `response` then carries it."""
    learner = learner_of(request)
    if learner != NOBODY:
        return learner
    secret = secrets.token_urlsafe(32)
    response.set_cookie(
        LEARNER_COOKIE,
        secret,
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return _hashed(secret)


def calendar_of(request: Request) -> StudyCalendar:
    """The study days of this learner."""
    named = unquote(request.cookies.get(ZONE_COOKIE, ""))
    default = services(request).settings.time_zone
    name = next((zone for zone in (named, default) if is_zone(zone)), "UTC")
    return StudyCalendar(ZoneInfo(name))


def _is_shared(request: Request) -> bool:
    return not services(request).settings.database.startswith("sqlite")


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
