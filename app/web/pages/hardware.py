"""Hardware profiles: the list, and one with its figures, their basis, its fits and who takes what from it."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.bench.catalog import OVERLAP_LABELS
from app.core.errors import NotFound
from app.core.i18n import Text
from app.hardware.measured import MeasuredProfile, is_balanced
from app.hardware.presets import DatasheetProfile
from app.web import bench_view, hardware_view, profiles, render
from app.web.conditions import CONDITIONS, conditions
from app.web.hardware_uses import uses
from app.web.language import language_of
from app.web.services import services

router = APIRouter()


@router.get("/hardware")
def index(request: Request) -> Response:
    """Measured runs, logs from elsewhere, and datasheets."""
    return render.page(
        request, "hardware/index.html", profiles=profiles.profiles(services(request)), kinds=hardware_view.KINDS
    )


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
    measured = profile if isinstance(profile, MeasuredProfile) else None
    run = measured.run if measured else None
    environment = run.environment if run else None
    device = environment.devices[0] if environment and environment.backend == "nccl" else None
    answers = hardware_view.answers(profile)
    return render.page(
        request,
        "hardware/profile.html",
        profile=profile,
        measured=measured,
        run=run,
        sheet=profile.sheet if isinstance(profile, DatasheetProfile) else None,
        origin=_origin(profile.key),
        chart=hardware_view.chart(measured, language=language_of(request)) if measured else None,
        answers=answers,
        reasons=hardware_view.reasons(answers),
        uses=uses(),
        conditions=[(CONDITIONS[name].title, text) for name, text in conditions(run).items()] if run else [],
        gemm=hardware_view.gemm_lines(run.gemm if run else None, device=device),
        links=hardware_view.link_summary(run.links) if run else (),
        kinds=hardware_view.KINDS,
        copy_titles=hardware_view.COPY_TITLES,
        overlap_labels=OVERLAP_LABELS,
        is_balanced=is_balanced,
        view=bench_view,
        hardware=hardware_view,
    )


def _origin(key: str) -> str | None:
    """Where the figures of `run-3` or `import-3-1` stand; None for a datasheet."""
    kind, _, rest = key.partition("-")
    number = rest.partition("-")[0]
    pages = {"run": "/bench/runs/", "import": "/bench/imports/"}
    return f"{pages[kind]}{number}" if kind in pages and number.isdecimal() else None
