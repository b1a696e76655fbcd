"""The timelines there are, and one call that runs one: `run(slug, raw)`.

`raw` are the strings of a query: the inputs of the scenario, and with `profile` the dimensions of its shape. A typed
value wins over one filled in from the profile. `Run` holds everything a page, a card or the JSON answer shows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from app.core.errors import InvalidInput, NotFound
from app.core.i18n import Language, Text
from app.core.inputs import Inputs, describe, parse, public_name, to_text
from app.core.registry import discover
from app.hardware.model import Estimate, Profile
from app.timelines import explain
from app.timelines import scenarios as folder
from app.timelines.engine import simulate
from app.timelines.model import Gap, Kind, Link, Span, Stream, Trace
from app.timelines.scenario import Filling, Frame, Scenario, Value

PROFILE = "profile"
SIGNIFICANT_DIGITS = 6
"""Filled durations are rounded to this many, so that they can stand in the form and be typed again."""

Number = int | float


@dataclass(frozen=True, slots=True)
class RunOperation:
    """One block as it is shown. Times in ms."""

    id: str
    device: str
    stream: str
    kind: Kind
    start: float
    end: float
    label: str
    waits_for: tuple[str, ...]
    critical: bool
    detail: Text
    link: Link
    short: str
    blocked_by: str | None


@dataclass(frozen=True, slots=True)
class RunGap:
    """One idle time as it is shown, with the sentence that explains it. Times in ms."""

    id: str
    device: str
    stream: str
    start: float
    end: float
    kind: str
    waits_for: str | None
    exposed: bool
    _gap: Gap
    _spans: Mapping[str, Span]

    @property
    def why(self) -> Text:
        """Why the stream is idle; written when it is asked for, as a large schedule has thousands of gaps."""
        return explain.why(self._gap, self._spans)


@dataclass(frozen=True, slots=True)
class Run:
    """One scenario with its inputs and outcome. `filled` says which inputs came from `profile`, and how."""

    scenario: Scenario
    inputs: Inputs
    summary: dict[str, Number | list[Number]]
    operations: tuple[RunOperation, ...]
    gaps: tuple[RunGap, ...]
    streams: tuple[Stream, ...]
    trace: Trace
    frames: tuple[Frame, ...]
    profile: Profile | None
    shape: Inputs | None
    filled: Mapping[str, Estimate]

    @property
    def slug(self) -> str:
        """The slug of the scenario."""
        return self.scenario.slug

    def values(self) -> dict[str, str]:
        """Every input as text, defaults and filled values included."""
        return {public_name(name): to_text(getattr(self.inputs, name)) for name in type(self.inputs).model_fields}

    def to_json(self, language: Language) -> dict[str, Any]:
        """The answer of the JSON API; times in ms as decimal numbers, the details of operations in `language`."""
        return {
            "scenario": self.slug,
            "inputs": {
                public_name(name): _decimal(getattr(self.inputs, name)) for name in type(self.inputs).model_fields
            },
            "summary": self.summary,
            "operations": [
                {
                    "id": operation.id,
                    "device": operation.device,
                    "stream": operation.stream,
                    "kind": operation.kind,
                    "start": operation.start,
                    "end": operation.end,
                    "label": operation.label,
                    "detail": operation.detail[language],
                    "waits_for": list(operation.waits_for),
                    "critical": operation.critical,
                }
                for operation in self.operations
            ],
        }


@cache
def _by_slug() -> dict[str, Scenario]:
    """Every scenario of the folder `scenarios/`, by slug."""
    return discover(folder, "SCENARIO", Scenario)


def scenarios() -> tuple[Scenario, ...]:
    """Every scenario, by slug."""
    return tuple(_by_slug().values())


def find(slug: str) -> Scenario:
    """The scenario called `slug`. Raises NotFound."""
    found = _by_slug().get(slug)
    if found is None:
        raise NotFound(
            Text(f"There is no timeline called {slug!r}.", f"没有名为 {slug!r} 的时间线。"),
            remedy=Text("Choose one from the list of timelines.", "请从时间线列表中选择。"),
        )
    return found


def run(slug: str, raw: Mapping[str, str], *, profiles: Mapping[str, Profile] | None = None) -> Run:
    """Scenario `slug` with the inputs that `raw` writes. Raises NotFound or InvalidInput."""
    scenario = find(slug)
    given = {name: text for name, text in raw.items() if text.strip()}
    key = given.pop(PROFILE, "")
    shape_raw, typed = _split(scenario.filling, given)
    if not key:
        if shape_raw:
            parse_shape(scenario, shape_raw)
        return _finish(scenario, parse(scenario.inputs, typed), None, None, {})
    filling = scenario.filling
    profile = (profiles or {}).get(key)
    if filling is None or profile is None:
        raise InvalidInput({PROFILE: Text("There is no such hardware profile.", "没有这个硬件配置。")})
    if profile.kind == "measured" and not shape_raw:
        shape_raw = dict(filling.small)
    if profile.ranks is not None:
        target = typed if filling.ranks in _names(scenario.inputs) else shape_raw
        target.setdefault(filling.ranks, str(profile.ranks))
    problems: dict[str, Text] = {}
    try:
        shape: Inputs | None = parse(filling.shape, shape_raw)
    except InvalidInput as error:
        shape = None
        problems.update(error.fields)
    try:
        inputs: Inputs | None = parse(scenario.inputs, typed)
    except InvalidInput as error:
        # A typed value may clash with a default that is about to be filled in: only what was typed counts here.
        inputs = None
        problems.update({name: text for name, text in error.fields.items() if name in typed})
    if problems or shape is None:
        raise InvalidInput(problems)
    try:
        estimates = filling.durations(shape, inputs if inputs is not None else scenario.inputs(), profile)
    except InvalidInput as error:
        # The profile has nothing to say about a collective: that is told where the profile is chosen.
        raise InvalidInput({PROFILE: next(iter(error.fields.values()))}) from error
    filled = {name: estimate for name, estimate in estimates.items() if name not in typed}
    values = {**typed, **{name: to_text(milliseconds(estimate.seconds)) for name, estimate in filled.items()}}
    return _finish(scenario, parse(scenario.inputs, values), profile, shape, filled)


def parse_shape(scenario: Scenario, raw: Mapping[str, str]) -> Inputs | None:
    """The shape that `raw` writes; None where the scenario has none. Raises InvalidInput."""
    return parse(scenario.filling.shape, raw) if scenario.filling else None


def milliseconds(seconds: float) -> Fraction:
    """An estimate as an input: milliseconds with `SIGNIFICANT_DIGITS` digits.

    >>> milliseconds(0.00026098132)
    Fraction(260981, 1000000)
    """
    return Fraction(f"{seconds * 1e3:.{SIGNIFICANT_DIGITS}g}")


def _names(model: type[Inputs]) -> set[str]:
    return {field.name for field in describe(model)}


def _split(filling: Filling | None, given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What describes the shape, and what is an input (or unknown)."""
    names = _names(filling.shape) if filling else set()
    shape = {name: text for name, text in given.items() if name in names}
    return shape, {name: text for name, text in given.items() if name not in names}


