"""The `ringside` command: one sub-command, or a group of them, per module of `app/commands/`.

Errors a user can mend are printed as one plain message with the remedy and exit with 1.
"""

import sys
from types import FunctionType

import typer
from pydantic import ValidationError

from app import commands
from app.core.errors import AppError
from app.core.registry import discover

cli = typer.Typer(
    help="Prepare for LLM training-systems interviews.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for name, command in discover(commands, "command", object).items():
    if isinstance(command, typer.Typer):
        cli.add_typer(command, name=name)
    else:
        assert isinstance(command, FunctionType), f"{name}: a command is a function or a group"
        cli.command(name)(command)


@cli.callback()
def _always_sub_commands() -> None:
    """Prepare for LLM training-systems interviews."""


def main() -> None:
    """Entry of the console script."""
    try:
        cli()
    except AppError as error:
        sys.exit(f"ringside: {error}")
    except ValidationError as error:
        lines = [f"  {'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors()]
        sys.exit("\n".join(("ringside: a setting in the environment or on the command line is wrong:", *lines)))


if __name__ == "__main__":
    main()
