"""The errors a user can meet. Each says what happened and, where we know it, the remedy.

Raise the most fitting class with a `Text`; only `app/web/errors.py` turns them into HTTP
answers and only `app/__main__.py` into exit codes. `ValueError` stays for bad arguments
from code, `assert` for our own mistakes.
"""

from collections.abc import Mapping

from app.core.i18n import Text


class AppError(Exception):
    """Base class: `message` for people, `remedy` says what to do next, `status` is the HTTP status."""

    status = 500

    def __init__(self, message: Text, *, remedy: Text | None = None) -> None:
        super().__init__(message.en if remedy is None else f"{message.en} {remedy.en}")
        self.message = message
        self.remedy = remedy


class NotFound(AppError):
    """The thing the address names does not exist."""

    status = 404


class Forbidden(AppError):
    """The request may not do this: foreign origin, unknown host, not the owner."""

    status = 403


class Conflict(AppError):
    """The state has moved on since the form was shown; nothing was changed."""

    status = 409


class InvalidInput(AppError):
    """One message per field; nothing was computed or stored."""

    status = 422

    def __init__(self, fields: Mapping[str, Text]) -> None:
        names = ", ".join(fields)
        super().__init__(
            Text(f"Check these inputs: {names}.", f"请检查这些输入：{names}。"),
        )
        self.fields = dict(fields)

    def __str__(self) -> str:
        return "; ".join(f"{name}: {text.en}" for name, text in self.fields.items())


class Unavailable(AppError):
    """Something this needs is not installed or not running; the remedy says how to get it."""

    status = 503
