"""How to reach a machine over SSH: what any launcher that does so asks for, and what an address may look like.

No secret stands here. A key is named by its file or held by the agent; host keys are looked up in known_hosts. Names are checked
by what they may hold, because they end up in commands of the user's own SSH configuration.
"""

import getpass
import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from app.bench.launchers.model import Label, NodeSettings
from app.bench.setting_errors import SettingProblem
from app.core.i18n import Text

_USER = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}"
_TARGET = re.compile(
    rf"(?:(?P<user>{_USER})@)?(?:\[(?P<v6>[0-9A-Fa-f:.]{{2,45}}(?:%[A-Za-z0-9_.-]{{1,16}})?)\]|(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,252}}))"
    r"(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)
FILE = r"^(|[~/][^\x00-\x1f\x7f]{0,400})$"
"""A path from the root or from home; empty for none."""


@dataclass(frozen=True, slots=True)
class Target:
    """One SSH server. `user` is empty and `port` 0 where the address leaves them to the node or to the SSH configuration."""

    host: str
    user: str = ""
    port: int = 0

    def __str__(self) -> str:
        """As one writes it in `nodes.toml`."""
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{user}{host}" + (f":{self.port}" if self.port else "")


def parse_target(text: str) -> Target:
    """`user@host:port`, its user and its port optional, IPv6 in brackets. Raises SettingProblem."""
    match = _TARGET.fullmatch(text.strip())
    port = int(match["port"] or 0) if match else 0
    if match is None or port > 65535 or (match["port"] and not port):
        raise SettingProblem(
            Text(
                f"{text[:80]!r} is no address: write user@host, user@host:port or host, IPv6 in brackets.",
                f"{text[:80]!r} 不是地址：请写 user@host、user@host:port 或 host，IPv6 放在方括号里。",
            )
        )
    return Target(match["v6"] or match["host"], match["user"] or "", port)


def each_an_address(values: list[str]) -> list[str]:
    """The values, each an address. Raises SettingProblem for the first that is none."""
    for value in values:
        parse_target(value)
    return values


class SshAccess(NodeSettings):
    """What reaching a machine over SSH needs besides its address."""

    user: Annotated[
        str,
        Field(pattern=rf"^({_USER})?$"),
        Label(
            Text("User", "用户名"),
            Text(
                "Whom to log in as where an address names nobody; empty takes the SSH configuration's, else your own.",
                "地址里没写用户时以谁登录；留空则用 SSH 配置里的，再不然用本机用户名。",
            ),
        ),
    ] = ""
    port: Annotated[
        int,
        Field(ge=0, le=65535),
        Label(
            Text("Port", "端口"),
            Text(
                "Where an address names none; 0 takes the SSH configuration's, else 22.",
                "地址里没写端口时使用；0 表示用 SSH 配置里的，再不然用 22。",
            ),
        ),
    ] = 0
    key_file: Annotated[
        str,
        Field(pattern=FILE),
        Label(
            Text("Key file", "私钥文件"),
            Text(
                "The private key on this machine; only its path is kept. Empty: the SSH agent and the usual files in ~/.ssh.",
                "本机上的私钥；只保存路径。留空则用 SSH agent 和 ~/.ssh 里的常用密钥。",
            ),
        ),
    ] = ""
    known_hosts: Annotated[
        str,
        Field(pattern=FILE),
        Label(
            Text("Known hosts", "已知主机文件"),
            Text(
                "The file of host keys you trust; empty takes ~/.ssh/known_hosts. A host that is not in it is never connected to.",
                "记录可信主机密钥的文件；留空则用 ~/.ssh/known_hosts。不在其中的主机一律不连接。",
            ),
        ),
    ] = ""
    jump: Annotated[
        list[str],
        Field(max_length=5),
        AfterValidator(each_an_address),
        Label(
            Text("Jump hosts", "跳板机"),
            Text(
                "Hosts to pass through on the way, the first one first: user@bastion:port.",
                "途中经过的主机，按先后排列：user@bastion:port。",
            ),
        ),
    ] = []  # noqa: RUF012 - pydantic copies it
    config: Annotated[
        Literal["no-commands", "full", "ignore"],
        Label(
            Text("SSH configuration", "SSH 配置"),
            Text(
                "How ~/.ssh/config is used: without running commands it names (ProxyCommand, Match exec), in full, or not at all.",
                "如何使用 ~/.ssh/config：不执行其中的命令（ProxyCommand、Match exec）、完整使用，或完全忽略。",
            ),
        ),
    ] = "no-commands"

    def target(self, address: str) -> Target:
        """The server that `address` means, with this node's user and port where it names none."""
        found = parse_target(address)
        return Target(found.host, found.user or self.user, found.port or self.port)


def device(target: Target) -> str:
    """A host as a run occupies it: `user@host:port`, so that two ways of writing it are one device."""
    return str(Target(target.host.lower(), target.user or getpass.getuser(), target.port or 22))
