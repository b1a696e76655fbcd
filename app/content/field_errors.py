"""What pydantic found wrong in a YAML file, in an author's words and with the line.

Pydantic's own messages speak of Python types and dictionaries; an author has never seen either.
"""

import difflib
from collections.abc import Callable
from typing import Any

from app.content.findings import Findings
from app.content.yaml_lines import Document, Location

_LIST = "Write it as [one, two] or as lines that begin with a dash."
_NUMBER = ("is not a whole number from 0 to 1,000,000.", "Write one, such as 20.")
_FIELDS = ("has no fields of its own.", "Write `key: value` lines under it.")
_BOTH_LANGUAGES = ("is not written in both languages.", "Write `{en: …, zh: …}`.")

_MESSAGES = {
    "int_parsing": _NUMBER,
    "int_parsing_size": _NUMBER,
    "int_type": _NUMBER,
    "greater_than_equal": _NUMBER,
    "less_than_equal": _NUMBER,
    "string_too_short": ("is empty.", "Write something or remove the field."),
    "string_type": ("is not a line of text.", "Write the text after the colon."),
    "tuple_type": ("is not a list.", _LIST),
    "value_error": ("is not a date.", "Write it as 2026-11-29."),
    "model_type": _FIELDS,
    "dict_type": _FIELDS,
    "mapping_type": _FIELDS,
}


def note(
    detail: Any, document: Document, *, fields_at: Callable[[Location], tuple[str, ...]], findings: Findings
) -> None:
    """Add one of pydantic's error details; `fields_at` names the fields that may stand at a place."""
    location: Location = detail["loc"]
    if detail["type"] not in {"missing", "extra_forbidden"}:
        while location and location not in document.lines:
            location = location[:-1]  # pydantic adds the branch of a union, which the author does not see
    name = " ".join(str(part + 1) if isinstance(part, int) else part for part in location)
    what, remedy = _explain(detail, location, fields_at)
    findings.add(document.line(location), f"`{name}` {what}", remedy)


def _explain(detail: Any, location: Location, fields_at: Callable[[Location], tuple[str, ...]]) -> tuple[str, str]:
    last = str(location[-1]) if location else ""
    match detail["type"]:
        case "missing":
            return "is missing.", f"Add `{last}:`."
        case "extra_forbidden":
            fields = fields_at(location[:-1])
            close = difflib.get_close_matches(last, fields, n=1)
            hint = f"Did you mean `{close[0]}`?" if close else f"The fields here are {', '.join(fields)}."
            return "is not a field here.", hint
        case "literal_error":
            return f"cannot be {detail['input']!r}.", f"Write {detail['ctx']['expected']}."
        case "string_pattern_mismatch":
            if last == "url":
                return "is not a web address.", "Begin it with https:// and leave out spaces."
            return f"cannot be {detail['input']!r}.", "Use lower-case letters, digits and dashes."
        case "model_type" if fields_at(location) == ("en", "zh"):
            return _BOTH_LANGUAGES
        case kind:
            return _MESSAGES.get(kind, (f"is not valid: {detail['msg']}.", "See content/README.md."))
