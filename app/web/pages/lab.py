"""`/lab`: says what the lab will run, and where the same subjects can be seen today."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from app.web import render

router = APIRouter()


@router.get("/lab")
def lab(request: Request) -> HTMLResponse:
    """The lab is not built yet; its page is honest about it."""
    return render.page(request, "lab.html")
