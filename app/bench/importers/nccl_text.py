"""nccl-tests and RCCL-tests text of every era, and what Ringside itself prints in that layout."""

import re
from collections.abc import Sequence

from app.bench.importers import nccl_text_header as header
from app.bench.importers.assemble import assemble
from app.bench.importers.facts import Facts
from app.bench.importers.failures import failures_in
from app.bench.importers.model import Import
from app.bench.importers.nccl_text_parallel import untangle
from app.bench.importers.nccl_text_row import row_starts, titles
from app.bench.importers.nccl_text_scan import Scanner
from app.bench.importers.prefixes import Line
from app.bench.importers.reader import Log, Reader
from app.core.i18n import Text, same

_TRACES = re.compile(r"nThread +\d+ +nGpus|Test (?:NCCL|CUDA|HIP) failure|Out of bounds values|Avg bus bandwidth")


def recognise(log: Log) -> float:
    """Sure with a header, titles or a row; faint with an error or a footer alone."""
    for line in log.lines:
        if header.parameters(line.text) is not None or titles(line.text) or row_starts(line.text):
            return 0.9
    return 0.5 if any(_TRACES.search(line.text) or header.device(line.text) for line in log.lines) else 0.0


def read(log: Log) -> Import:
    """The runs, in the order of the file."""
    found: list[Facts] = []
    for lines in _streams(log.lines):
        found += untangle([run for run in Scanner().take(lines) if _is_run(run)])
    runs = tuple(map(assemble, found))
    tool = runs[0].tool if runs else "nccl-tests"
    if any(run.rows for run in runs):
        return Import(tool=tool, runs=runs)
    return Import(tool=tool, runs=runs, reason=_reason(log, found))


def _is_run(run: Facts) -> bool:
    """A run began with its header, or with a row; titles or devices alone are only the trace of one."""
    return bool(run.has_header or run.rows or run.averages)


def _streams(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines by the process that printed tables; lines of the other processes are given to each, to look for failures."""
    tables = list(dict.fromkeys(line.source for line in lines if _is_table(line.text)))
    if len(tables) < 2:
        return [list(lines)]
    return [[line for line in lines if line.source == source or line.source not in tables] for source in tables]


def _is_table(text: str) -> bool:
    return header.parameters(text) is not None or titles(text) is not None or bool(row_starts(text))


def _reason(log: Log, runs: Sequence[Facts]) -> Text:
    """Why there are no rows, with what was recognised."""
    if failures := failures_in(log.lines):
        text = failures[0].text
        return Text(f"No result rows. {text.en}", f"没有结果行。{text.zh}")
    devices = sum(header.device(line.text) is not None for line in log.lines)
    if runs and not devices:
        return Text(
            "No result rows: the log has a header of nccl-tests and stops there.",
            "没有结果行：日志只有 nccl-tests 的开头。",
        )
    return Text(
        f"No result rows: an nccl-tests header with {devices} devices, then nothing. The program hung, was stopped or the log was cut.",
        f"没有结果行：只有 nccl-tests 的开头和 {devices} 个设备。程序卡住、被终止，或日志被截断。",
    )


reader = Reader("nccl-text", same("nccl-tests"), recognise, read)
