"""Benchmarks whose output Ringside knows by sight but does not read: they are named, never guessed at.

Their tables use the words of nccl-tests for other things, or other columns in another order. To name one more, add what is
typical of its output to `TOOLS`.
"""

import re

from app.bench.importers.badges import badge
from app.bench.importers.model import Import
from app.bench.importers.reader import Log, Reader
from app.core.i18n import Text

TOOLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("mscclpp-test (MSCCL++)", re.compile(r"Initializing MSCCL\+\+|Setting up the connection in MSCCL\+\+")),
    ("MetaX mccl-tests", re.compile(r"\bmccl[-_]tests?\b|\bMETAX\b|\bMetaX\b|MCCL version")),
    ("Ascend hccl_test", re.compile(r"data_size\(Bytes\)|alg_bandwidth\(GB/s\)|\bhccl_test\b|\baveg?_time\(us\)")),
    ("AWS nccom-test", re.compile(r"\bnccom-test\b|size\(B\)\s+count\(elems\)\s+type\s+time")),
    (
        "perftest (ib_write_bw and the like)",
        re.compile(r"#bytes\s+#iterations\s+(?:BW peak|t_min)|BW average\[(?:MB|Gb)"),
    ),
    ("oneCCL benchmark or Intel MPI Benchmarks", re.compile(r"#bytes\s+#repetitions\s+t_min\[usec\]")),
    ("ucc_perftest", re.compile(r"Count\s+Size\s+Time, us|ucc_perftest")),
    (
        "ds_bench (DeepSpeed communication benchmark)",
        re.compile(r"Performance of \w+ on \d+ devices|Throughput \((?:Gbps|GBps)\)\s+BusBW"),
    ),
    ("PARAM comms.py", re.compile(r"COMMS-RES|\bPARAM_COMM\b|Latency\(us\):p50")),
    ("mamf-finder", re.compile(r"\bmamf-finder\b|Tried\s+\d+ shapes => the best outcomes were")),
    ("iperf3", re.compile(r"\[ ID\] Interval\s+Transfer\s+Bitrate")),
    ("gpu-burn", re.compile(r"Gflop/s\)\s+errors:")),
)


_NCCL_TESTS = re.compile(r"\bnThread +\d+ +nGpus\b|\bcount\s+type\b.*\balgbw\b")


def recognise(log: Log) -> float:
    """Surer than formats that share words with these tools; a table with the titles of nccl-tests is left to its reader."""
    if tool_of(log) is None:
        return 0.0
    return 0.6 if _NCCL_TESTS.search(log.text) else 0.95


def read(log: Log) -> Import:
    """The name of the tool as the reason why there is nothing."""
    name = tool_of(log) or "?"
    found = badge("unknown-tool", what=name)
    return Import(tool=name, reason=found.text, badges=(found,))


def tool_of(log: Log) -> str | None:
    """The tool whose marks stand in the log."""
    return next((name for name, pattern in TOOLS if pattern.search(log.text)), None)


reader = Reader("named-tools", Text("Other benchmarks", "其他基准测试"), recognise, read)
