"""A node's settings as people type them: text per setting in, a checked `Node` or a message per setting out, and back.

`ringside node add --set` and the form of the nodes page both read and explain through here; what a setting is called stands in
its `Label`. A list has an item a line or between commas, variables one `NAME=VALUE` a line.
"""

import re
import types
import typing
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic.fields import FieldInfo

from app.bench.launchers.model import Label, Launcher, NodeSettings
from app.bench.setting_errors import EXPECTED, Kind
from app.core.errors import InvalidInput
from app.core.i18n import Text

MAXIMUM_CHARACTERS = 4000
SWITCH_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a launcher as a form shows it. `default` is text as `to_text` writes it."""

    name: str
    kind: Kind
    label: Label
    default: str
    is_required: bool
    choices: tuple[str, ...] = ()


def describe(launcher: Launcher) -> tuple[Setting, ...]:
    """The settings of a launcher: those it needs, then its own, then those of every node."""
    labels, fields = launcher.settings.labels(), launcher.settings.model_fields
    common = NodeSettings.model_fields
    order = sorted(labels, key=lambda name: (not fields[name].is_required(), name in common))
    return tuple(_setting(name, fields[name], labels[name]) for name in order)


def read(launcher: Launcher, texts: Mapping[str, str]) -> dict[str, object]:
    """The section that the texts stand for, launcher included; blank ones are left out. Raises InvalidInput."""
    known = {setting.name: setting for setting in describe(launcher)}
    section: dict[str, object] = {"launcher": launcher.slug}
    problems: dict[str, Text] = {}
    for name, text in texts.items():
        if name not in known:
            choices = ", ".join(known)
            problems[name] = Text(
                f"There is no such setting; there are {choices}.", f"没有这个设置；可用的有 {choices}。"
            )
        elif len(text) > MAXIMUM_CHARACTERS:
            problems[name] = Text("This is too long.", "内容太长。")
        elif text.strip():
            try:
                section[name] = _value(known[name].kind, text)
            except ValueError:
                problems[name] = EXPECTED[known[name].kind]
    if problems:
        raise InvalidInput(problems)
    return section


def to_text(value: object) -> str:
    """A value of a setting as `read` takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "\n".join(f"{name}={item}" for name, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return "\n".join(map(str, value))
    return "" if value is None else str(value)


def _setting(name: str, info: FieldInfo, label: Label) -> Setting:
    annotation = _plain(info.annotation)
    choices = typing.get_args(annotation) if typing.get_origin(annotation) is Literal else ()
    default = "" if info.is_required() else to_text(info.get_default(call_default_factory=True))
    return Setting(name, _kind(annotation), label, default, info.is_required(), tuple(map(str, choices)))


def _plain(annotation: Any) -> Any:
    """Without `Annotated` and without `| None`."""
    if typing.get_origin(annotation) is typing.Annotated:
        return _plain(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        inner = [item for item in typing.get_args(annotation) if item is not type(None)]
        return _plain(inner[0])
    return annotation


def _kind(annotation: Any) -> Kind:
    origin = typing.get_origin(annotation) or annotation
    kinds: dict[Any, Kind] = {
        bool: "switch",
        int: "whole",
        Literal: "choice",
        list: "list",
        tuple: "list",
        dict: "pairs",
    }
    return kinds.get(origin, "text")


def _value(kind: Kind, text: str) -> object:
    """Raises ValueError."""
    plain = unicodedata.normalize("NFKC", text).strip()
    match kind:
        case "whole":
            return int(plain)
        case "switch":
            if plain.lower() not in SWITCH_WORDS:
                raise ValueError(plain)
            return SWITCH_WORDS[plain.lower()]
        case "list":
            return [item.strip() for item in re.split(r"[,\n]", text) if item.strip()]
        case "pairs":
            return pairs(text)
        case _:
            return text.strip()


def pairs(text: str) -> dict[str, str]:
    """The variables of `NAME=VALUE` lines. Raises ValueError for a line without a name or a second value of one."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, value = line.partition("=")
        if not equals or not name.strip() or name.strip() in found:
            raise ValueError(line)
        found[name.strip()] = value.strip()
    return found
