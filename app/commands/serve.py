"""`ringside serve`: the web app, in this process."""

import socket
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
    from app.web.owner import needs_token, token

    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = Settings.model_validate(given)
    listener = _bind(settings.host, settings.port)
    address = f"[{settings.host}]" if ":" in settings.host else settings.host
    typer.echo(
        f"Ringside serves http://{address}:{listener.getsockname()[1]} (data in {settings.data}); Ctrl-C ends it."
    )
    if needs_token(settings):
        typer.echo(f"To start benchmark runs, give this token once on /owner: {token(settings)}")
    config = uvicorn.Config(create_app(settings), log_level="warning", access_log=False, timeout_graceful_shutdown=5)
    uvicorn.Server(config).run(sockets=[listener])


def _bind(host: str, port: int) -> socket.socket:
    """A listening socket, bound before anything slow is loaded so that a taken port is told at once."""
    from app.core.errors import Unavailable
    from app.core.i18n import Text, same

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Unavailable(
            same(f"{host}:{port}: {error.strerror}."),
            remedy=Text("Choose another port: make run PORT=8001", "换一个端口:make run PORT=8001"),
        ) from error
    return listener
