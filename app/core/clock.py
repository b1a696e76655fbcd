"""The clock is an argument: code that needs the time takes a `Clock`, tests pass their own."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The current instant, aware, in UTC."""
    return datetime.now(UTC)
