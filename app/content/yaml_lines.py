"""YAML as plain text with line numbers, without YAML's guesses.

Every scalar stays the string the author wrote: `1.10`, `no` and `2^30` mean themselves, and the
models say what a field should be. Mappings and lists keep the line they stand on. Only the plain
part of YAML is read: anchors, tags and several documents in a file are refused, and so are
duplicate keys. The tree is built from events with a bounded depth, so a small file cannot ask
for much memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

Tree = None | str | list["Tree"] | dict[str, "Tree"]
Location = tuple[str | int, ...]

MAXIMUM_DEPTH = 12

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlProblem(Exception):
    """The text is not YAML we read; `line` is 1-based."""

    def __init__(self, line: int, what: str, remedy: str) -> None:
        super().__init__(f"{line}: {what} {remedy}")
        self.line = line
        self.what = what
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Document:
    """A tree of text and the line of each of its places, by path from the root."""

    value: Tree
    lines: Mapping[Location, int]

    def line(self, location: Location) -> int:
        """The line of `location`, or of the nearest place around it that exists."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)


@dataclass(slots=True)
class _Container:
    value: list[Tree] | dict[str, Tree]
    location: Location
    key: str | None = field(default=None)


def read(text: str, *, first_line: int = 1) -> Document:
    """The tree that `text` describes; `first_line` is where the text begins in its file.

    A key without a value is left out, as if it were not there. Raises YamlProblem.
    """
    try:
        return _build(text, first_line)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark else 0)
        what = f"This is not valid YAML: {error.problem or error.context or 'it cannot be read'}."
        raise YamlProblem(line, what, _remedy(error.problem or "")) from None
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        line = first_line + text.count("\n", 0, position)
        raise YamlProblem(line, "There is a character YAML does not allow.", "Remove it.") from None


def _remedy(problem: str) -> str:
    if "tab" in problem or r"'\t'" in problem:
        return "Indent with spaces."
    return "Check the indentation and put text that holds : or # in quotes."


def _build(text: str, first_line: int) -> Document:
    root: Tree = None
    lines: dict[Location, int] = {(): first_line}
    stack: list[_Container] = []
    documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = first_line + event.start_mark.line
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise YamlProblem(line, "A second document begins here.", "Remove the line ---.")
        elif isinstance(event, yaml.AliasEvent):
            raise YamlProblem(line, f"Aliases (*{event.anchor}) are not read here.", "Write the value out.")
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            if event.anchor is not None:
                raise YamlProblem(line, f"Anchors (&{event.anchor}) are not read here.", "Remove it.")
            if getattr(event, "tag", None) is not None and not _is_implied(event):
                raise YamlProblem(line, f"Tags ({event.tag}) are not read here.", "Remove it.")  # type: ignore[attr-defined]
            value = _value(event)
            if not stack:
                root = value
                lines[()] = line
                location: Location = ()
            else:
                added = _add(stack[-1], value, line, lines)
                if added is None:
                    continue
                location = added
            if isinstance(value, list | dict):
                if len(stack) >= MAXIMUM_DEPTH:
                    raise YamlProblem(line, "This is nested too deeply.", "Nothing here needs such depth.")
                stack.append(_Container(value, location))
    return Document(root, lines)


def _is_implied(event: yaml.NodeEvent) -> bool:
    """Whether the tag is the parser's own `!` for quoted text, not one the author wrote."""
    return getattr(event, "tag", None) == "!" and isinstance(event, yaml.ScalarEvent) and bool(event.style)


def _value(event: yaml.NodeEvent) -> Tree:
    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    assert isinstance(event, yaml.ScalarEvent)
    text: str = event.value
    return None if not event.style and text in _NULLS else text


def _add(container: _Container, value: Tree, line: int, lines: dict[Location, int]) -> Location | None:
    """Put `value` into its container; where it stands, or None when it was a key."""
    if isinstance(container.value, list):
        location = (*container.location, len(container.value))
        lines[location] = line
        container.value.append(value)
        return location
    if container.key is None:
        if not isinstance(value, str):
            raise YamlProblem(line, "A key must be a word.", "Write `key: value`.")
        if (*container.location, value) in lines:
            raise YamlProblem(line, f"The key `{value}` stands here twice.", "Keep one of them.")
        container.key = value
        lines[*container.location, value] = line
        return None
    key, container.key = container.key, None
    if value is not None:
        container.value[key] = value
    return (*container.location, key)
