"""What the calculator templates show: a form with its state, what follows from it, a plot, and both as text.

`build` never raises for a bad input: the view then carries one message per field and no outcome. Everything a
view names in HTML (ids of inputs, errors, regions) begins with its `id`, so several stand on one page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from app.calculators import catalog, plot
from app.calculators.model import Calculator, Outcome, Result
from app.calculators.sweep import Sweep, sweep
from app.core import units
from app.core.errors import InvalidInput
from app.core.i18n import Language, Text
from app.core.inputs import FieldDoc, Inputs, describe, parse, to_query, to_text

NOT_INPUTS = frozenset({"lang", "theme", "embed", "sweep", "plot", "profile", "model"})
"""Query names that a page understands besides the inputs."""


@dataclass(frozen=True, slots=True)
class FieldView:
    """One input of the form: its text as typed, what is wrong with it, and the range in words."""

    doc: FieldDoc
    value: str
    error: Text | None
    range: Text | None
    is_prominent: bool


@dataclass(frozen=True, slots=True)
class Figure:
    """A result as people read it: the value large, the same in other units beside it."""

    name: str
    title: Text
    value: str
    aside: str


@dataclass(frozen=True, slots=True)
class View:
    """One calculator with its state. `outcome` is None when an input is wrong."""

    id: str
    calculator: Calculator
    fields: tuple[FieldView, ...]
    errors: Mapping[str, Text]
    inputs: Inputs | None
    outcome: Outcome | None
    sweep: Sweep | None
    address: str
    """Where this state can be opened; only what differs from the defaults stands in the query."""

    @property
    def api_address(self) -> str:
        """The same computation as JSON."""
        return "/api" + address(self.calculator.slug, to_query(self.inputs) if self.inputs else {})

    @property
    def other_errors(self) -> dict[str, Text]:
        """Messages about names that are not inputs."""
        names = {field.doc.name for field in self.fields}
        return {name: text for name, text in self.errors.items() if name not in names}

    @property
    def headline(self) -> tuple[Figure, ...]:
        """The results shown large."""
        if self.outcome is None:
            return ()
        return tuple(figure(name, self.outcome.results[name]) for name in self.calculator.headline)


def build(
    slug: str,
    query: Mapping[str, str],
    *,
    view_id: str = "calculator",
    prominent: frozenset[str] | None = None,
    with_sweep: bool = True,
) -> View:
    """The view of calculator `slug` for the strings of a query. Raises NotFound for an unknown slug."""
    calculator = catalog.calculator(slug)
    raw = inputs_of(query)
    errors: Mapping[str, Text] = {}
    inputs = outcome = None
    try:
        inputs, outcome = catalog.run(slug, raw)
    except InvalidInput as error:
        errors = error.fields
    fields = tuple(
        FieldView(
            doc=doc,
            value=_text(doc, raw, inputs),
            error=errors.get(doc.name),
            range=_range(doc),
            is_prominent=prominent is None or doc.name in prominent,
        )
        for doc in describe(calculator.inputs)
    )
    swept = None
    extra: dict[str, str] = {}
    if inputs is not None and outcome is not None and with_sweep:
        field = query.get("sweep", "")
        field = field if field in type(inputs).model_fields else calculator.sweep
        result = query.get("plot", "")
        result = result if result in outcome.results else calculator.sweep_result
        swept = sweep(calculator, inputs, field=field, result=result)
        if field != calculator.sweep:
            extra["sweep"] = field
        if result != calculator.sweep_result:
            extra["plot"] = result
    return View(
        id=view_id,
        calculator=calculator,
        fields=fields,
        errors=errors,
        inputs=inputs,
        outcome=outcome,
        sweep=swept,
        address=address(slug, {**(to_query(inputs) if inputs else raw), **extra}),
    )


def inputs_of(query: Mapping[str, str]) -> dict[str, str]:
    """The part of a query that names inputs."""
    return {name: value for name, value in query.items() if name not in NOT_INPUTS}


def parse_leniently(calculator: Calculator, query: Mapping[str, str]) -> Inputs:
    """The inputs, with the default for each that is wrong: what to start from when a preset fills the form."""
    raw = inputs_of(query)
    for _ in range(len(raw) + 1):
        try:
            return parse(calculator.inputs, raw)
        except InvalidInput as error:
            bad = error.fields.keys() & raw.keys()
            if not bad:
                break
            raw = {name: value for name, value in raw.items() if name not in bad}
    return calculator.inputs()


def address(slug: str, query: Mapping[str, str]) -> str:
    """`/calculators/<slug>?…`."""
    return f"/calculators/{slug}?{urlencode(query)}" if query else f"/calculators/{slug}"


def figure(name: str, result: Result) -> Figure:
    """A result in the form people read: bytes in binary units with the decimal ones beside them."""
    if result.unit == "bytes":
        aside = units.decimal_bytes(result.value) if abs(result.value) >= units.KIB else ""
        return Figure(name, result.title, units.binary_bytes(result.value), aside)
    return Figure(name, result.title, units.quantity(result.value, result.unit), "")


def chart(view: View, language: Language) -> str:
    """The plot of the view as JSON for `static/js/chart.js`."""
    assert view.sweep is not None
    return plot_json(view.sweep, view.calculator, language)


def plot_json(swept: Sweep, calculator: Calculator, language: Language) -> str:
    """A sweep as a Plotly figure."""
    from app.web import charts  # noqa: PLC0415 - with Plotly, which only this needs

    data, layout = plot.traces(swept, calculator, language)
    return charts.as_json(data, charts.layout(**layout))


def as_markdown(view: View, language: Language, *, url: str) -> str:
    """Inputs, results and derivation as Markdown with LaTeX, to paste into notes."""
    assert view.outcome is not None
    assert view.inputs is not None
    chinese = language == "zh"
    lines = [
        f"### [{view.calculator.title[language]}]({url})",
        "",
        "| 输入 | |" if chinese else "| Input | |",
        "|---|---|",
    ]
    lines += [
        f"| {field.doc.title[language]} | {f'{to_text(getattr(view.inputs, field.doc.name))} {field.doc.unit}'.strip()} |"
        for field in view.fields
    ]
    lines += ["", "| 结果 | |" if chinese else "| Result | |", "|---|---|"]
    lines += [
        f"| {result.title[language]} | {units.quantity_text(result.value, result.unit)[language]} |"
        for result in view.outcome.results.values()
    ]
    lines.append("")
    for step in view.outcome.steps:
        lines += [
            step.title[language] + ("：" if language == "zh" else ":"),
            "",
            f"$${step.formula}$$",
            "",
            f"$${step.substituted}$$",
            "",
        ]
    return "\n".join(lines)


def _text(doc: FieldDoc, raw: Mapping[str, str], inputs: Inputs | None) -> str:
    """What stands in the box: the text as typed, so that nothing changes under the reader's hands."""
    typed = raw.get(doc.name, "")
    if doc.kind in {"switch", "choice"} and inputs is not None:
        return to_text(getattr(inputs, doc.name))
    return typed if typed.strip() else doc.default


def _range(doc: FieldDoc) -> Text | None:
    if doc.kind not in {"whole", "real", "rational"} or doc.minimum is None or doc.maximum is None:
        return None
    low, high = (_short(bound) for bound in (doc.minimum, doc.maximum))
    unit = f"{units.THIN_SPACE}{doc.unit}" if doc.unit else ""
    return Text(f"{low} to {high}{unit}", f"{low} 到 {high}{unit}")


def _short(value: float) -> str:
    return units.number(value) if abs(value) < 1e6 else f"{value:.4g}".replace("e+0", "e").replace("e+", "e")
