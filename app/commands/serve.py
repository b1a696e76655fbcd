"""`ringside serve`: the web app, in this process."""

from typing import Annotated

import typer


def command(
    host: Annotated[str | None, typer.Option(help="Address to bind; 127.0.0.1 by default.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to bind; 8000 by default.")] = None,
) -> None:
    """Serve the web app."""
    import uvicorn

    from app.main import create_app
    from app.settings import Settings

    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = Settings.model_validate(given)
    uvicorn.run(create_app(settings), host=settings.host, port=settings.port, log_level="info", access_log=False)
