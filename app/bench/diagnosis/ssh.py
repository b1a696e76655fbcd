"""What can go wrong on the way to a node behind SSH."""

from app.bench.diagnosis.model import SEE_LOG, Explanation
from app.core.i18n import Text

_SAME_SETTINGS = Text(
    "Log in once by hand with the same user, key and port: `ssh -v user@host`. `ringside node test` asks the node again.",
    "先用同样的用户、密钥和端口手工登录一次：`ssh -v user@host`。`ringside node test` 会再次测试节点。",
)

KINDS: dict[str, Explanation] = {
    "ssh-host-key-unknown": Explanation(
        Text("The host key of this node has not been confirmed: {text}.", "该节点的主机密钥尚未确认：{text}。"),
        Text(
            "Compare the fingerprint with what the node's owner tells you (there: `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`),"
            " then run the command shown and answer yes. Nothing was sent to the node.",
            "先与节点管理员核对指纹（在节点上运行 `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`），"
            "再运行上面的命令并回答 yes。没有向节点发送任何内容。",
        ),
    ),
    "ssh-host-key-changed": Explanation(
        Text(
            "The node shows another host key than the one you confirmed: {text}.",
            "节点给出的主机密钥与已确认的不同：{text}。",
        ),
        Text(
            "Somebody may stand between you and the node. Ask its owner whether it was set up anew; only then remove the old key with the"
            " command shown, and confirm the new one. Nothing was sent to the node.",
            "可能有人在中间冒充节点。请先向管理员确认是否重装过；确认后再用上面的命令删除旧密钥，并重新确认新密钥。没有向节点发送任何内容。",
        ),
    ),
    "ssh-denied": Explanation(
        Text("The node did not let us in; tried: {text}.", "节点拒绝登录；已尝试：{text}。"),
        Text(
            "Add your public key to ~/.ssh/authorized_keys there (`ssh-copy-id user@host`), or name the right user or key file in the"
            " node's settings. Passwords are never used.",
            "把公钥加入节点上的 ~/.ssh/authorized_keys（`ssh-copy-id user@host`），或在节点设置中填对用户名、私钥文件。不支持密码登录。",
        ),
    ),
    "ssh-key-locked": Explanation(
        Text("A passphrase protects the key: {text}.", "私钥有口令保护：{text}。"),
        Text(
            "Start an agent and add the key: `eval $(ssh-agent)`, `ssh-add FILE`; then start Ringside from that shell. The public key must lie"
            " beside the file as FILE.pub.",
            "启动 agent 并加入私钥：`eval $(ssh-agent)`、`ssh-add FILE`，再从该终端启动 Ringside。公钥须以 FILE.pub 放在私钥旁边。",
        ),
    ),
    "ssh-key-unreadable": Explanation(
        Text("The key file cannot be used: {text}.", "无法使用私钥文件：{text}。"),
        Text(
            "Name a private key in OpenSSH's or PEM's format that this user can read.",
            "请填写当前用户可读的私钥文件（OpenSSH 或 PEM 格式）。",
        ),
    ),
    "ssh-unreachable": Explanation(
        Text("The node cannot be reached: {text}.", "无法连接节点：{text}。"),
        Text(
            "Check the address and the port, that the node is up, and whether a jump host or a VPN is needed.",
            "检查地址和端口、节点是否开机，以及是否需要跳板机或 VPN。",
        ),
    ),
    "ssh-no-such-host": Explanation(
        Text("No machine is known by this name: {text}.", "找不到这个主机名：{text}。"),
        Text(
            "Check the spelling, or use an IP address; names of ~/.ssh/config are found only where the node's settings let it be read.",
            "检查拼写，或改用 IP 地址；只有节点设置允许读取 ~/.ssh/config 时，其中的名字才有效。",
        ),
    ),
    "ssh-config": Explanation(
        Text("The SSH configuration cannot be used: {text}.", "无法使用 SSH 配置：{text}。"),
        Text(
            "Mend that place, or set the node's SSH configuration to `ignore` and give user, port and key in its settings.",
            "修正该处；或把节点的 SSH 配置设为 `ignore`，在设置里直接填写用户、端口和私钥。",
        ),
    ),
    "ssh-config-command": Explanation(
        Text(
            "The SSH configuration wants to run a command on this machine: {text}.",
            "SSH 配置要求在本机执行命令：{text}。",
        ),
        Text(
            "Ringside does not run it unless the node's SSH configuration is set to `full`. A jump host often does the same.",
            "除非把节点的 SSH 配置设为 `full`，Ringside 不会执行它。多数情况下可改用跳板机。",
        ),
    ),
    "ssh-no-sftp": Explanation(
        Text("The node takes no files: {text}.", "节点不接收文件：{text}。"),
        Text(
            "Its SSH server needs the sftp subsystem (`Subsystem sftp internal-sftp` in sshd_config).",
            "其 SSH 服务需要启用 sftp 子系统（sshd_config 中的 `Subsystem sftp internal-sftp`）。",
        ),
    ),
    "ssh-folder": Explanation(
        Text("The folder on the node cannot be written: {text}.", "无法写入节点上的目录：{text}。"),
        Text(
            "Name a folder in the node's settings that this user may write to and that has room.",
            "请在节点设置中填写该用户可写且空间足够的目录。",
        ),
    ),
    "ssh-lost": Explanation(
        Text("The connection to the node broke: {text}.", "与节点的连接中断：{text}。"),
        Text(
            "Rows so far are kept. The ranks there end by themselves within half a minute. Check the network, then run again.",
            "已测得的行都保留。节点上的 rank 会在半分钟内自行结束。请检查网络后重新运行。",
        ),
    ),
    "no-python": Explanation(
        Text("There is no such Python on the node: {text}.", "节点上没有这个 Python：{text}。"),
        Text(
            "Name one in the node's settings, e.g. /opt/venv/bin/python3; it needs version 3.10 or newer, and PyTorch.",
            "请在节点设置中填写 Python 路径，如 /opt/venv/bin/python3；需要 3.10 以上版本和 PyTorch。",
        ),
    ),
    "too-few-hosts": Explanation(
        Text("The run wants more hosts than the node has: {text}.", "运行要求的主机数多于节点所有：{text}。"),
        Text("Add hosts to the node's settings, or run on fewer.", "在节点设置中添加主机，或减少主机数。"),
    ),
    "host-silent": Explanation(
        Text("A host did not answer in time: {text}.", "有主机没有按时应答：{text}。"), _SAME_SETTINGS
    ),
    "host-failed": Explanation(
        Text("A host could not start its ranks: {text}.", "有主机无法启动 rank：{text}。"), SEE_LOG
    ),
}
