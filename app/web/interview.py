"""The date of the interview that a learner prepares for, in a cookie; the home page counts the days to it.

Days are study days, so the count changes when the day of the quiz does.
"""

import re
from dataclasses import dataclass
from datetime import date

from fastapi import Request

from app.web.learner import calendar_of
from app.web.services import services

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

COOKIE = "interview"
COOKIE_SECONDS = 400 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Interview:
    """`days` is 0 on the day itself and negative once it is over."""

    on: date
    days: int


def parse_date(text: str) -> date | None:
    """The date that `2026-12-24` names; None for anything else."""
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def interview(request: Request) -> Interview | None:
    """The interview this request's learner has set; None where there is none."""
    on = parse_date(request.cookies.get(COOKIE, ""))
    if on is None:
        return None
    return Interview(on, (on - calendar_of(request).day(services(request).clock())).days)
