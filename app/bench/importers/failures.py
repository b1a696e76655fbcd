"""What the error lines of a log mean, in plain words with a remedy."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from app.bench.importers.badges import badge
from app.bench.importers.model import Badge
from app.bench.importers.prefixes import Line
from app.core.i18n import Text


@dataclass(frozen=True, slots=True)
class Failure:
    """Wording to look for, and what it means."""

    pattern: re.Pattern[str]
    text: Text


def _failure(pattern: str, english: str, chinese: str) -> Failure:
    return Failure(re.compile(pattern), Text(english, chinese))


FAILURES: tuple[Failure, ...] = (
    _failure(
        r"invalid device ordinal",
        "More GPUs were asked for than the node shows (invalid device ordinal): lower -g or the ranks per node.",
        "要求的 GPU 多于节点可见的数量（invalid device ordinal）：减小 -g 或每节点的 rank 数。",
    ),
    _failure(
        r"Invalid number of GPUs",
        "More GPUs were asked for than were found: lower -g or the ranks per node.",
        "要求的 GPU 多于找到的数量：减小 -g 或每节点的 rank 数。",
    ),
    _failure(
        r"Duplicate GPU detected|[Mm]ultiple [Rr]anks are using the same GPU",
        "Two ranks were given the same GPU, which NCCL refuses: start one rank per GPU.",
        "两个 rank 用了同一块 GPU，NCCL 不允许：每块 GPU 只启动一个 rank。",
    ),
    _failure(
        r"remote process exited or there was a network error",
        "Another rank ended first or its connection broke: look for the earliest error among all ranks.",
        "另一个 rank 先退出或连接中断：请在所有 rank 中查找最早的错误。",
    ),
    _failure(
        r"unhandled cuda error",
        "NCCL met a CUDA error: run again with NCCL_DEBUG=INFO to see which; at the largest sizes it is often memory.",
        "NCCL 遇到 CUDA 错误：用 NCCL_DEBUG=INFO 重跑查看原因；在最大的消息处多半是显存不足。",
    ),
    _failure(
        r"unhandled system error",
        "NCCL met a system error (sockets, shared memory or files): NCCL_DEBUG=INFO names the call.",
        "NCCL 遇到系统错误（套接字、共享内存或文件）：NCCL_DEBUG=INFO 会指出是哪个调用。",
    ),
    _failure(
        r"Test timeout",
        "A collective did not finish in the time the test allows.",
        "某次集合通信没有在测试允许的时间内完成。",
    ),
    _failure(
        r"(?:CUDA|HIP) failure.*out of memory|CUDA out of memory",
        "The GPU ran out of memory: lower the maximum size (-e).",
        "GPU 显存不足：减小最大消息（-e）。",
    ),
    _failure(
        r"Test (?:CUDA|HIP) failure|Cuda failure",
        "The test stopped at a CUDA error; the quoted text names it.",
        "测试因 CUDA 错误停止；引号中的文字是具体错误。",
    ),
    _failure(
        r"Test NCCL failure|\bNCCL failure\b",
        "The test stopped at an NCCL error; the quoted text names it.",
        "测试因 NCCL 错误停止；引号中的文字是具体错误。",
    ),
    _failure(
        r"DUE TO TIME LIMIT",
        "Slurm ended the job at its time limit.",
        "作业到达 Slurm 的时限被终止。",
    ),
    _failure(
        r"launch failed on|start failed on|CXI alloc failed|Couldn't allocate a port for PMI",
        "The launcher could not start the ranks, so the benchmark itself never ran.",
        "启动器没能启动各 rank，基准测试本身没有运行。",
    ),
    _failure(
        r"error while loading shared libraries",
        "A library was not found: set LD_LIBRARY_PATH to where NCCL (or CUDA, MPI) is installed.",
        "找不到动态库：把 LD_LIBRARY_PATH 指向 NCCL（或 CUDA、MPI）的安装目录。",
    ),
    _failure(
        r"_perf\S*: (?:command not found|No such file)|(?:execve|launch).*_perf.*No such file",
        "The benchmark program was not found on the node.",
        "节点上找不到基准测试程序。",
    ),
    _failure(
        r"There are not enough slots available",
        "mpirun has fewer slots than ranks were asked for.",
        "mpirun 可用的槽位少于要求的 rank 数。",
    ),
    _failure(
        r"[Oo]ut [Oo]f [Mm]emory|oom-kill|OOM Killed",
        "The operating system or Slurm ended a process for its memory.",
        "操作系统或 Slurm 因内存超限终止了进程。",
    ),
    _failure(
        r"No space left on device",
        "Shared memory or the disk is full; in a container start it with --shm-size=1g.",
        "共享内存或磁盘已满；容器请用 --shm-size=1g 启动。",
    ),
    _failure(
        r"Segmentation fault|exited on signal \d+|Bus error",
        "A process crashed; look for the first error before it.",
        "有进程崩溃；请查看它之前最早的错误。",
    ),
    _failure(
        r"Primary job terminated|mpirun noticed that|mpiexec detected that|srun: error:",
        "The launcher reports that a rank ended with an error.",
        "启动器报告有 rank 出错退出。",
    ),
)

_ANY = re.compile("|".join(f"(?:{failure.pattern.pattern})" for failure in FAILURES))
MAXIMUM_SHOWN = 3


def failures_in(lines: Iterable[Line]) -> tuple[Badge, ...]:
    """One badge per kind of failure, earliest first, at most `MAXIMUM_SHOWN`; a general kind yields to a particular one."""
    found: dict[int, Line] = {}
    for line in lines:
        if not _ANY.search(line.text):
            continue
        for index, failure in enumerate(FAILURES):
            if failure.pattern.search(line.text):
                found.setdefault(index, line)
                break
    first = sorted(found.items(), key=lambda item: item[1].number)[:MAXIMUM_SHOWN]
    return tuple(badge("failed", line=line.number, message=FAILURES[index].text) for index, line in first)
