"""Typed inputs with units, bounds and help, shared by calculators and timelines.

A calculator or scenario declares one `Inputs` subclass; each field is made by `whole`,
`real`, `rational`, `rationals`, `choice` or `switch`, which carry what a form needs:

    class TpInputs(Inputs):
        hidden_size: int = whole(8192, title=Text("Hidden size h", "隐藏维度 h"), help=..., maximum=10**6)

`parse` turns the strings of a query or form into such an object or raises `InvalidInput`
with one bilingual message per field; `describe` gives templates what to draw; `to_query`
is the inverse of `parse` and yields only what differs from the defaults. A field whose name is a
Python keyword is declared with an underscore behind it (`pass_`) and is called `pass` outside.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from app.core.errors import InvalidInput
from app.core.i18n import Text

FieldKind = Literal["whole", "real", "rational", "rationals", "choice", "switch"]

InputsT = TypeVar("InputsT", bound="Inputs")

MAXIMUM = 1e18
"""Default upper bound of a number: far above every quantity here, far below overflow."""
MAXIMUM_CHARACTERS = 40
MAXIMUM_LIST = 512


class Inputs(BaseModel):
    """Base of all input models: frozen, no unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class InputProblem(ValueError):
    """Raised by a model validator when fields do not fit together: names the field to mend."""

    def __init__(self, field: str, message: Text) -> None:
        super().__init__(message.en)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """What a form shows of one input. `default` is the text that goes in the box."""

    name: str
    kind: FieldKind
    title: Text
    help: Text
    unit: str
    default: str
    minimum: float | None
    maximum: float | None
    choices: tuple[tuple[str, Text], ...]


def _field(default: object, kind: FieldKind, title: Text, help: Text, unit: str, **limits: Any) -> Any:
    choices = limits.pop("choices", ())
    extra: Any = {"doc": (kind, title, help, unit, choices)}
    return Field(default, json_schema_extra=extra, **limits)


def whole(default: int, *, title: Text, help: Text, unit: str = "", minimum: int = 1, maximum: int = 10**15) -> Any:
    """An integer input between `minimum` and `maximum`."""
    return _field(default, "whole", title, help, unit, ge=minimum, le=maximum)


def real(
    default: float, *, title: Text, help: Text, unit: str = "", minimum: float = 0.0, maximum: float = MAXIMUM
) -> Any:
    """A finite float input between `minimum` and `maximum`."""
    return _field(default, "real", title, help, unit, ge=minimum, le=maximum, allow_inf_nan=False)


def rational(
    default: int | Fraction, *, title: Text, help: Text, unit: str = "", minimum: int = 0, maximum: int = 10**9
) -> Any:
    """An exact rational input (`Fraction`); decimals like 0.1 stay exact."""
    return _field(Fraction(default), "rational", title, help, unit, ge=minimum, le=maximum)


def rationals(*, title: Text, help: Text, unit: str = "") -> Any:
    """A list of exact rationals, written with commas; empty by default."""
    return _field((), "rationals", title, help, unit, max_length=MAXIMUM_LIST)


def choice(default: str, *, title: Text, help: Text, choices: Mapping[str, Text]) -> Any:
    """One of a few names; annotate the field with the `Literal` of the same names."""
    return _field(default, "choice", title, help, "", choices=tuple(choices.items()))


def switch(default: bool, *, title: Text, help: Text) -> Any:  # noqa: FBT001 - it is the value itself
    """A yes/no input."""
    return _field(default, "switch", title, help, "")


def public_name(field: str) -> str:
    """The name of a field outside Python: `pass` for `pass_`."""
    return field.removesuffix("_")


def describe(model: type[Inputs]) -> tuple[FieldDoc, ...]:
    """The fields of `model` in order, for a form."""
    return tuple(_describe_field(name, info) for name, info in model.model_fields.items())


def _describe_field(name: str, info: FieldInfo) -> FieldDoc:
    kind, title, help_text, unit, choices = _doc(info)
    bounds = {type(limit).__name__: limit for limit in info.metadata}
    return FieldDoc(
        name=public_name(name),
        kind=kind,
        title=title,
        help=help_text,
        unit=unit,
        default=to_text(info.default),
        minimum=float(bounds["Ge"].ge) if "Ge" in bounds else None,
        maximum=float(bounds["Le"].le) if "Le" in bounds else None,
        choices=choices,
    )


def _doc(info: FieldInfo) -> tuple[FieldKind, Text, Text, str, tuple[tuple[str, Text], ...]]:
    extra = info.json_schema_extra
    assert isinstance(extra, dict), "make input fields with the functions of this module"
    doc: Any = extra["doc"]
    return doc  # type: ignore[no-any-return]


