"""What the template of a timeline's figure shows, made from runs: names, numbers, origins, reasons, tables, data.

Start with `view`. Nothing here knows of requests; `timeline_figure.py` brings runs and the template together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from app.core.i18n import Language, Text
from app.core.inputs import describe
from app.core.units import number
from app.timelines import catalog, svg
from app.timelines.catalog import Run
from app.timelines.explain import moment, stream_name, time
from app.timelines.layout import COLUMN, PAGE
from app.web.timeline_query import ZOOMS, Query, address, canonical

MOST_ROWS = 600
MOST_REASONS = 40
MOST_DATA = 6000

BASIS = {
    "datasheet": Text("datasheet", "数据手册"),
    "measured": Text("measured", "实测"),
    "imported": Text("measured elsewhere", "别处实测"),
    "interpolated": Text("measured, interpolated", "实测，插值"),
    "extrapolated": Text("beyond the measured range", "超出实测范围"),
}


SILENT = Text(
    "This hardware says nothing about it: an example's number. Type your own.",
    "所选硬件没有给出这一项，这里是示例数值，请自行填写。",
)


@dataclass(frozen=True, slots=True)
class Tile:
    """One number under the picture; `second` is that of the compared schedule."""

    title: Text
    help: Text
    value: str
    second: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one duration came from."""

    title: Text
    value: str
    basis: str
    word: Text
    note: Text


def titles(runs: tuple[Run, ...]) -> tuple[Text | None, ...]:
    """What tells two runs apart: the inputs in which they differ."""
    if len(runs) == 1:
        return (None,)
    first, second = (one.values() for one in runs)
    different = [doc for doc in describe(runs[0].scenario.inputs) if first[doc.name] != second[doc.name]]
    named = tuple(_difference(different, values) for values in (first, second))
    if not different:
        return (Text("First schedule", "第一个调度"), Text("The same schedule", "相同的调度"))
    return named


def _difference(different: list[Any], values: Mapping[str, str]) -> Text:
    yes_no = {"true": Text("yes", "是"), "false": Text("no", "否")}
    parts: list[Text] = []
    for doc in different[:4]:
        value = values[doc.name]
        shown = dict(doc.choices).get(value) or yes_no.get(value) or Text(value or "–", value or "–")
        parts.append(Text(f"{doc.title.en}: {shown.en}", f"{doc.title.zh}：{shown.zh}"))
    return Text(", ".join(part.en for part in parts), "、".join(part.zh for part in parts))


def view(runs: tuple[Run, ...], query: Query, language: Language) -> dict[str, Any]:
    """What the template shows."""
    first = runs[0]
    embed_id = query.embed or f"timeline-{first.slug}"
    names = titles(runs)
    query_string = canonical(first.scenario, query)
    return {
        "embed_id": embed_id,
        "scenario": first.scenario,
        "runs": runs,
        "names": names,
        "picture": Markup(  # noqa: S704 - svg.draw escapes every text
            svg.draw(
                list(zip(names, runs, strict=True)),
                language,
                embed_id=embed_id,
                title=first.scenario.title,
                width=COLUMN if query.embed else PAGE,
                zoom=query.zoom,
            )
        ),
        "tiles": _tiles(runs),
        "verdict": verdict(runs, names),
        "origins": _origins(first, typed=query.raw),
        "profile": first.profile,
        "reasons": [gap.why for one in runs[:1] for gap in _explained(one)[:MOST_REASONS]],
        "tables": [_table(one, language) for one in runs],
        "legend": _legend(runs),
        "data": _data(runs, language),
        "address": address(first.slug, query_string),
        "query_string": query_string,
        "zooms": _zooms(query, first),
        "zoom": f"{query.zoom:g}",
        "markdown": _markdown(first, query, embed_id),
        "time": time,
    }


def verdict(runs: tuple[Run, ...], names: tuple[Text | None, ...]) -> Text | None:
    """The difference of two runs in one sentence; None for a single run."""
    if len(runs) == 1:
        return None
    one, two = (run.trace.makespan for run in runs)
    first, second = (name or Text("This", "当前") for name in names)
    if one == two:
        return Text(f"Both take {time(one)}.", f"两者都用 {time(one)}。")
    share = f"{number(abs(float((two - one) / one)) * 100, 3)}\u202f%" if one else "–"
    longer = two > one
    return Text(
        f"“{second.en}” takes {time(two)}: {time(abs(two - one))} {'longer' if longer else 'shorter'}"
        f" than “{first.en}” ({'+' if longer else '−'}{share}).",
        f"“{second.zh}”用时 {time(two)}，比“{first.zh}”{'长' if longer else '短'} {time(abs(two - one))}"
        f"（{'+' if longer else '−'}{share}）。",
    )


