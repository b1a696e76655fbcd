"""Runs and imported logs side by side, with a datasheet and with what others posted.

The address holds everything that was chosen, so it can be shared.
"""

import re
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.bench.formats import compare_csv
from app.core.errors import NotFound
from app.core.i18n import Text
from app.hardware.presets import presets
from app.web import bench_view, compare_chart, compare_posted, compare_view, import_view, profiles, render
from app.web.compare_view import Side
from app.web.language import language_of
from app.web.profiles import run_store
from app.web.services import Services, services

router = APIRouter()

MAXIMUM_COMPARED = 5
MAXIMUM_OFFERED = 50

Keys = Annotated[list[str] | None, Query()]

_LOG = "import-"
_KEY = re.compile(r"\d{1,9}|import-\d{1,9}-\d{1,9}", re.ASCII)


@router.get("/bench/compare")
def compare(
    request: Request,
    *,
    runs: Keys = None,
    imports: Keys = None,
    operation: str = "all_reduce",
    datasheet: str = "",
    published: str = "",
) -> Response:
    """All operations at a glance, one of them size by size, what differs, and what others posted.

    The first of `runs`, a number or `import-<id>-<n>`, is what the others are held against; `imports` are `<id>-<n>` and follow
    them. `published` is a system, `none`, or blank for the runs' own GPU.
    """
    store, language = run_store(services(request)), language_of(request)
    asked = _keys(runs or [], imports or [])
    sides, gone = _sides(services(request), asked[:MAXIMUM_COMPARED])
    measured = compare_view.operations(sides)
    chosen = operation if operation in measured or not measured else measured[0]
    sheet = presets().get(datasheet)
    posted = compare_posted.posted(published, sides, chosen)
    band = posted.comparable if posted else ()

    def address(keys: Iterable[str], *, of: str = chosen) -> str:
        return _address(keys, operation=of, datasheet=sheet.key if sheet else "", published=published)

    keys = [side.key for side in sides]
    return render.page(
        request,
        "bench/compare.html",
        block="comparison",
        sides=sides,
        operation=chosen,
        operations=measured,
        lines=compare_view.sweep_lines(sides, chosen),
        latency_lines=compare_view.latency_lines(sides, chosen),
        glances=compare_view.glances(sides),
        differences=compare_view.differences(sides, chosen),
        overlapped=list(dict.fromkeys(name for side in sides for name in side.overlaps)),
        offered=[run for run in store.newest(limit=MAXIMUM_OFFERED) if run.rows and str(run.id) not in asked],
        offered_logs=_logs(services(request), asked),
        datasheet=sheet,
        datasheets=presets(),
        published=published,
        systems=compare_posted.systems(),
        posted=posted,
        is_full=len(sides) >= MAXIMUM_COMPARED,
        left_out=max(0, len(asked) - MAXIMUM_COMPARED),
        gone=gone,
        address=address,
        keys=keys,
        csv_address=f"/bench/compare.csv?{urlencode({'runs': ','.join(keys)})}",
        chart=compare_chart.chart(sides, chosen, datasheet=sheet, posted=band, language=language) if measured else None,
        view=bench_view,
    )


@router.get("/bench/compare.csv")
def as_csv(request: Request, runs: Keys = None, imports: Keys = None) -> Response:
    """All rows of the chosen runs, one after another."""
    made, store = services(request), run_store(services(request))
    sides, _ = _sides(made, _keys(runs or [], imports or [])[:MAXIMUM_COMPARED])
    parts = (
        import_view.lines(made, side.key)
        if side.key.startswith(_LOG)
        else compare_csv.lines(side.key, store.result(int(side.key)))
        for side in sides
    )
    response = Response(compare_csv.document(parts), media_type="text/csv")
    name = "-".join(side.key for side in sides) or "none"
    response.headers["Content-Disposition"] = f'attachment; filename="ringside-runs-{name}.csv"'
    return response


def _keys(runs: list[str], imports: list[str]) -> list[str]:
    """What `runs=1,import-3-1` and `runs=1&runs=2&imports=3-1` name."""
    parts = [part.strip() for text in runs for part in text.split(",")]
    parts += [_LOG + part.strip() for text in imports for part in text.split(",")]
    known = [part for part in parts if _KEY.fullmatch(part)]
    return list(dict.fromkeys(part if part.startswith(_LOG) else str(int(part)) for part in known))


def _sides(made: Services, keys: list[str]) -> tuple[list[Side], list[Text]]:
    """The sides, and what of the rest is to be said."""
    store, found, gone = run_store(made), [], []
    for key in keys:
        if key.startswith(_LOG):
            side = import_view.side(made, key.removeprefix(_LOG))
            if side is None:
                number = key.removeprefix(_LOG)
                gone.append(Text(f"import {number}", f"导入 {number}"))
        else:
            try:
                side = compare_view.of_run(store.get(int(key)), store.result(int(key)))
            except NotFound:
                side = None
                gone.append(Text(f"run {key}", f"运行 {key}"))
        if side is not None:
            found.append(side)
    return found, gone


def _logs(made: Services, asked: list[str]) -> dict[str, Text]:
    """The titles of imported runs that may be added, by key."""
    return {
        key: profile.title
        for key, profile in profiles.profiles(made).items()
        if profile.kind == "imported" and _KEY.fullmatch(key) and key not in asked
    }


def _address(keys: Iterable[str], **chosen: str) -> str:
    """The address of a comparison, without what is blank; the commas stay readable."""
    query = {"runs": ",".join(keys), **{name: value for name, value in chosen.items() if value}}
    return f"/bench/compare?{urlencode(query, safe=',')}"
