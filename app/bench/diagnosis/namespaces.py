"""What can go wrong when hosts of this machine shall get a network of their own."""

from app.bench.diagnosis.model import Explanation
from app.core.i18n import Text

KINDS: dict[str, Explanation] = {
    "namespaces-no-program": Explanation(
        Text(
            "Programs that make network namespaces are missing here: {text}.",
            "缺少创建网络命名空间所需的程序：{text}。",
        ),
        Text(
            "On Debian or Ubuntu: `apt-get install iproute2 util-linux`. Only Linux has network namespaces; elsewhere use a virtual machine.",
            "Debian 或 Ubuntu 上：`apt-get install iproute2 util-linux`。只有 Linux 有网络命名空间，其他系统请用虚拟机。",
        ),
    ),
    "namespaces-refused": Explanation(
        Text(
            "This machine does not allow us to make a network namespace: {text}.",
            "本机不允许我们创建网络命名空间：{text}。",
        ),
        Text(
            "Run it as root, or let users have namespaces: `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu,"
            " `sysctl -w user.max_user_namespaces=10000` elsewhere. A container needs --cap-add SYS_ADMIN --cap-add NET_ADMIN.",
            "请以 root 运行，或允许普通用户创建命名空间：Ubuntu 用 `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`，"
            "其他系统用 `sysctl -w user.max_user_namespaces=10000`。容器需要 --cap-add SYS_ADMIN --cap-add NET_ADMIN。",
        ),
    ),
    "namespaces-failed": Explanation(
        Text("The network between the hosts could not be made: {text}.", "无法建立主机间的网络：{text}。"),
        Text(
            "The kernel needs veth, bridge and sch_tbf: try `modprobe` with each as root. Nothing was left behind.",
            "内核需要 veth、bridge 和 sch_tbf：请以 root 逐个执行 `modprobe`。没有遗留任何东西。",
        ),
    ),
    "namespaces-no-delay": Explanation(
        Text("This kernel cannot delay packets: {text}.", "本机内核无法延迟数据包：{text}。"),
        Text(
            "Set the delay to 0, or load the module as root: `modprobe sch_netem`.",
            "把延迟设为 0，或以 root 加载模块：`modprobe sch_netem`。",
        ),
    ),
}
