"""Frozen dataclasses to plain JSON values and back, strictly typed; stdlib only, for Python 3.10 and newer.

It ships to the node inside the worker, so pydantic is out of reach. `plain` gives dicts, lists and scalars;
`build` checks every value against the annotation and raises `Malformed` with the path of the first that does not fit.
Fields with a default may be missing, unknown fields are ignored: a newer worker may say more.
"""

import dataclasses
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Malformed(ValueError):
    """A value does not fit its field; the message starts with the field's path."""


def plain(value: object) -> Any:
    """`value` as JSON holds it: dataclasses become dicts, tuples lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def build(kind: type[T], raw: object, *, path: str = "") -> T:
    """A `kind` from the JSON object `raw`. Raises Malformed."""
    if not isinstance(raw, Mapping):
        raise Malformed(f"{path or kind.__name__}: expected an object")
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type] # every `kind` here is a dataclass
        where = f"{path}.{field.name}" if path else field.name
        if field.name in raw:
            values[field.name] = _convert(hints[field.name], raw[field.name], where)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise Malformed(f"{where}: missing")
    try:
        return kind(**values)
    except ValueError as error:
        raise Malformed(f"{path or kind.__name__}: {error}") from error


def _convert(annotation: Any, value: object, path: str) -> Any:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in arguments:
            return None
        (inner,) = [item for item in arguments if item is not type(None)]
        return _convert(inner, value, path)
    if origin is typing.Literal:
        if value in arguments and isinstance(value, str):
            return value
        raise Malformed(f"{path}: expected one of {', '.join(map(str, arguments))}, not {value!r}")
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise Malformed(f"{path}: expected a list")
        return tuple(_convert(arguments[0], item, f"{path}[{place}]") for place, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise Malformed(f"{path}: expected an object")
        return {str(key): _convert(arguments[1], item, f"{path}.{key}") for key, item in value.items()}
    if dataclasses.is_dataclass(annotation):
        return build(typing.cast("type[Any]", annotation), value, path=path)
    return _scalar(annotation, value, path)


def _scalar(annotation: Any, value: object, path: str) -> Any:
    is_bool = isinstance(value, bool)
    if annotation is float and isinstance(value, (int, float)) and not is_bool and abs(value) <= sys.float_info.max:
        return float(value)
    if annotation in (int, str, bool) and isinstance(value, annotation) and is_bool == (annotation is bool):
        return value
    raise Malformed(f"{path}: expected {annotation.__name__}, not {value!r}"[:200])
