"""`create_app(settings)`: wires the parts together. Nothing happens at import.

Start `uvicorn --factory app.main:create_app` or, better, `ringside serve`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from app.content.library import Library
from app.core.clock import Clock, utc_now
from app.core.db import Database
from app.core.registry import discover
from app.settings import LOOPBACK, Settings
from app.web import errors, pages
from app.web.assets import Assets
from app.web.middleware import Guard, Head, ResponseHeaders
from app.web.render import Templates
from app.web.services import Services


def create_app(settings: Settings | None = None, *, clock: Clock = utc_now) -> FastAPI:
    """The web app for `settings` (by default, those of the environment), with its database migrated."""
    settings = settings or Settings()
    database = Database(settings.database)
    database.migrate()
    library = Library(settings.content)
    assets = Assets(settings.static)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with library.watching(enabled=settings.watch_content):
            yield
        database.dispose()

    app = FastAPI(title="Ringside", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    app.state.services = Services(settings=settings, database=database, library=library, assets=assets, clock=clock)
    app.state.templates = Templates(settings.templates, assets.url)
    errors.install(app)
    for router in discover(pages, "router", APIRouter).values():
        app.include_router(router)
    app.mount("/static", assets)
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    app.add_middleware(Head)
    app.add_middleware(ResponseHeaders)
    app.add_middleware(Guard, hosts=(*LOOPBACK, settings.host, *settings.allowed_hosts))
    return app