def to_text(value: object) -> str:
    """An input value as a query or a form writes it; `parse` reads it back exactly."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(to_text(item) for item in value)
    if isinstance(value, Fraction):
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
        return f"{decimal.normalize():f}" if Fraction(decimal) == value else f"{value.numerator}/{value.denominator}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def to_query(inputs: Inputs) -> dict[str, str]:
    """The inputs that differ from their defaults, as query parameters."""
    fields = type(inputs).model_fields
    values = {name: getattr(inputs, name) for name in fields}
    return {public_name(name): to_text(value) for name, value in values.items() if value != fields[name].default}


def parse(model: type[InputsT], raw: Mapping[str, str]) -> InputsT:
    """The inputs that `raw` describes; blank values mean the default. Raises InvalidInput."""
    problems: dict[str, Text] = {}
    values: dict[str, object] = {}
    attributes = {public_name(attribute): attribute for attribute in model.model_fields}
    for name, text in raw.items():
        info = model.model_fields[attributes[name]] if name in attributes else None
        if info is None:
            problems[name] = Text("There is no such input.", "没有这个输入项。")
        elif text.strip():
            try:
                values[attributes[name]] = _read(_doc(info)[0], text)
            except (ValueError, OverflowError):
                problems[name] = _expected(_doc(info)[0])
    try:
        inputs = model.model_validate(values)
    except ValidationError as error:
        for detail in error.errors():
            name, message = _explain(detail)
            problems.setdefault(name, message)
    else:
        if not problems:
            return inputs
    raise InvalidInput(problems)


def _read(kind: FieldKind, text: str) -> object:
    text = unicodedata.normalize("NFKC", text).strip()
    if kind == "choice":
        return text
    if kind == "switch":
        return {
            "true": True,
            "on": True,
            "1": True,
            "yes": True,
            "false": False,
            "off": False,
            "0": False,
            "no": False,
        }.get(text.lower(), text)
    if kind == "rationals":
        return tuple(_exact(item) for item in text.split(",") if item.strip())
    value = _exact(text.replace(",", "").replace("_", ""))
    if kind == "rational":
        return value
    if kind == "whole":
        if value.denominator != 1:
            raise ValueError(text)
        return int(value)
    return float(value)


def _exact(text: str) -> Fraction:
    """The exact value of `12`, `0.1`, `1e9`, `1/3` or `2^30`. Raises ValueError for anything else.

    The exponent is bounded before the number is built, so that a short text cannot ask for a huge one.
    """
    text = text.strip()
    if len(text) > MAXIMUM_CHARACTERS:
        raise ValueError(text)
    base, power, exponent = text.partition("^")
    if power:
        if not (exponent.isdecimal() and int(exponent) <= 64):
            raise ValueError(text)
        root = _exact(base)
        if abs(root) > 1000:
            raise ValueError(text)
        return root ** int(exponent)
    numerator, slash, denominator = text.partition("/")
    if slash:
        divisor = _exact(denominator)
        if not divisor:
            raise ValueError(text)
        return _exact(numerator) / divisor
    try:
        decimal = Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None
    if not decimal.is_finite() or not -400 < decimal.adjusted() < 40:
        raise ValueError(text)
    return Fraction(decimal)


def _expected(kind: FieldKind) -> Text:
    if kind == "whole":
        return Text("Enter a whole number, such as 4096.", "请输入整数，例如 4096。")
    if kind == "rationals":
        return Text("Enter numbers separated by commas, such as 3,5,2.", "请输入用英文逗号分隔的数字，例如 3,5,2。")
    return Text("Enter a number, such as 2.5 or 1e9.", "请输入数字，例如 2.5 或 1e9。")


def _explain(detail: Any) -> tuple[str, Text]:
    """Field name and message for one pydantic error."""
    name = public_name(str(detail["loc"][0])) if detail["loc"] else ""
    context = detail.get("ctx", {})
    match detail["type"]:
        case "value_error" if isinstance(context.get("error"), InputProblem):
            return context["error"].field, context["error"].message
        case "greater_than_equal":
            limit = f"{float(context['ge']):g}"
            return name, Text(f"Must be at least {limit}.", f"不能小于 {limit}。")
        case "less_than_equal":
            limit = f"{float(context['le']):g}"
            return name, Text(f"Must be at most {limit}.", f"不能大于 {limit}。")
        case "literal_error":
            expected = context["expected"].replace("'", "").replace(" or ", ", ")
            return name, Text(f"Choose one of: {expected}.", f"请选择其中之一：{expected}。")
        case "bool_parsing" | "bool_type":
            return name, Text("Choose true or false.", "请选择 true 或 false。")
        case "too_long":
            return name, Text(f"At most {MAXIMUM_LIST} values.", f"最多 {MAXIMUM_LIST} 个值。")
        case _:
            return name, Text("This value is not valid here.", "这个值在此处无效。")
