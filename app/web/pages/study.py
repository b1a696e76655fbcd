"""The study pages: all topics, one topic, one question.

A question page depends on nothing but the content, the language and the theme, so it is rendered once
and kept (`page_cache.py`); what changes with progress (today's cards) is loaded by htmx. The handler of
the hot path is `async def`: it only looks up bytes; rendering goes to a thread.
"""

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.content.library import Broken, Library
from app.content.model import Planned, Problem, Question, Topic
from app.core.errors import NotFound
from app.core.i18n import Language, Text
from app.web import render
from app.web.article import Article
from app.web.language import language_of
from app.web.last_read import remember
from app.web.sections import sections_of
from app.web.services import services
from app.web.theme import theme_of

router = APIRouter(prefix="/study")


@router.get("")
def topics(request: Request) -> HTMLResponse:
    """Every topic with its questions, written and planned."""
    library = services(request).library
    return render.page(
        request, "study/topics.html", topic=None, shelves=[_shelf(library, topic) for topic in library.topics]
    )


@router.get("/{topic}")
def topic_page(request: Request, topic: str) -> HTMLResponse:
    """One topic."""
    library = services(request).library
    found = _topic(library, topic)
    return render.page(request, "study/topics.html", topic=found, shelves=[_shelf(library, found)])


@router.get("/{topic}/{slug}")
async def question_page(request: Request, topic: str, slug: str) -> Response:
    """One question. Kept ready to send; see the module's docstring."""
    made = services(request)
    key = (topic, slug, language_of(request), theme_of(request))
    revision = made.library.revision
    page = made.pages.get(key, revision=revision)
    if page is None:
        html = await run_in_threadpool(_question, request, made.library, topic, slug)
        if isinstance(html, Response):
            return html
        page = made.pages.put(key, html, revision=revision)
    response = page.response(request.headers)
    remember(request, response, topic, slug)
    return response


def _question(request: Request, library: Library, topic: str, slug: str) -> str | Response:
    """The HTML of a question, or an answer that is not worth keeping: elsewhere, or broken."""
    try:
        question = library.question(slug)
    except Broken as broken:
        places = _places(library, broken.problems)
        return render.page(request, "study/broken.html", status=broken.status, slug=slug, problems=places)
    if question.topic != topic:
        return RedirectResponse(f"/study/{question.topic}/{slug}", 308)
    order = library.questions()
    index = next(i for i, other in enumerate(order) if other.slug == slug)
    article = Article(request, question)
    return render.text(
        request,
        "study/question.html",
        article=article,
        question=question,
        content=article.page,
        topic=_topic(library, topic),
        shelves=[_shelf(library, each) for each in library.topics],
        sections=sections_of(question, article.page),
        needs=[_need(library, need) for need in question.prerequisites],
        needed_by=[other for other in order if slug in other.prerequisites],
        previous=order[index - 1] if index else None,
        following=order[index + 1] if index + 1 < len(order) else None,
        problems=_places(library, library.problems(slug)),
        mistaken=_is_mistaken(library, slug, language_of(request)),
        url_with=lambda **query: f"{request.url.path}?{urlencode(query)}",
    )


def _is_mistaken(library: Library, slug: str, language: Language) -> bool:
    """Whether the page in `language` is there, but cannot be read."""
    problems = [problem for problem in library.problems(slug) if problem.path.name == f"{language}.md"]
    return any(problem.path.exists() for problem in problems)


def _topic(library: Library, slug: str) -> Topic:
    for topic in library.topics:
        if topic.slug == slug:
            return topic
    raise NotFound(
        Text(f"There is no topic {slug!r}.", f"没有名为 {slug!r} 的主题。"),
        remedy=Text("The study page lists all topics.", "“学习”页列出了全部主题。"),
    )


def _shelf(library: Library, topic: Topic) -> dict[str, Any]:
    """A topic with what stands in it."""
    questions = library.questions(topic.slug)
    written = {question.slug for question in questions}
    return {
        "topic": topic,
        "questions": questions,
        "broken": sorted(slug for slug, place in library.broken.items() if place == topic.slug),
        "planned": [planned for planned in topic.planned if planned.slug not in written],
    }


def _need(library: Library, slug: str) -> Question | Planned | str:
    """What a prerequisite's slug stands for."""
    for question in library.questions():
        if question.slug == slug:
            return question
    for topic in library.topics:
        for planned in topic.planned:
            if planned.slug == slug:
                return planned
    return slug


def _places(library: Library, problems: tuple[Problem, ...]) -> list[tuple[str, Problem]]:
    """Each problem with the path an author knows it by: below the content folder."""
    return [
        (
            str(problem.path.relative_to(library.root) if problem.path.is_relative_to(library.root) else problem.path),
            problem,
        )
        for problem in problems
    ]
