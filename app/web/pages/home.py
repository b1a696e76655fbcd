"""`/`: what to do now. Today's cards, the days to the interview, the question read last, the doors for a first visit, the map of topics."""

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from app.content.library import Broken, Library
from app.content.model import Question
from app.core.errors import NotFound
from app.web import render
from app.web.interview import interview
from app.web.language import language_of
from app.web.last_read import last_read
from app.web.pages import timelines
from app.web.services import services
from app.web.today import today
from app.web.topic_map import topic_map

router = APIRouter()

LIVE = {"layers": "5", "gemm": "1.25", "all_gather": "1"}
"""The schedule a first visitor sees: all gathers but the first fit under a GEMM."""


@router.get("/")
def home(request: Request) -> HTMLResponse:
    """The home page, for a first visit or a later one."""
    library = services(request).library
    questions = library.questions()
    now = today(request)
    reading = _reading(library, last_read(request))
    started = reading is not None or not now.is_first_time
    titles = {topic.slug: topic.title for topic in library.topics}
    return render.page(
        request,
        "home.html",
        today=now,
        interview=interview(request),
        started=started,
        live=None if started else _live(request),
        titles=titles,
        reading=reading,
        first=questions[0] if questions else None,
        questions=questions,
        map=topic_map(library.topics, questions, language=language_of(request)),
    )


def _live(request: Request) -> Markup:
    """A real timeline, computed for this answer."""
    return timelines.figure(request, "gtp-chain", LIVE, embed_id="live-figure", compare={"pass": "cold_start"})


def _reading(library: Library, slug: str | None) -> Question | None:
    """The question read last, if it is still there."""
    if slug is None:
        return None
    try:
        return library.question(slug)
    except (NotFound, Broken):
        return None
