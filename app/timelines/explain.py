"""The sentences of a timeline: why a stream is idle, and how numbers are written in them.

Each explanation names the operation that was waited for and why that one was not earlier, so that a reader
can follow the chain back by one link.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from app.core.i18n import Language, Text
from app.core.units import THIN_SPACE, number
from app.timelines.model import Gap, Span


def time(value: Fraction | float) -> str:
    """A time as people read it: `2.5 ms`."""
    return f"{_number(float(value))}{THIN_SPACE}ms"


def moment(value: Fraction | float) -> str:
    """A time without its unit."""
    return _number(float(value))


_number = lru_cache(maxsize=4096)(number)


STREAMS = {
    "compute": Text("compute", "计算"),
    "communication": Text("communication", "通信"),
    "TP communication": Text("TP communication", "TP 通信"),
    "send": Text("send", "发送"),
}
"""Names of streams that are not terms of the field; `all-gather` stays what it is."""


def stream_name(name: str, language: Language) -> str:
    """A stream as a reader of `language` calls it."""
    return STREAMS[name][language] if name in STREAMS else name


def _after_chinese(word: str) -> str:
    """`word` as it follows a Chinese one: Latin letters stand off by a space."""
    return f" {word}" if word[:1].isascii() else word


def why(gap: Gap, spans: Mapping[str, Span]) -> Text:
    """Why the stream of `gap` is idle."""
    place = Text(
        f"{gap.device}, {gap.stream}: idle from {moment(gap.start)} to {time(gap.end)} ({time(gap.duration)}).",
        f"{gap.device} 的{_after_chinese(stream_name(gap.stream, 'zh'))}：{moment(gap.start)} 到 {time(gap.end)} 空闲（{time(gap.duration)}）。",
    )
    if gap.waits_for is None:
        return place
    cause = spans[gap.waits_for]
    if gap.next is None:
        reason = Text(
            f"It has nothing left to do; the run ends with {cause.operation.label} at {time(cause.end)}.",
            f"它已无事可做；全程在 {time(cause.end)} 随 {cause.operation.label} 结束。",
        )
    else:
        following = spans[gap.next].operation
        reason = Text(
            f"{following.label} waits for {cause.operation.label}, which ends at {time(cause.end)}.",
            f"{following.label} 在等 {cause.operation.label}，后者到 {time(cause.end)} 才结束。",
        )
    return _join(place, reason, *_before(cause, spans))


def _before(cause: Span, spans: Mapping[str, Span]) -> tuple[Text, ...]:
    """Why the cause itself was not earlier."""
    if cause.blocked_by is None or cause.blocked_by not in spans:
        return ()
    earlier = spans[cause.blocked_by]
    return (
        Text(
            f"{cause.operation.label} could not start before {earlier.operation.label} ended at {time(earlier.end)}.",
            f"{cause.operation.label} 又要等 {earlier.operation.label} 在 {time(earlier.end)} 结束后才能开始。",
        ),
    )


def _join(*parts: Text) -> Text:
    return Text(" ".join(part.en for part in parts), "".join(part.zh for part in parts))
