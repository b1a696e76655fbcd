"""The study day: the learner's own day, which ends at a rollover hour after midnight.

Whoever studies at one in the morning is still in yesterday's session. The queue, the daily limits, the counts and the
streak all ask `StudyCalendar`, so they cannot disagree. Instants are stored in UTC and turned into days only here, by the
rules of the learner's IANA zone at that instant; a day is therefore not always 24 hours long.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

ROLLOVER_HOUR = 4
QUARTER_HOUR_SECONDS = 900
ONE_DAY = timedelta(days=1)


@cache
def _zone_names() -> frozenset[str]:
    return frozenset(available_timezones())


def is_zone(name: str) -> bool:
    """Whether `name` is an IANA time zone. Anything a browser or a stranger sends may be asked."""
    return name in _zone_names()


@dataclass(frozen=True, slots=True)
class StudyCalendar:
    """Which study day an instant belongs to, for one zone. `rollover_hour` is 0 to 23."""

    zone: ZoneInfo
    rollover_hour: int = ROLLOVER_HOUR

    def day(self, instant: datetime) -> date:
        """The study day of an aware instant."""
        wall_clock = instant.astimezone(self.zone).replace(tzinfo=None)
        return (wall_clock - timedelta(hours=self.rollover_hour)).date()

    def start(self, day: date) -> datetime:
        """The instant in UTC at which `day` begins. Where the clock jumps over that hour, the instant of the jump."""
        return datetime.combine(day, time(self.rollover_hour), self.zone).astimezone(UTC)

    def end(self, day: date) -> datetime:
        """The instant in UTC at which the day after `day` begins."""
        return self.start(day + ONE_DAY)


def quarter_hour(instant: datetime) -> int:
    """Whole quarters of an hour since 1970.

    Sums per study day are grouped by it in the database: the offsets of all zones in use are multiples of it, so
    all instants of a quarter belong to the same study day.
    """
    return int(instant.timestamp() // QUARTER_HOUR_SECONDS)


def from_quarter_hour(quarter: int) -> datetime:
    """The instant at which a quarter of an hour begins."""
    return datetime.fromtimestamp(quarter * QUARTER_HOUR_SECONDS, UTC)
