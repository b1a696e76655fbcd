"""What a section of `nodes.toml` says of a Slurm cluster: where sbatch is, and what to ask of it.

Every value is checked by what it may hold: they end up as options of sbatch and in the script of a job.
"""

import re
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from app.bench.launchers.model import Label
from app.bench.launchers.ssh_access import SshAccess, parse_target
from app.bench.setting_errors import SettingProblem
from app.core.i18n import Text

EXTRAS = (
    "begin",
    "contiguous",
    "core-spec",
    "cpu-freq",
    "exclude",
    "exclusive",
    "gpu-freq",
    "gres",
    "hint",
    "licenses",
    "mem-per-cpu",
    "mem-per-gpu",
    "network",
    "nice",
    "reservation",
    "sockets-per-node",
    "switches",
    "threads-per-core",
    "tmp",
    "wckey",
)
"""Options of sbatch a node may add as they are: they say where and when, never what is run or where its output goes."""
_NAME = r"^([A-Za-z0-9_][A-Za-z0-9_.,+-]{0,120})?$"
_FOLDER = r"^(~(/[A-Za-z0-9_.+@-]+)*|(/[A-Za-z0-9_.+@-]+)+)/?$"
_EXTRA_VALUE = re.compile(r"[A-Za-z0-9_.,:=+@/\[\]-]{1,120}")


def _address(value: str) -> str:
    if value:
        parse_target(value)
    return value


def _extra(values: list[str]) -> list[str]:
    for value in values:
        name, is_given, rest = value.removeprefix("--").partition("=")
        if not value.startswith("--") or name not in EXTRAS or (is_given and not _EXTRA_VALUE.fullmatch(rest)):
            choices = ", ".join(f"--{each}" for each in EXTRAS)
            raise SettingProblem(
                Text(
                    f"{value[:60]!r} is not allowed. Write --name or --name=value, with one of {choices}.",
                    f"不允许 {value[:60]!r}。请写 --name 或 --name=value，可用的有 {choices}。",
                )
            )
    return values


def _no_parent(path: str) -> str:
    if ".." in PurePosixPath(path).parts:
        raise SettingProblem(Text("A path must not go through `..`.", "路径里不能有 `..`。"))
    return path


class SlurmSettings(SshAccess):
    """What to ask of Slurm, where its commands are, and how to get there."""

    via: Annotated[
        str,
        AfterValidator(_address),
        Label(
            Text("Login node", "登录节点"),
            Text(
                "user@host:port of the machine that has sbatch, over SSH; empty when it is this one.",
                "装有 sbatch 的机器，写作 user@host:port，经 SSH 访问；就是本机时留空。",
            ),
        ),
    ] = ""
    bin_folder: Annotated[
        str,
        Field(pattern=r"^(/[A-Za-z0-9_.+@-]+)*/?$", max_length=300),
        Label(
            Text("Folder of Slurm's programs", "Slurm 程序所在目录"),
            Text(
                "Where sbatch and srun are, e.g. /opt/slurm/bin, when the search path does not have them.",
                "sbatch、srun 所在目录，如 /opt/slurm/bin；搜索路径里已有时留空。",
            ),
        ),
    ] = ""
    partition: Annotated[
        str,
        Field(pattern=_NAME),
        Label(Text("Partition", "分区"), Text("Empty takes Slurm's default.", "留空则用 Slurm 的默认分区。")),
    ] = ""
    account: Annotated[
        str,
        Field(pattern=_NAME),
        Label(Text("Account", "账户"), Text("Who is charged for the job.", "作业记到哪个账户。")),
    ] = ""
    qos: Annotated[
        str,
        Field(pattern=_NAME),
        Label(Text("Quality of service", "服务等级"), Text("Slurm's QOS of the job.", "作业的 QOS。")),
    ] = ""
    constraint: Annotated[
        str,
        Field(pattern=r"^([A-Za-z0-9_(\[][A-Za-z0-9_.,:&|*()\[\]!-]{0,120})?$"),
        Label(
            Text("Constraint", "节点特征"),
            Text("Features the nodes must have, e.g. h100&ib.", "节点须具备的特征，如 h100&ib。"),
        ),
    ] = ""
    nodelist: Annotated[
        str,
        Field(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.,\[\]-]{0,300})?$"),
        Label(
            Text("Node list", "节点列表"),
            Text("Only these nodes, e.g. gpu[1-2].", "只用这些节点，如 gpu[1-2]。"),
        ),
    ] = ""
    gpus_per_node: Annotated[
        int,
        Field(ge=0, le=64),
        Label(
            Text("GPUs per node", "每节点 GPU 数"),
            Text("Asked for as --gres=gpu:N; 0 asks for none.", "以 --gres=gpu:N 申请；0 表示不申请。"),
        ),
    ] = 0
    cpus_per_task: Annotated[
        int,
        Field(ge=0, le=1024),
        Label(
            Text("CPUs per node", "每节点 CPU 数"),
            Text("0 asks for one per rank.", "0 表示每个 rank 一个。"),
        ),
    ] = 0
    memory: Annotated[
        str,
        Field(pattern=r"^([1-9][0-9]{0,9}[KMGT]?)?$"),
        Label(
            Text("Memory per node", "每节点内存"),
            Text("E.g. 16G; empty takes Slurm's default.", "如 16G；留空则用 Slurm 的默认值。"),
        ),
    ] = ""
    time_limit_minutes: Annotated[
        int,
        Field(ge=1, le=24 * 60),
        Label(
            Text("Time limit", "时间上限"),
            Text("Minutes after which Slurm ends the job.", "超过这么多分钟后由 Slurm 结束作业。"),
        ),
    ] = 15
    python: Annotated[
        str,
        Field(pattern=r"^(~/|/|[A-Za-z0-9_])[A-Za-z0-9_./+@-]{0,200}$"),
        Label(
            Text("Python", "Python"),
            Text("The interpreter on the compute nodes that has PyTorch.", "计算节点上装有 PyTorch 的 Python 解释器。"),
        ),
    ] = "python3"
    folder: Annotated[
        str,
        Field(pattern=_FOLDER, max_length=300),
        AfterValidator(_no_parent),
        Label(
            Text("Shared folder", "共享目录"),
            Text(
                "A folder that the login node and the compute nodes share.",
                "登录节点和计算节点都能访问的目录。",
            ),
        ),
    ] = "~/.cache/ringside"
    extra: Annotated[
        list[str],
        Field(max_length=20),
        AfterValidator(_extra),
        Label(
            Text("More options", "更多选项"),
            Text(
                "Options of sbatch as they are, e.g. --reservation=lab; only those that choose where and when.",
                "原样传给 sbatch 的选项，如 --reservation=lab；只允许选择地点和时间的那些。",
            ),
        ),
    ] = []  # noqa: RUF012 - pydantic copies it

    def program(self, name: str) -> str:
        """How to call one of Slurm's programs."""
        return f"{self.bin_folder.rstrip('/')}/{name}" if self.bin_folder else name