def _finish(
    scenario: Scenario, inputs: Inputs, profile: Profile | None, shape: Inputs | None, filled: Mapping[str, Estimate]
) -> Run:
    trace = simulate(scenario.build(inputs))
    spans = {span.operation.id: span for span in trace.spans}
    return Run(
        scenario=scenario,
        inputs=inputs,
        summary={name: _decimal(value) for name, value in scenario.summarise(inputs, trace).items()},
        operations=tuple(
            RunOperation(
                id=span.operation.id,
                device=span.operation.device,
                stream=span.operation.stream,
                kind=span.operation.kind,
                start=float(span.start),
                end=float(span.end),
                label=span.operation.label,
                waits_for=tuple(name for name, _ in span.operation.after),
                critical=span.critical,
                detail=span.operation.detail,
                link=span.operation.link,
                short=span.operation.short,
                blocked_by=span.blocked_by,
            )
            for span in trace.spans
        ),
        gaps=tuple(_gap(gap, spans) for gap in trace.gaps),
        streams=trace.streams,
        trace=trace,
        frames=scenario.frames(inputs, trace) if scenario.frames else (),
        profile=profile,
        shape=shape,
        filled=dict(filled),
    )


def _gap(gap: Gap, spans: Mapping[str, Span]) -> RunGap:
    return RunGap(
        id=gap.id,
        device=gap.device,
        stream=gap.stream,
        start=float(gap.start),
        end=float(gap.end),
        kind=gap.kind,
        waits_for=gap.waits_for,
        exposed=gap.exposed,
        _gap=gap,
        _spans=spans,
    )


def _decimal(value: Value | object) -> Any:
    """Exact values as JSON numbers: whole ones as integers."""
    if isinstance(value, list | tuple):
        return [_decimal(item) for item in value]
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value
