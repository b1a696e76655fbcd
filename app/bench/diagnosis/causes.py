"""Failures with wording of their own, as PyTorch, NCCL, Gloo and the system print them.

The first that matches the problem's text or the log wins: causes stand before what merely follows from them.
"""

from app.bench.diagnosis.model import INSTALL_TORCH_ANYWHERE, Cause, cause
from app.core.i18n import Text

CAUSES: tuple[Cause, ...] = (
    cause(
        r"No module named '?\"?torch\b",
        Text("PyTorch is not installed where the ranks run.", "运行 rank 的环境里没有安装 PyTorch。"),
        INSTALL_TORCH_ANYWHERE,
    ),
    cause(
        r"Unable to find (?:address for|interface)[: ]*(?P<interface>[\w.@:-]+)",
        Text("The network interface {interface} does not exist here.", "本机没有网络接口 {interface}。"),
        Text(
            "Set GLOO_SOCKET_IFNAME (or NCCL_SOCKET_IFNAME) to one that has an address; `ip -brief address` lists them.",
            "把 GLOO_SOCKET_IFNAME（或 NCCL_SOCKET_IFNAME）设为有地址的接口；用 `ip -brief address` 查看。",
        ),
    ),
    cause(
        r"no socket interface found|neither AF_INET\(2\) nor AF_INET6",
        Text("NCCL found no network interface with an address.", "NCCL 没有找到带地址的网络接口。"),
        Text(
            "Set NCCL_SOCKET_IFNAME to one that has an address, or leave it out; `ip -brief address` lists them.",
            "把 NCCL_SOCKET_IFNAME 设为有地址的接口，或不设置；用 `ip -brief address` 查看。",
        ),
    ),
    cause(
        r"EADDRINUSE|[Aa]ddress already in use",
        Text("The port on which the ranks meet is taken.", "各 rank 会合用的端口已被占用。"),
        Text("Another run may still be alive: end it, then start again.", "可能还有一次运行没结束：先结束它再重试。"),
    ),
    cause(
        r"CUDA out of memory|OutOfMemoryError",
        Text("A GPU has too little free memory for the largest size.", "GPU 剩余显存放不下最大的消息。"),
        Text("End other programs on that GPU, or lower the maximum size.", "结束该 GPU 上的其他程序，或减小最大消息。"),
    ),
    cause(
        r"DefaultCPUAllocator: (?:can't|not enough) allocate memory|MemoryError|Cannot allocate memory",
        Text("A rank could not get the memory it needs.", "某个 rank 申请不到所需的内存。"),
        Text("Use fewer ranks, or raise the memory limit of this machine.", "减少 rank 数，或提高本机的内存上限。"),
    ),
    cause(
        r"/dev/shm|shared memory segment|posix_fallocate failed",  # noqa: S108 - wording to look for, not a file
        Text("Shared memory (/dev/shm) is full or too small.", "共享内存（/dev/shm）已满或太小。"),
        Text(
            "In a container, start it with --shm-size=1g or --ipc=host.", "容器请用 --shm-size=1g 或 --ipc=host 启动。"
        ),
    ),
    cause(
        r"No space left on device|ENOSPC",
        Text("The disk is full.", "磁盘已满。"),
        Text("Free some space in the data folder and the temporary folder.", "清理数据目录和临时目录的空间。"),
    ),
    cause(
        r"Duplicate GPU detected|[Mm]ultiple [Rr]anks are using the same GPU",
        Text("Two ranks use the same GPU, which NCCL refuses.", "两个 rank 用了同一块 GPU，NCCL 不允许。"),
        Text("Start at most one rank per GPU.", "每块 GPU 最多启动一个 rank。"),
    ),
    cause(
        r"invalid device ordinal",
        Text("More ranks were started than this node shows GPUs.", "启动的 rank 比本节点可见的 GPU 多。"),
        Text("Start at most one rank per GPU, or choose the Gloo backend.", "每块 GPU 最多一个 rank，或改用 Gloo。"),
    ),
    cause(
        r"driver version is insufficient|driver on your system is too old|no kernel image is available",
        Text("The installed PyTorch does not support this driver or GPU.", "安装的 PyTorch 不支持这个驱动或 GPU。"),
        Text("Install a PyTorch build that fits the driver, or update it.", "安装与驱动匹配的 PyTorch，或升级驱动。"),
    ),
    cause(
        r"Watchdog caught collective operation timeout",
        Text("A collective did not finish in its time limit.", "某次集合通信没有在时限内完成。"),
        Text(
            "Look at the earliest error of each rank. To test for a peer-to-peer fault, run once with NCCL_P2P_DISABLE=1.",
            "查看每个 rank 最早的错误。要排查点对点故障，可设 NCCL_P2P_DISABLE=1 试跑一次。",
        ),
    ),
    cause(
        r"RendezvousTimeoutError|waiting for clients",
        Text("Not all ranks came to the meeting point in time.", "有 rank 没能按时到达会合点。"),
        Text("Check that every node can reach the first one on its port.", "检查每个节点都能连到首节点的端口。"),
    ),
    cause(
        r"ncclRemoteError|remote process exited",
        Text("A rank lost its connection to another one.", "某个 rank 与另一个 rank 的连接断开了。"),
        Text(
            "The other rank has failed first, or the network has: look for the earliest error in the log of every rank.",
            "是对方先出错，或网络中断：请在每个 rank 的日志里找最早的错误。",
        ),
    ),
)
