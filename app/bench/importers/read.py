"""The way in: any log as an `Import`.

The formats are the modules of this folder that have a `reader`; the one that is surest of the log reads it. Whatever is handed
in, an `Import` comes back: too large, empty, binary or unknown input is a reason, not an error.
"""

from functools import cache

from app.bench import importers
from app.bench.importers.decode import MAXIMUM_BYTES, clean_lines, text_of
from app.bench.importers.failures import failures_in
from app.bench.importers.model import Import
from app.bench.importers.prefixes import strip_prefixes
from app.bench.importers.reader import Log, Reader
from app.core.i18n import Text
from app.core.registry import discover

_LEAST_CONFIDENCE = 0.3
_SHOWN = 80


@cache
def readers() -> dict[str, Reader]:
    """Every format by its slug."""
    return discover(importers, "reader", Reader)


def read_log(data: bytes | str) -> Import:
    """What a log holds. Never raises."""
    size = len(data) if isinstance(data, bytes) else len(data.encode("utf-8", "replace"))
    if size > MAXIMUM_BYTES:
        limit = MAXIMUM_BYTES // 2**20
        return _nothing(
            Text(
                f"The file is larger than {limit} MiB, the most that is read. Cut it to the tables.",
                f"文件超过 {limit} MiB 的上限。请只保留表格部分。",
            )
        )
    text = text_of(data) if isinstance(data, bytes) else data
    lines = clean_lines(text)
    log = Log("\n".join(lines), strip_prefixes(lines))
    sure = {slug: reader.recognise(log) for slug, reader in readers().items()}
    best = max(sure, key=lambda slug: sure[slug])
    if sure[best] < _LEAST_CONFIDENCE:
        return _nothing(_unrecognised(log))
    return readers()[best].read(log)


def _unrecognised(log: Log) -> Text:
    first = next((line for line in log.lines if line.text.strip()), None)
    if first is None:
        return Text("The file is empty.", "文件是空的。")
    if failures := failures_in(log.lines):
        text = failures[0].text
        return Text(f"No result rows were found. {text.en}", f"没有找到结果行。{text.zh}")
    shown = first.text.strip()[:_SHOWN]
    return Text(
        f"No result rows were found, and no known benchmark is named. The first line, {first.number}, is: {shown}",
        f"没有找到结果行，也认不出是哪种基准测试。第一行（第 {first.number} 行）是：{shown}",
    )


def _nothing(reason: Text) -> Import:
    return Import(tool=None, reason=reason)
