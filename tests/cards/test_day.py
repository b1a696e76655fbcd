"""The study day: zones, the rollover hour, and clocks that jump."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cards.day import ONE_DAY, StudyCalendar, from_quarter_hour, is_zone, quarter_hour

SHANGHAI = StudyCalendar(ZoneInfo("Asia/Shanghai"))
ZONES = (
    "UTC",
    "Asia/Shanghai",
    "Asia/Kathmandu",
    "America/New_York",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Africa/Cairo",
    "Asia/Beirut",
    "Antarctica/Troll",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("instant", "day"),
    [
        ("2026-03-01T15:59", date(2026, 3, 1)),
        ("2026-03-01T19:59", date(2026, 3, 1)),
        ("2026-03-01T20:00", date(2026, 3, 2)),
    ],
)
def test_a_day_in_shanghai_ends_at_four_in_the_morning(instant: str, day: date) -> None:
    assert SHANGHAI.day(utc(instant)) == day


def test_a_day_begins_and_ends_where_its_neighbours_do() -> None:
    day = date(2026, 3, 1)

    assert SHANGHAI.start(day) == utc("2026-02-28T20:00")
    assert SHANGHAI.end(day) == SHANGHAI.start(day + ONE_DAY)


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 7), 23), (date(2026, 10, 31), 25), (date(2026, 6, 1), 24)])
def test_a_day_over_a_clock_change_is_not_24_hours_long(day: date, hours: int) -> None:
    """New York springs forward in the night after 7 March and falls back in the night after 31 October 2026."""
    calendar = StudyCalendar(ZoneInfo("America/New_York"))

    assert calendar.end(day) - calendar.start(day) == timedelta(hours=hours)


def test_an_hour_that_is_lived_twice_is_one_day() -> None:
    """Berlin, 25 October 2026: half past two comes twice, both times before the rollover."""
    calendar = StudyCalendar(ZoneInfo("Europe/Berlin"))

    days = {calendar.day(utc("2026-10-25T00:30")), calendar.day(utc("2026-10-25T01:30"))}

    assert days == {date(2026, 10, 24)}


def test_a_day_that_begins_at_an_hour_the_clock_skips_begins_at_the_jump() -> None:
    """Cairo, 24 April 2026: midnight is followed by one o'clock at once."""
    calendar = StudyCalendar(ZoneInfo("Africa/Cairo"), rollover_hour=0)

    start = calendar.start(date(2026, 4, 24))

    assert start == utc("2026-04-23T22:00")
    assert calendar.day(start) == date(2026, 4, 24)
    assert calendar.day(start - timedelta(microseconds=1)) == date(2026, 4, 23)


@given(
    zone=st.sampled_from(ZONES),
    rollover=st.sampled_from([0, 3, 4, 5]),
    day=st.dates(min_value=date(2015, 1, 1), max_value=date(2035, 1, 1)),
)
def test_a_day_holds_its_first_instant_and_not_the_one_before(zone: str, rollover: int, day: date) -> None:
    calendar = StudyCalendar(ZoneInfo(zone), rollover)

    start = calendar.start(day)

    assert calendar.day(start) == day
    assert calendar.day(start - timedelta(microseconds=1)) < day


@given(
    zone=st.sampled_from(ZONES),
    instants=st.lists(
        st.datetimes(min_value=datetime(2015, 1, 1), max_value=datetime(2035, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
        min_size=2,
    ),
)
def test_days_never_run_backwards(zone: str, instants: list[datetime]) -> None:
    calendar = StudyCalendar(ZoneInfo(zone))

    days = [calendar.day(instant) for instant in sorted(instants)]

    assert days == sorted(days)


@given(
    zone=st.sampled_from(ZONES),
    instant=st.datetimes(min_value=datetime(2015, 1, 1), max_value=datetime(2035, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_all_of_a_quarter_hour_is_one_day(zone: str, instant: datetime) -> None:
    """What the sums per day rely on."""
    calendar = StudyCalendar(ZoneInfo(zone))

    assert calendar.day(from_quarter_hour(quarter_hour(instant))) == calendar.day(instant)


@pytest.mark.parametrize(
    "name", ["", "Mars/Olympus", "../../etc/passwd", "America", "/etc/localtime", "Asia/Shanghai\n"]
)
def test_what_is_no_zone_is_said_to_be_none(name: str) -> None:
    assert not is_zone(name)
    assert is_zone("Asia/Shanghai")
