"""`/search?q=`: questions, calculators and timelines that hold the words, while one types.

With htmx only the block `results` is sent. The search itself is the content library's.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from app.content.search import Hit
from app.core.i18n import Text
from app.web import render
from app.web.language import language_of
from app.web.sections import SECTIONS
from app.web.services import services
from app.web.tools import matching_tools

router = APIRouter()

MAXIMUM_CHARACTERS = 100

HEADINGS = {section.slug: section.short for section in SECTIONS}


@router.get("/search")
def search(request: Request, q: Annotated[str, Query()] = "") -> HTMLResponse:
    """Everything that matches `q`; nothing for a blank one."""
    query = " ".join(q.split())[:MAXIMUM_CHARACTERS]
    library = services(request).library
    language = language_of(request)
    return render.page(
        request,
        "search.html",
        block="results",
        query=query,
        hits=[_found(hit) for hit in library.search(query, language)] if query else (),
        tools=matching_tools(query) if query else (),
        titles={topic.slug: topic.title for topic in library.topics},
        questions=library.questions(),
    )


def _found(hit: Hit) -> tuple[Hit, str, Text | None]:
    """A hit with the address of the section it was found in, and that section's name."""
    page = f"/study/{hit.topic}/{hit.slug}"
    heading = HEADINGS.get(hit.section)
    return hit, f"{page}#{hit.section}" if heading else page, heading
