"""What can go wrong with a job of a Slurm cluster."""

from app.bench.diagnosis.model import SEE_LOG, Explanation
from app.core.i18n import Text

_KEPT = Text("Rows so far are kept. Run again.", "已测得的行都保留。请重新运行。")

KINDS: dict[str, Explanation] = {
    "slurm-missing": Explanation(
        Text("Slurm's commands were not found ({text}).", "找不到 Slurm 的命令（{text}）。"),
        Text(
            "Name the folder they are in as `bin_folder` of the node, or a login node that has them as `via`.",
            "在节点设置里用 `bin_folder` 写明它们所在的目录，或用 `via` 指定装有它们的登录节点。",
        ),
    ),
    "slurm-rejected": Explanation(
        Text("Slurm did not take the job: {text}", "Slurm 没有接受作业：{text}"),
        Text(
            "Change what the node asks for (partition, account, time, memory); `sinfo` shows what there is.",
            "修改节点申请的内容（分区、账户、时间、内存）；用 `sinfo` 查看可用资源。",
        ),
    ),
    "slurm-timeout": Explanation(
        Text("Slurm ended job {text} at its time limit.", "Slurm 在时间上限结束了作业 {text}。"),
        Text(
            "Rows so far are kept. Raise `time_limit_minutes` of the node, or choose a shorter preset.",
            "已测得的行都保留。请调高节点的 `time_limit_minutes`，或选更短的预设。",
        ),
    ),
    "slurm-cancelled": Explanation(
        Text("Job {text} was cancelled from outside.", "作业 {text} 被外部取消。"),
        Text(
            "Somebody ran scancel, or an administrator's rule did. Rows so far are kept.",
            "有人执行了 scancel，或管理员的规则取消了它。已测得的行都保留。",
        ),
    ),
    "slurm-preempted": Explanation(
        Text("Job {text} had to give way to another.", "作业 {text} 被更高优先级的作业抢占。"),
        Text(
            "Rows so far are kept. Choose a partition or QOS that is not preempted.",
            "已测得的行都保留。请选不会被抢占的分区或 QOS。",
        ),
    ),
    "slurm-node-failed": Explanation(
        Text("A node of job {text} failed.", "作业 {text} 的一个节点出了故障。"),
        Text(
            "Rows so far are kept. Run again; `sinfo -R` says why a node is down.",
            "已测得的行都保留。请重新运行；用 `sinfo -R` 查看节点下线的原因。",
        ),
    ),
    "slurm-memory": Explanation(
        Text("Job {text} used more memory than it had asked for.", "作业 {text} 用的内存超过了申请量。"),
        Text(
            "Rows so far are kept. Raise `memory` of the node, or use fewer ranks or smaller sizes.",
            "已测得的行都保留。请调高节点的 `memory`，或减少 rank、减小消息。",
        ),
    ),
    "slurm-failed": Explanation(
        Text("Job {text} ended before any rank had started.", "作业 {text} 在任何 rank 启动之前就结束了。"), SEE_LOG
    ),
    "slurm-no-output": Explanation(
        Text("Job {text} ended and left no output.", "作业 {text} 结束了，却没有留下任何输出。"),
        Text(
            "The folder must be the same on login and compute nodes: set `folder` of the node to a shared file system.",
            "登录节点和计算节点看到的必须是同一个目录：请把节点的 `folder` 设到共享文件系统上。",
        ),
    ),
    "slurm-no-folder": Explanation(
        Text("The shared folder cannot be written to: {text}", "无法写入共享目录：{text}"),
        Text(
            "Set `folder` of the node to one that you may write to and that the compute nodes share.",
            "请把节点的 `folder` 设为你可写、且计算节点也能访问的目录。",
        ),
    ),
    "slurm-silent": Explanation(
        Text("Slurm does not answer: {text}", "Slurm 没有应答：{text}"),
        Text(
            "Look with `squeue` and `scontrol ping`. If the job is still there, take it back with scancel.",
            "用 `squeue` 和 `scontrol ping` 查看。若作业还在，请用 scancel 取消。",
        ),
    ),
    "slurm-lost": Explanation(Text("Slurm no longer knows job {text}.", "Slurm 已不认识作业 {text}。"), _KEPT),
    "slurm-not-cancelled": Explanation(
        Text("The job could not be taken back: {text}", "无法取消作业：{text}"),
        Text(
            "Type the command yourself once Slurm answers. Until then the job may still run, at most to its time limit.",
            "等 Slurm 恢复应答后请手动执行该命令。在此之前作业可能仍在运行，最长到其时间上限。",
        ),
    ),
    "slurm-busy": Explanation(
        Text(
            "No node became free within {text}, so none could be asked what it offers.",
            "{text} 内没有空闲节点，因此无法查询节点情况。",
        ),
        Text(
            "Runs can be started all the same: they wait in Slurm's queue. Test again when a node is free.",
            "仍可发起运行，它会在 Slurm 队列中等待。有空闲节点时请再测试一次。",
        ),
    ),
}
