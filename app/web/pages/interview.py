"""`POST /interview`: keeps the date of the interview, or forgets it when the field is empty, and returns home."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse

from app.core.errors import InvalidInput
from app.core.i18n import Text
from app.web.interview import COOKIE, COOKIE_SECONDS, parse_date

router = APIRouter()


@router.post("/interview")
def set_date(_request: Request, on: Annotated[str, Form()] = "") -> RedirectResponse:
    """The date is kept in a cookie. Raises InvalidInput for what is no date."""
    response = RedirectResponse("/", 303)
    if not on.strip():
        response.delete_cookie(COOKIE, httponly=True, samesite="lax")
        return response
    date = parse_date(on.strip())
    if date is None:
        raise InvalidInput({"on": Text("Write the date as 2026-12-24.", "日期请写成 2026-12-24。")})
    response.set_cookie(COOKIE, date.isoformat(), max_age=COOKIE_SECONDS, httponly=True, samesite="lax")
    return response
