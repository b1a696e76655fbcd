"""`/owner`: the owner's token is given once; from then on this browser may start and stop runs."""

import hmac
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from app.web import owner, render
from app.web.services import services

router = APIRouter()


@router.get("/owner")
def form(request: Request) -> Response:
    """Whether this browser is the owner's, and the form that makes it so."""
    return _page(request)


@router.post("/owner")
def prove(request: Request, token: Annotated[str, Form(max_length=500)] = "") -> Response:
    """The right token makes this browser the owner's."""
    settings = services(request).settings
    if not hmac.compare_digest(token.strip().encode(), owner.token(settings).encode()):
        return _page(request, is_wrong=True)
    response = RedirectResponse("/bench", 303)
    response.set_cookie(
        owner.COOKIE,
        owner.digest(settings),
        max_age=owner.COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/owner/leave")
def leave(_request: Request) -> Response:
    """This browser gives the owner's rights up."""
    response = RedirectResponse("/owner", 303)
    response.delete_cookie(owner.COOKIE, httponly=True, samesite="strict")
    return response


def _page(request: Request, *, is_wrong: bool = False) -> Response:
    return render.page(
        request,
        "bench/owner.html",
        status=422 if is_wrong else 200,
        is_wrong=is_wrong,
        is_owner=owner.is_owner(request),
        needs_token=owner.needs_token(services(request).settings),
    )
