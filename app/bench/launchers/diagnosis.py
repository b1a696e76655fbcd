"""What a problem of a run means to a person, and what to do about it.

Workers and runner report a `Problem` with a kind; an exception's text, or the launcher's log, often says more. `explain` looks
for known wording first, then goes by the kind. To teach it a new failure, add a `Cause` to `CAUSES` with a piece of real
output in its test.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.bench.events import Problem
from app.core.i18n import Text

INSTALL_TORCH = Text(
    "Install it with `pip install 'ringside[bench]'`, or run `make setup`.",
    "用 `pip install 'ringside[bench]'` 安装，或运行 `make setup`。",
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """`message` says what happened, `remedy` what to do next."""

    message: Text
    remedy: Text


@dataclass(frozen=True, slots=True)
class Cause:
    """A failure with wording of its own: `pattern` is searched in the problem's text and the log.

    Named groups of the pattern fill the fields of the message.
    """

    pattern: re.Pattern[str]
    explanation: Explanation


def _cause(pattern: str, message: Text, remedy: Text) -> Cause:
    return Cause(re.compile(pattern), Explanation(message, remedy))


CAUSES: tuple[Cause, ...] = (
    _cause(
        r"No module named '?\"?torch\b",
        Text("PyTorch is not installed where the ranks run.", "运行 rank 的环境里没有安装 PyTorch。"),
        INSTALL_TORCH,
    ),
    _cause(
        r"Unable to find (?:address for|interface)[: ]*(?P<interface>[\w.@:-]+)",
        Text("The network interface {interface} does not exist here.", "本机没有网络接口 {interface}。"),
        Text(
            "Set GLOO_SOCKET_IFNAME (or NCCL_SOCKET_IFNAME) to one that has an address; `ip -brief address` lists them.",
            "把 GLOO_SOCKET_IFNAME（或 NCCL_SOCKET_IFNAME）设为有地址的接口；用 `ip -brief address` 查看。",
        ),
    ),
    _cause(
        r"EADDRINUSE|[Aa]ddress already in use",
        Text("The port on which the ranks meet is taken.", "各 rank 会合用的端口已被占用。"),
        Text("Another run may still be alive: end it, then start again.", "可能还有一次运行没结束：先结束它再重试。"),
    ),
    _cause(
        r"CUDA out of memory|OutOfMemoryError",
        Text("A GPU has too little free memory for the largest size.", "GPU 剩余显存放不下最大的消息。"),
        Text("End other programs on that GPU, or lower the maximum size.", "结束该 GPU 上的其他程序，或减小最大消息。"),
    ),
    _cause(
        r"DefaultCPUAllocator: (?:can't|not enough) allocate memory|MemoryError|Cannot allocate memory",
        Text("A rank could not get the memory it needs.", "某个 rank 申请不到所需的内存。"),
        Text("Use fewer ranks, or raise the memory limit of this machine.", "减少 rank 数，或提高本机的内存上限。"),
    ),
    _cause(
        r"/dev/shm|shared memory segment",  # noqa: S108 - wording to look for, not a file
        Text("Shared memory (/dev/shm) is full or too small.", "共享内存（/dev/shm）已满或太小。"),
        Text(
            "In a container, start it with --shm-size=1g or --ipc=host.", "容器请用 --shm-size=1g 或 --ipc=host 启动。"
        ),
    ),
    _cause(
        r"No space left on device|ENOSPC",
        Text("The disk is full.", "磁盘已满。"),
        Text("Free some space in the data folder and the temporary folder.", "清理数据目录和临时目录的空间。"),
    ),
    _cause(
        r"Duplicate GPU detected|[Mm]ultiple [Rr]anks are using the same GPU",
        Text("Two ranks use the same GPU, which NCCL refuses.", "两个 rank 用了同一块 GPU,NCCL 不允许。"),
        Text("Start at most one rank per GPU.", "每块 GPU 最多启动一个 rank。"),
    ),
    _cause(
        r"invalid device ordinal",
        Text("More ranks were started than this node shows GPUs.", "启动的 rank 比本节点可见的 GPU 多。"),
        Text("Start at most one rank per GPU, or choose the Gloo backend.", "每块 GPU 最多一个 rank，或改用 Gloo。"),
    ),
    _cause(
        r"driver version is insufficient|driver on your system is too old|no kernel image is available",
        Text("The installed PyTorch does not support this driver or GPU.", "安装的 PyTorch 不支持这个驱动或 GPU。"),
        Text("Install a PyTorch build that fits the driver, or update it.", "安装与驱动匹配的 PyTorch，或升级驱动。"),
    ),
    _cause(
        r"Watchdog caught collective operation timeout",
        Text("A collective did not finish in its time limit.", "某次集合通信没有在时限内完成。"),
        Text(
            "Look at the earliest error of each rank. To test for a peer-to-peer fault, run once with NCCL_P2P_DISABLE=1.",
            "查看每个 rank 最早的错误。要排查点对点故障，可设 NCCL_P2P_DISABLE=1 试跑一次。",
        ),
    ),
    _cause(
        r"RendezvousTimeoutError|waiting for clients",
        Text("Not all ranks came to the meeting point in time.", "有 rank 没能按时到达会合点。"),
        Text("Check that every node can reach the first one on its port.", "检查每个节点都能连到首节点的端口。"),
    ),
)

_LOG = Text("The last lines of the log say more.", "日志最后几行有更多信息。")

KINDS: dict[str, Explanation] = {
    "no-torch": Explanation(
        Text("PyTorch is not installed where the ranks run.", "运行 rank 的环境里没有安装 PyTorch。"), INSTALL_TORCH
    ),
    "no-gpu": Explanation(
        Text("NCCL needs a GPU and none is visible.", "NCCL 需要 GPU，但没有可见的 GPU。"),
        Text("Choose the Gloo backend, which runs on the CPU.", "改用 Gloo 后端，它在 CPU 上运行。"),
    ),
    "too-few-gpus": Explanation(
        Text("More ranks were asked for than this node shows GPUs.", "要求的 rank 数多于本节点可见的 GPU。"),
        Text("Choose at most one rank per GPU.", "每块 GPU 最多一个 rank。"),
    ),
    "world-size": Explanation(
        Text("Not as many ranks were started as were asked for.", "启动的 rank 数与要求的不符。"),
        Text("Check the number of ranks per node on every node.", "检查每个节点上的 rank 数。"),
    ),
    "rank-killed": Explanation(
        Text("Rank {rank} was killed from outside.", "rank {rank} 被外部杀死。"),
        Text(
            "Signal 9 nearly always means that memory ran out: use fewer ranks or smaller sizes. Rows so far are kept.",
            "信号 9 几乎总是内存耗尽：减少 rank 或减小消息。已测得的行都保留。",
        ),
    ),
    "rank-lost": Explanation(
        Text("Rank {rank} died in the middle of the run.", "rank {rank} 在运行中途死亡。"),
        Text(
            "Its own message stands in the log; without one it was probably killed for its memory. Rows so far are kept.",
            "它自己的报错在日志里；若没有，多半是内存不足被系统杀死。已测得的行都保留。",
        ),
    ),
    "exception": Explanation(Text("Rank {rank} stopped with an error: {text}", "rank {rank} 出错停止：{text}"), _LOG),
    "timeout": Explanation(
        Text("A collective did not finish in its time limit: {text}", "某次集合通信没有在时限内完成：{text}"),
        Text(
            "A rank hangs or is stopped. Rows so far are kept; run again, with fewer ranks if the machine is busy.",
            "有 rank 卡住或被暂停。已测得的行都保留；请重新运行，机器忙时减少 rank 数。",
        ),
    ),
    "connection-lost": Explanation(
        Text("A connection between ranks broke: {text}", "rank 之间的连接断开：{text}"),
        Text(
            "The earliest error in the log names the rank that failed first.",
            "日志里最早的错误说明是哪个 rank 先出错。",
        ),
    ),
    "silent": Explanation(
        Text("The run gave no sign of life: {text}", "运行没有任何响应：{text}"),
        Text("A rank hangs. Rows so far are kept; run again.", "有 rank 卡住。已测得的行都保留；请重新运行。"),
    ),
    "ranks-missing": Explanation(
        Text("The ranks did not find each other: {text}", "各 rank 没有会合：{text}"),
        Text(
            "Usual causes are a firewall, a wrong interface, or a machine too busy to start them all.",
            "常见原因：防火墙、网络接口不对，或机器太忙而没能全部启动。",
        ),
    ),
    "too-long": Explanation(
        Text("The run reached its time limit and was ended.", "运行达到时间上限，已被结束。"),
        Text("Rows so far are kept. Choose a shorter preset.", "已测得的行都保留。请选更短的预设。"),
    ),
    "flood": Explanation(
        Text("The run printed more than its limit and was ended.", "运行输出超过上限，已被结束。"),
        Text(
            "Unset NCCL_DEBUG or TORCH_CPP_LOG_LEVEL and run again.", "取消 NCCL_DEBUG 或 TORCH_CPP_LOG_LEVEL 再运行。"
        ),
    ),
    "disk-full": Explanation(
        Text("The disk is full: {text}.", "磁盘已满：{text}。"),
        Text("Free some space and run again.", "清理空间后重新运行。"),
    ),
    "launcher-killed": Explanation(
        Text("The launcher of the ranks was killed.", "启动 rank 的进程被杀死。"),
        Text(
            "No rank was left behind, and rows so far are kept. Run again.",
            "没有遗留的 rank，已测得的行都保留。请重新运行。",
        ),
    ),
    "launcher-failed": Explanation(Text("The ranks could not be started: {text}.", "无法启动各 rank:{text}。"), _LOG),
    "runner-lost": Explanation(
        Text("The run ended while nobody watched it.", "运行在无人监视时结束。"),
        Text("Rows that were written are kept. Run again.", "已写入的行都保留。请重新运行。"),
    ),
    "size-skipped": Explanation(
        Text("Some sizes were too small and left out: {text}.", "有些消息太小而被略过：{text}。"),
        Text(
            "Nothing to do: each rank's part must hold at least 16 bytes.", "无需处理：每个 rank 的一份至少 16 字节。"
        ),
    ),
    "drift": Explanation(
        Text("The machine changed its speed during the run: {text}.", "运行期间机器速度有变化：{text}。"),
        Text("Repeat it on a quiet machine, or with a longer preset.", "在空闲的机器上重测，或用更长的预设。"),
    ),
}


def explain(problem: Problem, *, log: Sequence[str] = ()) -> Explanation:
    """What `problem` means; `log` is the tail of what the launcher and the ranks printed."""
    if problem.fatal and problem.kind not in {"rank-killed", "launcher-killed"}:
        evidence = "\n".join([problem.text, *log])
        for cause in CAUSES:
            match = cause.pattern.search(evidence)
            if match is not None:
                fields = match.groupdict()
                message = cause.explanation.message
                return Explanation(message.format(**fields) if fields else message, cause.explanation.remedy)
    known = KINDS.get(problem.kind)
    if known is None:
        return Explanation(Text(f"The run failed: {problem.text}", f"运行失败：{problem.text}"), _LOG)
    rank = "?" if problem.rank is None else problem.rank
    return Explanation(known.message.format(rank=rank, text=problem.text), known.remedy)
