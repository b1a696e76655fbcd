"""What a request handler works with: made once by `create_app`, the same for every request."""

from dataclasses import dataclass, field

from fastapi import Request

from app.content.library import Library
from app.core.clock import Clock
from app.core.db import Database
from app.settings import Settings
from app.web.assets import Assets
from app.web.page_cache import PageCache


@dataclass(frozen=True, slots=True)
class Services:
    """The parts a page needs, passed explicitly."""

    settings: Settings
    database: Database
    library: Library
    assets: Assets
    clock: Clock
    pages: PageCache = field(default_factory=PageCache)
    """Finished study pages."""


def services(request: Request) -> Services:
    """The services of the app that serves this request."""
    made: Services = request.app.state.services
    return made
