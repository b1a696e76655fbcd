"""The contract between worker and runner: every event survives the line, and no line can break the reader."""

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bench import events, wire
from app.bench.codec import Malformed
from app.bench.result import RunResult
from app.bench.spec import MAXIMUM_RANKS, BadSpec, RunSpec


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Any value that a field so annotated may hold, short enough for one line."""
    origin, arguments = typing.get_origin(annotation), get_args(annotation)
    if dataclasses.is_dataclass(annotation):
        kind = typing.cast("type[Any]", annotation)
        hints = typing.get_type_hints(kind)
        return st.builds(kind, **{field.name: values(hints[field.name]) for field in dataclasses.fields(kind)})
    if origin in (types.UnionType, typing.Union):
        return st.one_of([values(item) for item in arguments])
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(values(str), values(str), max_size=3)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-(2**63), 2**63),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bool: st.booleans(),
        str: st.text(max_size=20),
        type(None): st.none(),
    }
    return simple[annotation]


@pytest.mark.parametrize("kind", get_args(events.Event), ids=lambda kind: kind.__name__)
@settings(deadline=None)
@given(data=st.data())
def test_event_survives_the_line(kind: type[Any], data: st.DataObject) -> None:
    event = data.draw(values(kind))

    line = wire.encode(event)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert len(line) <= wire.MAXIMUM_LINE
    assert wire.decode(line) == event
    assert wire.decode_all(line) == (event,)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_other_bytes_are_log_text(line: bytes) -> None:
    assert isinstance(wire.decode(line), wire.LogText)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["seconds", "rank", "text", "kind", "fatal", "pid"]), st.integers() | st.text() | st.none()
    )
)
def test_an_event_with_odd_fields_is_an_event_or_log_text(fields: dict[str, object]) -> None:
    for kind in ("Heartbeat", "Problem", "RankStarted", "Row", "Unheard"):
        line = json.dumps({"ringside": wire.SCHEMA, "event": kind, **fields})

        assert wire.decode_all(line)


@settings(deadline=None)
@given(st.text(max_size=50), st.text(max_size=50))
def test_text_glued_to_an_event_is_kept_apart_from_it(before: str, after: str) -> None:
    event = events.Heartbeat(seconds=1.5)
    glued = before.encode("utf-8", "replace") + wire.encode(event).rstrip() + after.encode("utf-8", "replace")

    found = wire.decode_all(glued)

    assert [item for item in found if not isinstance(item, wire.LogText)] == [event]


def test_two_events_on_one_line_are_both_read() -> None:
    one, two = events.Heartbeat(seconds=1.0), events.Problem(kind="exception", text="{}", rank=1)

    assert wire.decode_all(wire.encode(one).rstrip() + b" noise " + wire.encode(two)) == (
        one,
        wire.LogText(" noise "),
        two,
    )


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert wire.decode(b"caf\xe9 \xff\n") == wire.LogText("caf\ufffd \ufffd")


def test_a_line_of_another_schema_is_log_text() -> None:
    line = wire.encode(events.Heartbeat(seconds=1.0)).replace(b'"ringside":1', b'"ringside":99')

    assert isinstance(wire.decode(line), wire.LogText)


def test_infinite_and_overlong_numbers_are_refused() -> None:
    for number in ("Infinity", "NaN", "1e999", "1" + "0" * 400):
        line = f'{{"ringside":1,"event":"Heartbeat","seconds":{number}}}'

        assert isinstance(wire.decode(line), wire.LogText)


@settings(deadline=None)
@given(st.text(min_size=1, max_size=9))
def test_an_overlong_text_is_cut_to_one_line(piece: str) -> None:
    text = piece * 5000
    line = wire.encode(events.Problem(kind="exception", text=text, rank=3))
    event = wire.decode(line)

    assert len(line) <= wire.MAXIMUM_LINE
    assert isinstance(event, events.Problem)
    assert (event.kind, event.rank) == ("exception", 3)
    assert text.startswith(event.text.rstrip("…")[:100])


def test_the_largest_environment_fits_a_line() -> None:
    environment = events.Environment(
        backend="nccl",
        torch="2.13.0+cu130",
        python="3.12.1",
        platform="Linux" * 20,
        cpu="x" * 200,
        cores=512,
        memory_bytes=2**42,
        threads_per_rank=1,
        timing="events",
        hosts=tuple(f"host-{number:03d}.cluster.example" for number in range(16)),
        devices=("NVIDIA H200",) * 16,
        variables={f"NCCL_{number}": "v" * 100 for number in range(24)},
    )

    event = wire.decode(wire.encode(events.Hello(world_size=1024, environment=environment)))

    assert isinstance(event, events.Hello)


def spec(**changes: Any) -> RunSpec:
    return RunSpec(**{"operations": ("all_reduce",), "sizes": (1024, 4096), "ranks": 2, **changes})


def test_a_specification_survives_json() -> None:
    one = spec(dtype="half", backend="gloo", hide_host=True, budget_seconds=0.25)

    assert RunSpec.from_json(json.loads(json.dumps(one.to_json()))) == one


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("operations", ()),
        ("operations", ("all_to_none",)),
        ("operations", ("all_reduce", "all_reduce")),
        ("sizes", ()),
        ("sizes", (4096, 1024)),
        ("sizes", (0,)),
        ("ranks", 0),
        ("ranks", MAXIMUM_RANKS + 1),
        ("ranks", True),
        ("dtype", "int7"),
        ("backend", "mpi; rm -rf /"),
        ("preset", ""),
        ("seed", -1),
        ("budget_seconds", float("nan")),
        ("budget_seconds", float("inf")),
        ("timeout_seconds", 0),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(BadSpec) as refused:
        spec(**{field: value})

    assert refused.value.field == field


@pytest.mark.parametrize("raw", [None, [], "x", {}, {"operations": "all_reduce", "sizes": [1024], "ranks": 2}])
def test_malformed_json_is_refused(raw: object) -> None:
    with pytest.raises(Malformed):
        RunSpec.from_json(raw)


def test_a_refused_value_in_json_names_its_field() -> None:
    with pytest.raises(Malformed, match="ranks: must be between 1 and"):
        RunSpec.from_json({**spec().to_json(), "ranks": 0})


@settings(deadline=None)
@given(st.lists(st.one_of([values(kind) for kind in get_args(events.Event)]), max_size=6))
def test_a_result_survives_json(heard: list[events.Event]) -> None:
    result = RunResult(spec=spec()).add_all(heard)

    assert RunResult.from_json(json.loads(json.dumps(result.to_json()))) == result
    assert len(result.rows) == sum(isinstance(event, events.Row) for event in heard)
    assert result.finished == any(isinstance(event, events.Done) for event in heard)
