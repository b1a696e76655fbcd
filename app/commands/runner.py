"""`ringside runner`: the process that works the queue of benchmark runs. The web app starts it when it is needed."""

from typing import Annotated

import typer


def command(
    idle_seconds: Annotated[float | None, typer.Option(help="End after so many idle seconds.", min=0)] = None,
) -> None:
    """Work the queue of benchmark runs; `serve` starts this by itself."""
    import logging

    from app.bench.home import home_id, nodes_path
    from app.bench.nodes import NodeFile
    from app.bench.runner import Runner
    from app.bench.store import RunStore
    from app.core.clock import utc_now
    from app.core.db import Database
    from app.settings import Settings

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    settings = Settings()
    database = Database(settings.database)
    database.migrate()
    runner = Runner(
        RunStore(database, home=home_id(settings.data)),
        data=settings.data,
        nodes=NodeFile(nodes_path(settings.data)).nodes,
        locks=settings.locks,
        clock=utc_now,
        idle_seconds=settings.runner_idle_seconds if idle_seconds is None else idle_seconds,
    )
    if not runner.work():
        typer.echo("Another runner works on this data folder.")
    database.dispose()