def _tiles(runs: tuple[Run, ...]) -> list[Tile]:
    tiles = []
    for measure in runs[0].scenario.measures:
        values = [one.summary[measure.name] for one in runs]
        if measure.shown and not (measure.hide_zero and not any(values)):
            texts = [_value(value, measure.unit) for value in values]
            tiles.append(Tile(measure.title, measure.help, texts[0], texts[1] if len(texts) > 1 else ""))
    return tiles


def _value(value: Any, unit: str) -> str:
    if isinstance(value, list):
        return ", ".join(number(item) for item in value)
    return time(value) if unit == "ms" else number(value)


def _origins(run: Run, *, typed: Mapping[str, str]) -> list[Origin]:
    """One row for each duration when a profile is used: those it gave, those typed, and those it is silent about."""
    if run.profile is None or run.scenario.filling is None:
        return []
    values = run.values()
    rows = []
    for doc in describe(run.scenario.inputs):
        if doc.name not in run.scenario.filling.fills:
            continue
        estimate = run.filled.get(doc.name)
        origin: tuple[str, Text, Text]
        if estimate is not None:
            origin = (estimate.basis, BASIS[estimate.basis], estimate.note)
        elif doc.name in typed:
            origin = ("typed", Text("typed", "手动输入"), Text("Your own number.", "你输入的数值。"))
        else:
            origin = ("default", Text("default", "默认值"), SILENT)
        rows.append(Origin(doc.title, f"{number(_float(values[doc.name]), 6)}\u2009ms", *origin))
    return rows


def _float(text: str) -> float:
    top, _, bottom = text.partition("/")
    return float(top) / float(bottom or 1)


def _explained(run: Run) -> list[catalog.RunGap]:
    computing = {(stream.device, stream.name) for stream in run.streams if stream.kind == "compute"}
    return [gap for gap in run.gaps if (gap.device, gap.stream) in computing]


def _legend(runs: tuple[Run, ...]) -> dict[str, bool]:
    """Which signs the picture uses."""
    operations = [operation for one in runs for operation in one.operations]
    return {
        "compute": any(operation.kind == "compute" for operation in operations),
        "intra": any(operation.kind == "communication" and operation.link == "intra" for operation in operations),
        "inter": any(operation.kind == "communication" and operation.link == "inter" for operation in operations),
        "exposed": any(gap.exposed for one in runs for gap in one.gaps),
        "frames": any(one.frames for one in runs),
    }


def _table(run: Run, language: Language) -> dict[str, Any]:
    labels = {operation.id: operation.label for operation in run.operations}
    several = len({stream.device for stream in run.streams}) > 1
    comma = "，" if language == "zh" else ", "
    rows = [
        {
            "label": operation.label,
            "lane": f"{operation.device}{comma}{stream_name(operation.stream, language)}"
            if several
            else stream_name(operation.stream, language),
            "start": moment(operation.start),
            "end": moment(operation.end),
            "duration": moment(operation.end - operation.start),
            "waits": ", ".join(labels[name] for name in operation.waits_for),
            "critical": operation.critical,
            "detail": operation.detail[language],
        }
        for operation in run.operations[:MOST_ROWS]
    ]
    return {"rows": rows, "left_out": len(run.operations) - len(rows)}


def _data(runs: tuple[Run, ...], language: Language) -> dict[str, Any]:
    """What the script knows of blocks and gaps, by their place in the run."""
    return {"tracks": [_track_data(one, language) for one in runs]}


def _track_data(run: Run, language: Language) -> dict[str, Any]:
    index = {operation.id: place for place, operation in enumerate(run.operations)}
    detailed = len(run.operations) <= MOST_DATA
    return {
        "makespan": float(run.trace.makespan),
        "operations": [
            [
                operation.label,
                operation.start,
                operation.end,
                f"{operation.device} · {operation.stream}",
                [index[name] for name in operation.waits_for],
                None if operation.blocked_by is None else index[operation.blocked_by],
                operation.detail[language] if detailed else "",
            ]
            for operation in run.operations
        ],
        "gaps": [
            [gap.start, gap.end, f"{gap.device} · {gap.stream}", gap.why[language]]
            if detailed
            else [gap.start, gap.end]
            for gap in run.gaps
        ],
    }


def _zooms(query: Query, run: Run) -> list[tuple[str, str, bool]]:
    """(factor, query string of the figure, whether it is the present one)."""
    found = []
    for zoom in ZOOMS:
        other = Query(raw=query.raw, compare=query.compare, zoom=zoom)
        found.append((f"{zoom:g}×", canonical(run.scenario, other), zoom == query.zoom))
    return found


def _markdown(run: Run, query: Query, embed_id: str) -> str:
    """The block that puts this timeline into a content file."""
    name = embed_id.removeprefix("timeline-").removeprefix("embed-") or run.slug
    lines = [f"```timeline {run.slug} {{#{name}}}"]
    lines += [f"{key}: {text}" for key, text in query.raw.items()]
    if query.compare:
        inner = ", ".join(f"{key}: {text}" for key, text in query.compare.items())
        lines.append(f"compare: {{{inner}}}")
    return "\n".join([*lines, "```"])
