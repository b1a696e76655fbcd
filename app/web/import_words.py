"""What the pages of imported logs call things: badges, tools, and how a log tells its operation and ranks."""

from collections.abc import Mapping
from typing import get_args

from app.bench.importers.model import EXCLUDES, Kind, OperationBasis, RanksBasis
from app.core.i18n import Text, same

BADGES: Mapping[Kind, Text] = {
    "ok": Text("sound", "完好"),
    "elided": Text("rows missing", "缺行"),
    "header-shortened": Text("shortened header", "开头有删减"),
    "mixed-runs": Text("runs mixed", "多次运行混杂"),
    "torn": Text("torn line", "行被打断"),
    "misaligned": Text("columns out of line", "列未对齐"),
    "cut": Text("cut short", "不完整"),
    "incomplete-json": Text("JSON cut short", "JSON 不完整"),
    "unknown-tool": Text("another tool", "其他工具"),
    "wrong-values": Text("wrong values", "数值错误"),
    "footer-disagrees": Text("footer disagrees", "与末尾不符"),
    "operation-guessed": Text("operation guessed", "操作为推测"),
    "operation-unknown": Text("operation unknown", "操作未知"),
    "ranks-guessed": Text("ranks derived", "rank 数为推算"),
    "ranks-unknown": Text("ranks unknown", "rank 数未知"),
    "no-rows": Text("no rows", "没有数据"),
    "failed": Text("failed", "失败"),
    "no-mpi": Text("built without MPI", "未启用 MPI"),
    "one-rank": Text("one rank", "单个 rank"),
    "emulated": Text("shared GPU", "共用 GPU"),
    "unit-doubt": Text("units in doubt", "单位存疑"),
    "old-definition": Text("old definition", "旧定义"),
    "derived": Text("derived figures", "推算值"),
    "variables-dropped": Text("variables dropped", "已丢弃变量"),
}
assert set(BADGES) == set(get_args(Kind))

_QUIET: frozenset[Kind] = frozenset({"header-shortened", "old-definition", "variables-dropped"})

OPERATION_BASES: Mapping[OperationBasis, Text] = {
    "named": Text("named by the log", "日志写明"),
    "command": Text("from the command", "取自命令"),
    "numbers": Text("told by the figures", "由数据判定"),
    "guessed": Text("guessed from the columns", "由各列推测"),
    "confirmed": Text("confirmed", "已确认"),
}
assert set(OPERATION_BASES) == set(get_args(OperationBasis))

RANKS_BASES: Mapping[RanksBasis, Text] = {
    "rank lines": Text("listed", "逐个列出"),
    "text": Text("named by the log", "日志写明"),
    "json": Text("named by the JSON", "JSON 写明"),
    "count": Text("from the element counts", "由元素数推算"),
    "ratio": Text("from the ratio of the rates", "由两种带宽之比推算"),
    "about": Text("only about", "只是大约"),
    "confirmed": Text("confirmed", "已确认"),
}
assert set(RANKS_BASES) == set(get_args(RanksBasis))

_TOOLS = {
    "nccl-tests": same("nccl-tests"),
    "rccl-tests": same("RCCL-tests"),
    "all_reduce_bench": same("all_reduce_bench.py"),
    "osu": same("OSU"),
    "nvbandwidth": same("nvbandwidth"),
}


def badge_look(kind: Kind) -> str:
    """The `data-kind` of a badge: what excludes a run, or says that it failed, is an error."""
    if kind == "ok":
        return "success"
    if kind in EXCLUDES or kind in {"failed", "unknown-tool"}:
        return "error"
    return "" if kind in _QUIET else "warning"


def tool_title(tool: str | None) -> Text:
    """The program that printed the log."""
    return Text("unknown tool", "未知工具") if not tool else _TOOLS.get(tool, same(tool))
