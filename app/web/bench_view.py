"""What the Bench and hardware pages show of a run: explained problems, and charts of bandwidth over size.

Both axes are logarithmic: sizes span five decades, and a latency-bound start is a straight line there. Each operation has a
dash and a marker of its own besides its colour, because the colours of the house mean kinds of work, not operations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from markupsafe import Markup

from app.bench.catalog import OPERATIONS
from app.bench.diagnosis.explain import explain
from app.bench.diagnosis.model import Explanation
from app.bench.events import Measurement, PhaseName, Problem, Row
from app.bench.runs import STATUS_TITLES, Run
from app.bench.spec import Operation
from app.core.i18n import Language, Text, same
from app.core.units import binary_bytes
from app.hardware.fit import Fit
from app.web import charts

STATUS_KINDS: Mapping[str, str] = {
    "queued": "",
    "running": "compute",
    "done": "success",
    "partial": "warning",
    "emulated": "warning",
    "cancelled": "",
}
"""The look of a status; what is not here is an error."""

PHASES: Mapping[PhaseName, tuple[Text, Text | None]] = {
    "connecting": (Text("Connecting to the hosts", "正在连接主机"), None),
    "waiting": (Text("Waiting for the batch system", "等待批处理系统"), None),
    "starting": (
        Text("Starting the ranks", "正在启动 rank"),
        Text("loading PyTorch takes a few seconds", "加载 PyTorch 需要几秒"),
    ),
    "drift": (Text("Measuring the first size again", "重测第一个大小"), None),
    "gemm": (Text("Matrix multiplication", "矩阵乘法"), None),
    "overlap": (Text("Compute beside communication", "计算与通信重叠"), None),
    "copies": (Text("Memory copies", "内存拷贝"), None),
    "links": (Text("Every pair of ranks", "每一对 rank"), None),
    "latency": (Text("Latency of single calls", "单次调用延迟"), None),
    "topology": (Text("Wiring of the machine", "机器的连接方式"), None),
    "ending": (Text("Ending", "正在结束"), None),
}
"""What a run does in each phase but `measuring`, whose rows speak for themselves, with a word on how long."""
assert set(PHASES) == set(get_args(PhaseName)) - {"measuring"}

STYLES = (
    ("var(--intra)", "solid", "circle"),
    ("var(--accent)", "dash", "square"),
    ("var(--ink-soft)", "dot", "triangle-up"),
    ("var(--memory)", "dashdot", "diamond"),
    ("var(--inter)", "longdash", "cross"),
    ("var(--intra)", "dot", "circle-open"),
    ("var(--accent)", "dashdot", "square-open"),
    ("var(--ink-soft)", "longdash", "triangle-up-open"),
    ("var(--memory)", "solid", "diamond-open"),
    ("var(--inter)", "dash", "x"),
)
"""As many as there are operations, so that no two curves of a run look alike."""


@dataclass(frozen=True, slots=True)
class Told:
    """A problem with what it means."""

    problem: Problem
    explanation: Explanation


def told(run: Run) -> list[Told]:
    """The problems of a run, the cause first."""
    return [Told(problem, explain(problem, log=run.log)) for problem in run.problems]


def status_title(run: Run) -> Text:
    """The status for people."""
    if run.status == "running" and run.stop_requested:
        return Text("stopping", "正在停止")
    return STATUS_TITLES[run.status]


def status_kind(run: Run) -> str:
    """The `data-kind` of the status badge."""
    return STATUS_KINDS.get(run.status, "error")


def operation_title(name: str) -> Text:
    """An operation for people."""
    entry = OPERATIONS.get(cast("Operation", name))
    return same(name.replace("_", "-")) if entry is None else entry.title


def by_operation(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows grouped by operation, in the order they came."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.operation, []).append(row)
    return groups


def bandwidth(half: Measurement) -> float:
    """What the charts draw: bus bandwidth in GB/s; for a single rank the algorithm bandwidth."""
    return half.algbw_gb_per_s if half.busbw_gb_per_s is None else half.busbw_gb_per_s


def run_chart(rows: Sequence[Row], fits: Mapping[str, Fit], *, language: Language) -> Markup:
    """Bus bandwidth over size of one run, a curve per operation, each with its fit where there is one."""
    data: list[dict[str, Any]] = []
    for number, (operation, group) in enumerate(by_operation(rows).items()):
        title = operation_title(operation)[language]
        data.append(trace(group, name=title, style=number))
        fit = fits.get(operation)
        if fit is not None and fit.refused is None:
            data.append(_fitted(group, fit, style=number, language=language))
    return figure(data, [row.size_bytes for row in rows], language=language)


def trace(rows: Sequence[Row], *, name: str, style: int) -> dict[str, Any]:
    """The measured curve of one operation or run; `style` counts the curves of a chart."""
    colour, dash, symbol = STYLES[style % len(STYLES)]
    symbol += "-open" * (style // len(STYLES) % 2)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [row.size_bytes for row in rows],
        "y": [bandwidth(row.out_of_place) for row in rows],
        "customdata": [[binary_bytes(row.size_bytes), row.out_of_place.time_us] for row in rows],
        "hovertemplate": "%{customdata[0]}: %{y:.4g} GB/s, %{customdata[1]:,.1f} µs",
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"color": colour, "symbol": symbol, "size": 7},
    }


def _fitted(rows: Sequence[Row], fit: Fit, *, style: int, language: Language) -> dict[str, Any]:
    """The fit as a thin line through the same sizes."""
    colour, _, _ = STYLES[style % len(STYLES)]
    factors = {row.size_bytes: bandwidth(row.out_of_place) / row.out_of_place.algbw_gb_per_s for row in rows}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": Text("fit", "拟合")[language],
        "showlegend": False,
        "hoverinfo": "skip",
        "x": list(factors),
        "y": [factor * size / fit.seconds(size) / 1e9 for size, factor in factors.items()],
        "line": {"color": colour, "width": 1, "dash": "solid"},
        "opacity": 0.55,
    }


def figure(data: list[dict[str, Any]], sizes: Sequence[int], *, language: Language) -> Markup:
    """A chart of bus bandwidth over size with the curves of `data`."""
    ticks = [1024 * 8**power for power in range(9)]
    shown = [tick for tick in ticks if not sizes or min(sizes) / 2 <= tick <= max(sizes) * 2]
    layout = charts.layout(
        xaxis={
            "type": "log",
            "tickmode": "array",
            "tickvals": shown,
            "ticktext": [binary_bytes(tick) for tick in shown],
            "title": {"text": Text("message size", "消息大小")[language]},
        },
        yaxis={"type": "log", "title": {"text": Text("bus bandwidth, GB/s", "总线带宽，GB/s")[language]}, "dtick": 1},
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        hovermode="x",
    )
    return charts.as_json(data, layout)
