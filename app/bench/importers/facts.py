"""What a reader has gathered about one run before anything is concluded from it."""

from collections import Counter
from dataclasses import dataclass, field

from app.bench.importers.badges import badge
from app.bench.importers.model import Badge, Device, OperationBasis, RanksBasis
from app.bench.importers.nccl_text_row import Titles
from app.bench.importers.prefixes import Line
from app.bench.importers.raw import RawRow
from app.core.i18n import Text

_WHAT = {
    "glued": Text("two rows on one line", "一行里有两条记录"),
    "junk": Text("other text in the middle of a row", "行中间插入了其他文字"),
    "short": Text("the row stops early", "该行没有打印完"),
    "headless": Text("the beginning of the row is missing", "缺少该行的开头"),
    "unproven": Text("its pieces cannot be proved to belong together", "无法证明各片段属于同一行"),
    "root": Text("this operation has no root", "该操作没有 root"),
    "keys": Text("a result lacks some of its values", "某条结果缺少数值"),
    "size": Text("size and count exclude each other", "大小与元素数矛盾"),
    "time / algbw": Text("time and algorithm bandwidth exclude each other", "时间与算法带宽矛盾"),
    "algbw / busbw": Text("the two bandwidths exclude each other", "两种带宽互相矛盾"),
}
LAUNCH_TIME = Text("the time column is the CPU's launch time (-C 1)", "时间一栏是 CPU 的启动时间（-C 1）")
_DROPPED = Text("the row was dropped", "该行已丢弃")
_HALF_DROPPED = Text("that half was dropped", "这一半已丢弃")
_KEPT = Text("it was repaired", "已修复")
_DOUBTED = Text("the row is kept as it stands", "该行原样保留")


def torn(line: int, what: str, *, fate: str = "dropped") -> Badge:
    """The badge of a torn row; `fate` is dropped, half, kept (repaired) or doubted."""
    kept = {"dropped": _DROPPED, "half": _HALF_DROPPED, "kept": _KEPT, "doubted": _DOUBTED}[fate]
    return badge("torn", line=line, what=_WHAT[what], kept=kept)


@dataclass(slots=True)
class Facts:
    """One run as it was found; the fields fill while the log is read."""

    tool: str = "nccl-tests"
    operation: str | None = None
    operation_basis: OperationBasis | None = None
    ranks: int | None = None
    ranks_basis: RanksBasis | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    has_header: bool = False
    devices: list[Device] = field(default_factory=list)
    ranks_hidden: bool = False
    titles: Titles | None = None
    titles_seen: int = 0
    rows: list[RawRow] = field(default_factory=list)
    averages: list[float] = field(default_factory=list)
    out_of_bounds: list[int] = field(default_factory=list)
    elided: list[int] = field(default_factory=list)
    badges: list[Badge] = field(default_factory=list)
    other: list[Line] = field(default_factory=list)
    is_cut: bool = False
    is_ended: bool = False
    is_cycled: bool = False
    is_ringside: bool = False
    is_inherited: bool = False
    """Header and devices are those of the table before, which our own export once wrote for all."""
    is_parallel: bool = False

    @property
    def has_root(self) -> bool | None:
        """Whether the rows so far hold a root, None before the first."""
        return self.rows[-1].root is not None if self.rows else None

    @property
    def is_begun(self) -> bool:
        """True once anything of a run was seen."""
        return self.has_header or bool(self.devices or self.titles_seen or self.rows or self.averages)

    def repetitions(self) -> int:
        """How often sizes repeat, when nearly all of them do so equally often; else 1."""
        if self.is_cycled:
            return 1
        times = Counter((row.size, row.dtype, row.redop, row.root) for row in self.rows if row.size)
        if not times:
            return 1
        most, rows = Counter(times.values()).most_common(1)[0]
        return most if rows >= 0.8 * len(times) else 1

    def goes_back(self) -> bool:
        """True when sizes of one series become smaller again, as they do when the rows of two runs alternate."""
        last: dict[tuple[str, str | None, int | None], int] = {}
        for row in () if self.is_cycled else self.rows:
            key = (row.dtype, row.redop, row.root)
            if row.size < last.get(key, 0):
                return True
            last[key] = row.size
        return False
