"""The figure of a timeline as HTML: picture, numbers, reasons of gaps, table and tools, complete without a script.

`figure` is what study pages call; the timeline's own page uses `run` and `html`. Data for `timeline.js` stands as
JSON beside the picture. What the template shows is made in `timeline_view.py`.
"""

from collections.abc import Mapping

from fastapi import Request
from markupsafe import Markup

from app.hardware.model import Profile
from app.timelines import catalog, svg
from app.timelines.catalog import PROFILE, Run
from app.timelines.layout import PAGE
from app.web import render
from app.web.language import language_of
from app.web.profiles import profile as find_profile
from app.web.services import services
from app.web.timeline_query import Query
from app.web.timeline_view import titles, view


def figure(
    request: Request,
    slug: str,
    raw: Mapping[str, str],
    *,
    embed_id: str,
    compare: Mapping[str, str] | None = None,
    caption: str = "",
) -> Markup:
    """One timeline inside a page. Raises NotFound or InvalidInput; ids begin with `embed_id`."""
    query = Query(raw=dict(raw), compare=dict(compare or {}), embed=embed_id)
    return draw(request, slug, query, caption=caption)


def draw(request: Request, slug: str, query: Query, *, caption: str = "") -> Markup:
    """The figure of a query. Raises NotFound or InvalidInput."""
    return html(request, run(request, slug, query), query, caption=caption)


def html(
    request: Request, runs: tuple[Run, ...], query: Query, *, caption: str = "", block: str | None = None
) -> Markup:
    """The figure of `runs`, or only its `stage` for another zoom. Without an embed id it stands on its own page."""
    context = view(runs, query, language_of(request))
    text = render.text(request, "timelines/figure.html", block=block, caption=caption, alone=not query.embed, **context)
    return Markup(text)  # noqa: S704 - a rendered template


def run(request: Request, slug: str, query: Query) -> tuple[Run, ...]:
    """The run of a query, and the compared one where there is one. Raises NotFound or InvalidInput."""
    known = _profiles(request, query)
    runs = [catalog.run(slug, query.raw, profiles=known)]
    if query.compare:
        runs.append(catalog.run(slug, query.second(), profiles=known))
    return tuple(runs)


def _profiles(request: Request, query: Query) -> dict[str, Profile]:
    found: dict[str, Profile] = {}
    for key in {query.raw.get(PROFILE, ""), query.compare.get(PROFILE, "")} - {""}:
        profile = find_profile(services(request), key)
        if profile is not None:
            found[key] = profile
    return found


def svg_file(request: Request, slug: str, query: Query) -> str:
    """The picture alone, as a file that looks right anywhere."""
    runs = run(request, slug, query)
    picture = svg.draw(
        list(zip(titles(runs), runs, strict=True)),
        language_of(request),
        embed_id=f"timeline-{slug}",
        title=runs[0].scenario.title,
        width=PAGE,
        zoom=query.zoom,
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{picture}'
