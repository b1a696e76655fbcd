"""What may stand on the guard's command line: `worker.pyz guard [options] -- COMMAND [ARGUMENT ...]`."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

MARK = "RINGSIDE_RUN"
"""The variable in which the command and all that comes of it carry `--mark`, for whoever looks for them from outside."""
QUIET_SECONDS = 60.0
_MAXIMUM_QUIET_SECONDS = 86_400.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MARK = re.compile(r"[\x21-\x7e]{0,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When a guard ends its run: `memory_bytes` and `quiet_seconds` 0 for no limit, the latter only with `has_input`."""

    memory_bytes: int = 0
    quiet_seconds: float = QUIET_SECONDS
    has_input: bool = True
    mark: str = ""
    lock: str = ""


def parse(arguments: Sequence[str]) -> tuple[Rules, Sequence[str]]:
    """The rules and the command. On anything else it prints what is wrong and exits with 2 (SystemExit)."""
    parser = argparse.ArgumentParser(
        prog="worker.pyz guard",
        usage="%(prog)s [options] -- COMMAND [ARGUMENT ...]",
        description="Run a command and leave no process of it behind.",
        allow_abbrev=False,
    )
    parser.add_argument("--memory", type=_bytes, default=0, metavar="BYTES", help="end the run above this; 0: no cap")
    parser.add_argument(
        "--quiet-seconds",
        type=_seconds,
        default=QUIET_SECONDS,
        metavar="S",
        help="end the run when no byte came on standard input for so long (default %(default)g); 0: wait for ever",
    )
    parser.add_argument("--no-stdin", action="store_true", help="do not look at standard input at all")
    parser.add_argument("--mark", default="", type=_mark, metavar="VALUE", help=f"what {MARK} is set to")
    parser.add_argument("--lock", type=_name, metavar="NAME", help="refuse to start beside another of NAME")
    place = list(arguments).index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:place])
    command = arguments[place + 1 :]
    if not command:
        parser.error("the command to run is missing: put it behind `--`")
    rules = Rules(
        memory_bytes=options.memory,
        quiet_seconds=options.quiet_seconds,
        has_input=not options.no_stdin,
        mark=options.mark,
        lock=options.lock or "",
    )
    return rules, command


def _bytes(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _MAXIMUM_QUIET_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to {_MAXIMUM_QUIET_SECONDS:g}")
    return seconds


def _name(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no name: at most 64 letters, digits, dots, dashes, underscores")
    return text


def _mark(text: str) -> str:
    if _MARK.fullmatch(text) is None:
        raise argparse.ArgumentTypeError("a mark has at most 200 printable characters and no spaces")
    return text
