"""`POST /theme`: keeps the chosen theme in a cookie and returns to the page it came from.

htmx gets no page but the event `theme`, on which `static/js/app.js` changes the page in place.
"""

import json
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from app.web import render
from app.web.theme import COOKIE, COOKIE_SECONDS, parse_theme

router = APIRouter()


@router.post("/theme")
def choose(request: Request, theme: Annotated[str, Form()] = "") -> Response:
    """The theme is kept, or forgotten for the system's."""
    chosen = parse_theme(theme)
    response: Response
    if render.is_fragment(request):
        response = Response(
            status_code=204, headers={"HX-Trigger": json.dumps({"theme": {"value": chosen or "system"}})}
        )
    else:
        response = RedirectResponse(_origin(request), 303)
    if chosen:
        response.set_cookie(COOKIE, chosen, max_age=COOKIE_SECONDS, httponly=True, samesite="lax")
    else:
        response.delete_cookie(COOKIE, httponly=True, samesite="lax")
    return response


def _origin(request: Request) -> str:
    """Path and query of the page the form stood on; the home page when that is not one of ours."""
    referrer = urlsplit(request.headers.get("referer", ""))
    if referrer.netloc != request.headers.get("host") or not referrer.path.startswith("/"):
        return "/"
    path = "/" + referrer.path.lstrip("/\\")
    return f"{path}?{referrer.query}" if referrer.query else path
