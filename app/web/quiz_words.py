"""How quantities, intervals and times read on a quiz page."""

from datetime import datetime
from urllib.parse import urlencode

from app.cards.answers import BASE_UNITS, EXAMPLES
from app.cards.day import StudyCalendar
from app.cards.exercises import Drill, Given, Reading
from app.cards.schedule import Outcome
from app.core import units
from app.core.i18n import Text, same

THIN = units.THIN_SPACE


def interval(outcome: Outcome) -> Text:
    """The interval on a button: `10 min`, `12 d`."""
    if outcome.days is not None:
        return Text(f"{outcome.days}{THIN}d", f"{outcome.days}{THIN}天")
    minutes = units.number(outcome.delay.total_seconds() / 60)
    return Text(f"{minutes}{THIN}min", f"{minutes}{THIN}分钟")


def until(instant: datetime | None, *, now: datetime, calendar: StudyCalendar) -> Text | None:
    """When something is due, as one says it: in 8 min, tomorrow, in 3 days."""
    if instant is None:
        return None
    days = (calendar.day(instant) - calendar.day(now)).days
    if days == 1:
        clock = f"{calendar.rollover_hour}:00"
        return Text(f"tomorrow, from {clock}", f"明天 {clock} 起")
    if days > 1:
        return Text(f"in {days} days", f"{days} 天后")
    minutes = max(1, round((instant - now).total_seconds() / 60))
    if minutes < 90:
        return Text(f"in {minutes} min", f"{minutes} 分钟后")
    hours = round(minutes / 60)
    return Text(f"in {hours} hours", f"{hours} 小时后")


def given_value(given: Given) -> Text:
    """One given value with its unit, or the title of a choice."""
    for name, title in given.field.choices:
        if name == given.value:
            return title
    if given.field.kind == "switch":
        return Text("yes", "是") if given.value == "true" else Text("no", "否")
    try:
        number = units.number(float(given.value), digits=6)
    except ValueError:
        return same(given.value)
    return same(f"{number}{THIN}{given.field.unit}" if given.field.unit else number)


def example_answer(drill: Drill) -> str:
    """What an answer to the drill looks like, with a unit of its kind."""
    return EXAMPLES[BASE_UNITS.get(drill.result.unit, BASE_UNITS[""]).dimension]


def drill_address(drill: Drill) -> str:
    """The calculator with the numbers of the drill."""
    return f"/calculators/{drill.calculator.slug}?{urlencode(drill.query)}".rstrip("?")


def timeline_address(reading: Reading) -> str:
    """The timeline that was read."""
    return f"/timelines/{reading.run.slug}?{urlencode(reading.run.values())}"
