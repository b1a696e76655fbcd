"""The words of the badges."""

from app.bench.importers.model import Badge, Kind
from app.core.i18n import Text

_TEXTS: dict[Kind, Text] = {
    "ok": Text("Complete, and its figures agree with each other.", "完整，且各数字互相吻合。"),
    "elided": Text(
        "Rows are missing: {what}. The rows that are here are kept.", "缺少若干行：{what}。已有的行都保留。"
    ),
    "header-shortened": Text(
        "The header was shortened by whoever posted the log; the table agrees with its footer.",
        "发布者删减了开头部分；表格与末尾的平均值相符。",
    ),
    "mixed-runs": Text(
        "Several runs are mixed here: {what}. Which row belongs to which run is not certain.",
        "这里混有多次运行：{what}。无法确定每一行属于哪次运行。",
    ),
    "torn": Text("Line {line} is torn ({what}): {kept}.", "第 {line} 行被打断（{what}）：{kept}。"),
    "misaligned": Text(
        "The columns of line {line} do not stand under those of the other rows: it may have been damaged.",
        "第 {line} 行的各列与其他行不对齐：该行可能已损坏。",
    ),
    "cut": Text("The log ends early: {what}.", "日志提前结束：{what}。"),
    "incomplete-json": Text(
        "The JSON ends early, so the run was not finished; complete results are kept.",
        "JSON 提前结束，说明运行没有完成；完整的结果都保留。",
    ),
    "unknown-tool": Text("This is {what}; Ringside does not read it.", "这是 {what} 的输出，Ringside 无法读取。"),
    "wrong-values": Text(
        "The run reports wrong values ({what}): its figures are not trustworthy. Check memory, ECC and peer-to-peer.",
        "该运行报告了错误的数值（{what}），数据不可信。请检查显存、ECC 和点对点传输。",
    ),
    "footer-disagrees": Text(
        "The footer says {footer} GB/s on average, the rows give {mean} GB/s.",
        "末尾写明平均 {footer} GB/s，而按各行计算为 {mean} GB/s。",
    ),
    "operation-guessed": Text(
        "The log does not name the operation; {what} fits its columns best.", "日志没有写明操作；从各列看最像 {what}。"
    ),
    "operation-unknown": Text(
        "The log does not name the operation, and its columns fit several.", "日志没有写明操作，各列与多种操作都相符。"
    ),
    "ranks-guessed": Text("The rank count was derived, not listed: {what}.", "rank 数是推算的，日志没有列全：{what}。"),
    "ranks-unknown": Text("The rank count is not known: {what}.", "rank 数未知：{what}。"),
    "no-rows": Text("No result row was printed.", "没有输出任何结果行。"),
    "failed": Text("{message}", "{message}"),
    "no-mpi": Text(
        "{what} tables begin with rank 0: this binary was built without MPI, so independent single-process runs were started.",
        "有 {what} 张表都从 rank 0 开始：该程序编译时没有启用 MPI，启动的是互不相关的单进程运行。",
    ),
    "one-rank": Text(
        "One rank: nothing was communicated, so a bus bandwidth of 0 is right and in-place does nothing.",
        "只有一个 rank：没有通信，总线带宽为 0 是正常的，in-place 一栏什么也没做。",
    ),
    "emulated": Text(
        "Several ranks share one GPU: this shows that it works, not how fast the hardware is.",
        "多个 rank 共用一块 GPU：这只说明能运行，不反映硬件速度。",
    ),
    "unit-doubt": Text("The units are in doubt: {what}.", "单位存疑：{what}。"),
    "old-definition": Text(
        "Printed before 2020-06, when all-gather and reduce-scatter left the rank's own part out of both rates: the bus bandwidth "
        "is comparable, the algorithm bandwidth is not.",
        "2020-06 之前的版本在 all-gather 和 reduce-scatter 的两种带宽里都不计本 rank 自己的那份：总线带宽可以比较，算法带宽不行。",
    ),
    "derived": Text("Not printed by the tool but derived: {what}.", "该工具没有打印，由其他列推算：{what}。"),
    "variables-dropped": Text(
        "{what} environment variables were dropped; they may hold secrets.",
        "丢弃了 {what} 个环境变量，其中可能含有机密。",
    ),
}


def badge(kind: Kind, *, line: int | None = None, **values: object) -> Badge:
    """A badge with the fields of its text filled in; a `Text` as a value is filled in language by language."""
    english = {name: value.en if isinstance(value, Text) else value for name, value in values.items()}
    chinese = {name: value.zh if isinstance(value, Text) else value for name, value in values.items()}
    template = _TEXTS[kind]
    return Badge(kind, Text(template.en.format(line=line, **english), template.zh.format(line=line, **chinese)), line)
