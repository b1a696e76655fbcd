"""What can go wrong with a node before ranks start, and what its guard has to say.

The text of most of these problems is numbers and names without words, so that it reads the same in both languages.
"""

from app.bench.diagnosis.model import Explanation
from app.core.i18n import Text

KINDS: dict[str, Explanation] = {
    "old-python": Explanation(
        Text("The node's Python is too old: {text}.", "节点上的 Python 太旧：{text}。"),
        Text(
            "The worker needs Python 3.10 or newer with PyTorch; say in the node's settings which one to use.",
            "需要装有 PyTorch 的 Python 3.10 或更新版本；请在节点设置里指定用哪一个。",
        ),
    ),
    "gpu-unusable": Explanation(
        Text("A GPU is there but PyTorch cannot use it: {text}.", "有 GPU，但 PyTorch 用不了：{text}。"),
        Text(
            "Compare `nvidia-smi` with the CUDA version of PyTorch on that node; a GPU in MIG mode needs an instance.",
            "在该节点上对照 `nvidia-smi` 与 PyTorch 的 CUDA 版本；MIG 模式的 GPU 需要先建实例。",
        ),
    ),
    "memory-cap": Explanation(
        Text(
            "The ranks held more memory than the run's cap and were ended.",
            "各 rank 占用的内存超过本次运行的上限，已被结束。",
        ),
        Text("Use fewer ranks or smaller sizes, or raise the cap.", "减少 rank、减小消息，或提高上限。"),
    ),
    "oom-killed": Explanation(
        Text(
            "The kernel killed a process of the run because memory ran out; the limit is {text}.",
            "内存耗尽，内核杀死了本次运行的一个进程；上限为 {text}。",
        ),
        Text(
            "Lower the maximum size or the number of ranks, or give the job more memory. Rows so far are kept.",
            "减小最大消息或 rank 数，或给作业更多内存。已测得的行都保留。",
        ),
    ),
    "driver-lost": Explanation(
        Text(
            "The node heard nothing from this side for {text} and ended the run.",
            "节点有 {text} 没收到本端的任何消息，已结束运行。",
        ),
        Text(
            "The connection broke or this machine slept. Rows so far are kept; run again.",
            "连接断开，或本机休眠过。已测得的行都保留；请重新运行。",
        ),
    ),
    "devices-busy": Explanation(
        Text("Another run uses the same devices on that node: {text}.", "该节点上已有运行占用同样的设备：{text}。"),
        Text("Wait until it has ended, or end that process.", "等它结束，或结束那个进程。"),
    ),
    "stray-left": Explanation(
        Text("Processes of the run do not end: pid {text}.", "本次运行有进程无法结束：pid {text}。"),
        Text(
            "They hang inside the kernel or a driver; look at them on the node, it may need a restart.",
            "它们卡在内核或驱动里；请到节点上查看，可能需要重启节点。",
        ),
    ),
    "versions-differ": Explanation(
        Text("The hosts have different versions: {text}.", "各主机的版本不同：{text}。"),
        Text(
            "Use the same PyTorch and NCCL on every host of a run.",
            "一次运行的所有主机要用相同版本的 PyTorch 与 NCCL。",
        ),
    ),
    "too-little-memory": Explanation(
        Text(
            "The run needs more memory than a host offers ({text}).",
            "运行所需的内存超过主机可提供的内存（{text}）。",
        ),
        Text(
            "Lower the maximum size or the number of ranks, or free memory on that host.",
            "减小最大消息或 rank 数，或在该主机上腾出内存。",
        ),
    ),
    "too-little-gpu-memory": Explanation(
        Text(
            "The run needs more memory than a GPU has free ({text}).", "运行所需的显存超过 GPU 的空闲显存（{text}）。"
        ),
        Text("Lower the maximum size, or end other programs on that GPU.", "减小最大消息，或结束该 GPU 上的其他程序。"),
    ),
    "shm-small": Explanation(
        Text("Shared memory (/dev/shm) is small: {text}.", "共享内存（/dev/shm）太小：{text}。"),
        Text(
            "In a container, start it with --shm-size=1g or --ipc=host.", "容器请用 --shm-size=1g 或 --ipc=host 启动。"
        ),
    ),
    "no-interface": Explanation(
        Text(
            "The network interface of the node's settings has no address on a host ({text}).",
            "节点设置里的网络接口在某台主机上没有地址（{text}）。",
        ),
        Text(
            "Choose one of those listed, or leave it empty. Exclusions (^) and prefixes (=) are NCCL's alone: Gloo needs names.",
            "请选列出的接口之一，或留空。排除（^）与前缀（=）写法只有 NCCL 认识，Gloo 需要完整名称。",
        ),
    ),
    "disk-small": Explanation(
        Text("Little disk space is left for the run: {text}.", "可供运行使用的磁盘空间不多：{text}。"),
        Text("Free some space there.", "请清理一些空间。"),
    ),
    "memlock-low": Explanation(
        Text(
            "Processes may pin little memory ({text}); RDMA over InfiniBand or RoCE can fail.",
            "进程可锁定的内存很少（{text}）；InfiniBand 或 RoCE 上的 RDMA 可能失败。",
        ),
        Text(
            "Raise the memlock limit on that host (`ulimit -l unlimited`; a container: --ulimit memlock=-1).",
            "提高该主机的 memlock 限制（`ulimit -l unlimited`；容器用 --ulimit memlock=-1）。",
        ),
    ),
}
