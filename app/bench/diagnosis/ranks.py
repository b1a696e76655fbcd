"""What can go wrong with ranks and their launcher, on whatever node."""

from app.bench.diagnosis.model import INSTALL_TORCH_ANYWHERE, SEE_LOG, Explanation
from app.core.i18n import Text

KINDS: dict[str, Explanation] = {
    "no-torch": Explanation(
        Text("PyTorch is not installed where the ranks run.", "运行 rank 的环境里没有安装 PyTorch。"),
        INSTALL_TORCH_ANYWHERE,
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
    "exception": Explanation(
        Text("Rank {rank} stopped with an error: {text}", "rank {rank} 出错停止：{text}"), SEE_LOG
    ),
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
        Text("The run gave no sign of life any more ({text}).", "运行不再有任何响应（{text}）。"),
        Text(
            "A rank hangs. Rows so far are kept; run again. On GPUs, NCCL_P2P_DISABLE=1 or NCCL_NVLS_ENABLE=0 tell as a test"
            " whether it is the link.",
            "有 rank 卡住。已测得的行都保留；请重新运行。GPU 上可试设 NCCL_P2P_DISABLE=1 或 NCCL_NVLS_ENABLE=0，以判断是否链路问题。",
        ),
    ),
    "ranks-missing": Explanation(
        Text("The ranks did not find each other (missing: {text}).", "各 rank 没有会合（缺少：{text}）。"),
        Text(
            "Usual causes are a firewall, a wrong interface, different lists of nodes, or a machine too busy to start them all.",
            "常见原因：防火墙、网络接口不对、各节点的列表不一致，或机器太忙而没能全部启动。",
        ),
    ),
    "too-long": Explanation(
        Text("The run reached its time limit and was ended.", "运行达到时间上限，已被结束。"),
        Text("Rows so far are kept. Choose a shorter preset.", "已测得的行都保留。请选更短的预设。"),
    ),
    "flood": Explanation(
        Text("The run printed more than its limit and was ended.", "运行输出超过上限，已被结束。"),
        Text(
            "Unset NCCL_DEBUG or TORCH_CPPSEE_LOG_LEVEL and run again.",
            "取消 NCCL_DEBUG 或 TORCH_CPPSEE_LOG_LEVEL 再运行。",
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
    "launcher-failed": Explanation(
        Text("The ranks could not be started: {text}.", "无法启动各 rank：{text}。"), SEE_LOG
    ),
    "launcher-lost": Explanation(
        Text(
            "The launcher of the ranks ended without a word, after its runner had died.",
            "启动 rank 的进程在 runner 中断之后结束，没有留下原因。",
        ),
        Text(
            "No rank was left behind, and rows so far are kept. Run again.",
            "没有遗留的 rank，已测得的行都保留。请重新运行。",
        ),
    ),
    "runner-lost": Explanation(
        Text("The run ended while nobody watched it.", "运行在无人监视时结束。"),
        Text("Rows that were written are kept. Run again.", "已写入的行都保留。请重新运行。"),
    ),
    "not-supported": Explanation(
        Text(
            "An operation was left out, because it does not work here: {text}.",
            "有操作在此环境不可用而被略过：{text}。",
        ),
        Text(
            "Choose another element type or reduction for it, or another backend. The other operations were measured.",
            "为它换一种元素类型、归约方式或后端。其余操作照常测量。",
        ),
    ),
    "nothing-to-measure": Explanation(
        Text("Nothing that was asked for can be measured here: {text}.", "所选内容在此环境都无法测量：{text}。"),
        Text(
            "Choose larger sizes, another element type or another operation.",
            "请选更大的消息、另一种元素类型或另一种操作。",
        ),
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
