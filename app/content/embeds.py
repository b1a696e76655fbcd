"""Live blocks: ```` ```calculator <slug> {#id} ```` and ```` ```timeline … ```` with YAML inside.

Only the form is read here; whether the calculator, its inputs and the expected values exist
and agree is for `check.py`, which asks the engines.
"""

import math
import re
from typing import Literal

from app.content.findings import Findings
from app.content.metadata import SLUG
from app.content.model import Embed, Expectation
from app.content.yaml_lines import Document, Location, Tree, YamlProblem, read

KINDS = ("calculator", "timeline")

_INFO = re.compile(rf"(calculator|timeline)\s+({SLUG})\s+\{{#({SLUG})\}}")
_EXPECTED = re.compile(r"(?P<value>[^\s±%]+)(?:\s*(?:±|\+/-)\s*(?P<percent>[^\s±%]+)\s*%)?")
_OWN = ("expect", "compare", "caption")


def is_embed(info: str) -> bool:
    """Whether a fence with this info string is a live block, well written or not."""
    return info.split(maxsplit=1)[:1] in [[kind] for kind in KINDS]


def parse_embed(info: str, content: str, *, line: int, findings: Findings) -> Embed | None:
    """The block whose fence stands at `line`, or None after noting what is wrong."""
    match = _INFO.fullmatch(info.strip())
    if match is None:
        kind = info.split(maxsplit=1)[0]
        findings.add(
            line, f"This {kind} block has no name and id of its own.", f"Begin it with ```{kind} its-name {{#an-id}}."
        )
        return None
    kind, slug, identity = match.groups()
    try:
        document = read(content, first_line=line + 1)
    except YamlProblem as problem:
        findings.add(problem.line, problem.what, problem.remedy)
        return None
    fields = {} if document.value is None else document.value
    if not isinstance(fields, dict):
        findings.add(line + 1, "The block holds no inputs.", "Write `input: value` lines, or leave it empty.")
        return None
    reader = _Reader(document, findings)
    before = len(findings.problems)
    embed = Embed(
        kind="calculator" if kind == "calculator" else "timeline",
        id=identity,
        slug=slug,
        inputs=reader.inputs({name: value for name, value in fields.items() if name not in _OWN}, ()),
        compare=reader.compare(fields.get("compare"), "calculator" if kind == "calculator" else "timeline"),
        expect=reader.expect(fields.get("expect")),
        caption=reader.caption(fields.get("caption")),
        line=line,
    )
    return embed if len(findings.problems) == before else None


class _Reader:
    """Reads the fields of one block and notes what is wrong with them."""

    def __init__(self, document: Document, findings: Findings) -> None:
        self._document = document
        self._findings = findings

    def _note(self, location: Location, what: str, remedy: str) -> None:
        self._findings.add(self._document.line(location), what, remedy)

    def inputs(self, fields: dict[str, Tree], under: Location) -> dict[str, str]:
        """Input texts by name; a list is written with commas."""
        found = {}
        for name, value in fields.items():
            items = value if isinstance(value, list) else [value]
            texts = [item for item in items if isinstance(item, str)]
            if len(texts) != len(items) or not texts:
                self._note((*under, name), f"The input `{name}` is not a value.", "Write one number or word.")
            found[name] = ",".join(texts)
        return found

    def compare(self, value: Tree, kind: Literal["calculator", "timeline"]) -> dict[str, str] | None:
        """The second set of inputs of a timeline."""
        if value is None:
            return None
        if kind == "calculator":
            self._note(("compare",), "Only a timeline can be compared.", "Remove `compare`, or use a second block.")
        if not isinstance(value, dict) or not value:
            self._note(("compare",), "`compare` holds no inputs.", "Write `compare: {input: value}`.")
            return None
        return self.inputs(value, ("compare",))

    def expect(self, value: Tree) -> dict[str, Expectation]:
        """Expected values by the name of the result."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._note(("expect",), "`expect` holds no values.", "Write `result: value` lines under it.")
            return {}
        found = {}
        for name, text in value.items():
            expectation = _expectation(text)
            if expectation is None:
                remedy = "Write a number, or a number and its tolerance such as 0.26 ± 1 %."
                self._note(("expect", name), f"The expected `{name}` is not a number.", remedy)
            else:
                found[name] = expectation
        return found

    def caption(self, value: Tree) -> str:
        """One line or paragraph of Markdown."""
        if value is None:
            return ""
        if not isinstance(value, str):
            self._note(("caption",), "The caption is not text.", "Put it in quotes.")
            return ""
        return value.strip()


def _expectation(text: Tree) -> Expectation | None:
    match = _EXPECTED.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return None
    value = _finite(match["value"])
    if value is None or match["percent"] is None:
        return None if value is None else Expectation(value=value)
    percent = _finite(match["percent"])
    return None if percent is None or percent < 0 else Expectation(value=value, relative=percent / 100)


def _finite(text: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
