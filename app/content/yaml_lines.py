"""YAML as plain text with line numbers, without YAML's guesses.

Every scalar stays the string the author wrote: `1.10`, `no` and `2^30` mean themselves, and the
models say what a field should be. Mappings and lists keep the line they stand on. Only the plain
part of YAML is read: anchors, tags and several documents in a file are refused, and so are
duplicate keys. The tree is built from events with a bounded depth, so a small file cannot ask
for much memory.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

Tree = None | str | list["Tree"] | dict[str, "Tree"]
Location = tuple[str | int, ...]

MAXIMUM_DEPTH = 12

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_REMEDY = "Check the indentation and put text that holds : or # in quotes."
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


def read(text: str, *, first_line: int = 1) -> Document:
    """The tree that `text` describes; `first_line` is where the text begins in its file.

    A key without a value is left out, as if it were not there. Raises YamlProblem.
    """
    places = _Places(text, first_line)
    try:
        return _build(text, places)
    except yaml.MarkedYAMLError as error:
        line = places.line(error.problem_mark or error.context_mark)
        what = f"This is not valid YAML: {error.problem or error.context or 'it cannot be read'}."
        indentation = re.match(r"\s*", text.split("\n")[line - first_line])
        is_tab = indentation is not None and "\t" in indentation[0]
        raise YamlProblem(line, what, "Indent with spaces." if is_tab else _REMEDY) from None
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        line = first_line + text.count("\n", 0, position)
        raise YamlProblem(line, "There is a character YAML does not allow.", "Remove it.") from None


class _Places:
    """The lines of a text. YAML's own count is not used: it takes more characters for line ends than editors do."""

    def __init__(self, text: str, first_line: int) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text.rstrip("\n"))]
        self._first = first_line

    def line(self, mark: yaml.Mark | Any | None) -> int:
        """The line of a mark of the parser; never behind the last one."""
        return self._first + (bisect_left(self._ends, mark.index) if mark is not None else 0)


def _build(text: str, places: _Places) -> Document:
    builder = _Builder(places.line(None))
    for event in yaml.parse(text, Loader=_Loader):
        builder.take(event, places.line(event.start_mark))
    return Document(builder.root, builder.lines)


@dataclass(slots=True)
class _Container:
    value: list[Tree] | dict[str, Tree]
    location: Location
    key: str | None = None


class _Builder:
    """Builds the tree from the parser's events, one at a time."""

    def __init__(self, first_line: int) -> None:
        self.root: Tree = None
        self.lines: dict[Location, int] = {(): first_line}
        self._stack: list[_Container] = []
        self._documents = 0

    def take(self, event: yaml.Event, line: int) -> None:
        """Take in the next event, which stands at `line`. Raises YamlProblem."""
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise YamlProblem(line, "A second document begins here.", "Remove the line ---.")
        elif isinstance(event, yaml.CollectionEndEvent):
            self._stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            _refuse_references(event, line)
            self._place(_value(event), line)

    def _place(self, value: Tree, line: int) -> None:
        if not self._stack:
            self.root = value
            self.lines[()] = line
            location: Location | None = ()
        else:
            location = self._add(self._stack[-1], value, line)
        if location is None or not isinstance(value, list | dict):
            return
        if len(self._stack) >= MAXIMUM_DEPTH:
            raise YamlProblem(line, "This is nested too deeply.", "Nothing here needs such depth.")
        self._stack.append(_Container(value, location))

    def _add(self, container: _Container, value: Tree, line: int) -> Location | None:
        """Put `value` into its container; where it stands, or None when it was a key."""
        if isinstance(container.value, list):
            location = (*container.location, len(container.value))
            self.lines[location] = line
            container.value.append(value)
            return location
        if container.key is None:
            if not isinstance(value, str):
                raise YamlProblem(line, "A key must be a word.", "Write `key: value`.")
            location = (*container.location, value)
            if location in self.lines:
                raise YamlProblem(line, f"The key `{value}` stands here twice.", "Keep one of them.")
            container.key = value
            self.lines[location] = line
            return None
        key, container.key = container.key, None
        if value is not None:
            container.value[key] = value
        return (*container.location, key)


def _refuse_references(event: yaml.NodeEvent, line: int) -> None:
    if isinstance(event, yaml.AliasEvent):
        raise YamlProblem(line, f"Aliases (*{event.anchor}) are not read here.", "Write the value out.")
    if event.anchor is not None:
        raise YamlProblem(line, f"Anchors (&{event.anchor}) are not read here.", "Remove it.")
    tag = getattr(event, "tag", None)
    if tag is not None and not (tag == "!" and getattr(event, "style", None)):
        raise YamlProblem(line, f"Tags ({tag}) are not read here.", "Remove it.")


def _value(event: yaml.NodeEvent) -> Tree:
    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    assert isinstance(event, yaml.ScalarEvent)
    text: str = event.value
    return None if not event.style and text in _NULLS else text
