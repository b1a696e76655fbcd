"""What the address of a timeline says, read and written back.

`?layers=5&gemm=1.25` are the inputs, `profile=` and the names of the shape fill durations in, `vs.pass=cold_start` is
the second schedule on the same axis (laid over the first), `zoom=` the width. `canonical` writes only what matters,
so that a link is short and equal states have equal addresses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from fastapi import Request

from app.core.inputs import FieldDoc, describe
from app.timelines import catalog
from app.timelines.catalog import PROFILE
from app.timelines.scenario import Scenario

COMPARE = "vs."
RESERVED = ("lang", "zoom", "was", "embed")
ZOOMS = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True)
class Query:
    """One address. `raw` and `compare` hold the texts as typed, without blanks."""

    raw: Mapping[str, str]
    compare: Mapping[str, str] = field(default_factory=dict)
    zoom: float = 1.0
    embed: str = ""

    def second(self) -> dict[str, str]:
        """The inputs of the second schedule: the first's, with its own laid over them."""
        return {**self.raw, **self.compare}


def read(request: Request, scenario: Scenario) -> Query:
    """The query of `request`; a hidden field repeats a switch, so the last value of a name counts."""
    given = {name: text.strip() for name, text in request.query_params.items() if text.strip()}
    raw = {name: text for name, text in given.items() if name not in RESERVED and not name.startswith(COMPARE)}
    if "was" in request.query_params and request.query_params["was"] != raw.get(PROFILE, ""):
        raw = _forget_defaults(scenario, raw)
    compare = {name.removeprefix(COMPARE): text for name, text in given.items() if name.startswith(COMPARE)}
    return Query(raw=raw, compare=compare, zoom=_zoom(given.get("zoom", "")), embed=_embed(given.get("embed", "")))


def canonical(scenario: Scenario, query: Query) -> str:
    """The query string that gives the same page: no defaults, except typed durations beside a profile."""
    profile = query.raw.get(PROFILE, "")
    kept = {name: text for name, text in query.raw.items() if not _is_default(scenario, name, text, profile=profile)}
    pairs = {**kept, **{COMPARE + name: text for name, text in query.compare.items()}}
    if query.zoom != 1:
        pairs["zoom"] = f"{query.zoom:g}"
    return urlencode(pairs, safe=",/")


def address(slug: str, query_string: str) -> str:
    """The page of a timeline."""
    return f"/timelines/{slug}?{query_string}" if query_string else f"/timelines/{slug}"


def fields(scenario: Scenario) -> tuple[FieldDoc, ...]:
    """Every field that the form may show: inputs, then the shape."""
    shape = describe(scenario.filling.shape) if scenario.filling else ()
    return (*describe(scenario.inputs), *shape)


def fillable(scenario: Scenario) -> frozenset[str]:
    """Names whose value may come from a profile: durations, and the size of the group it was measured with."""
    return frozenset((*scenario.filling.fills, scenario.filling.ranks)) if scenario.filling else frozenset()


def _is_default(scenario: Scenario, name: str, text: str, *, profile: str) -> bool:
    if profile and (name in fillable(scenario) or name not in {doc.name for doc in describe(scenario.inputs)}):
        return False
    return any(doc.name == name and doc.default == text for doc in fields(scenario))


def _forget_defaults(scenario: Scenario, raw: Mapping[str, str]) -> dict[str, str]:
    """The form was sent with another profile than it was shown with: what still stands at its default was not typed."""
    open_names = fillable(scenario) | (
        {doc.name for doc in describe(scenario.filling.shape)} if scenario.filling else set()
    )
    defaults = {doc.name: doc.default for doc in fields(scenario)}
    return {name: text for name, text in raw.items() if name not in open_names or defaults.get(name) != text}


def _zoom(text: str) -> float:
    try:
        wanted = float(text)
    except ValueError:
        return 1.0
    return min(ZOOMS, key=lambda zoom: abs(zoom - wanted))


def _embed(text: str) -> str:
    """An id that is safe in attributes and selectors."""
    return text if text and len(text) <= 80 and text.replace("-", "").replace("_", "").isalnum() else ""


def find(slug: str) -> Scenario:
    """The scenario of an address. Raises NotFound."""
    return catalog.find(slug)
