"""Hardware profiles: the list, and one with its figures, source, range and fit."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.core.errors import NotFound
from app.core.i18n import Text
from app.hardware.measured import MeasuredProfile
from app.hardware.presets import DatasheetProfile
from app.web import bench_view, profiles, render
from app.web.language import language_of
from app.web.services import services

router = APIRouter()


@router.get("/hardware")
def index(request: Request) -> Response:
    """Measured runs and datasheets."""
    return render.page(request, "hardware/index.html", profiles=profiles.profiles(services(request)))


@router.get("/hardware/{key}")
def show(request: Request, key: str) -> Response:
    """One profile."""
    profile = profiles.profile(services(request), key)
    if profile is None:
        raise NotFound(
            Text("There is no such hardware profile.", "没有这个硬件配置。"),
            remedy=Text(
                "A run that failed or was deleted has none; /hardware lists all.",
                "失败或已删除的运行没有配置；/hardware 列出了全部。",
            ),
        )
    fits, chart, run_id = {}, None, None
    if isinstance(profile, MeasuredProfile):
        run_id = int(profile.key.removeprefix("run-"))
        rows = [row for row in profiles.run_store(services(request)).rows(run_id) if row.operation in profile.curves]
        fits = {operation: curve.fit for operation, curve in profile.curves.items()}
        chart = bench_view.run_chart(rows, fits, language=language_of(request))
    return render.page(
        request,
        "hardware/profile.html",
        profile=profile,
        sheet=profile.sheet if isinstance(profile, DatasheetProfile) else None,
        fits=fits,
        chart=chart,
        run_id=run_id,
        view=bench_view,
    )
