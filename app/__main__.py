"""The `ringside` command: one sub-command per module of `app/commands/`."""

from types import FunctionType

import typer

from app import commands
from app.core.registry import discover

cli = typer.Typer(
    help="Prepare for LLM training-systems interviews.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for name, command in discover(commands, "command", FunctionType).items():
    cli.command(name)(command)


@cli.callback()
def _always_sub_commands() -> None:
    """Prepare for LLM training-systems interviews."""


def main() -> None:
    """Entry of the console script."""
    cli()


if __name__ == "__main__":
    main()
