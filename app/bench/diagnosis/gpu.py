"""What can be wrong with GPUs, and what extras of a run could not do."""

from app.bench.diagnosis.model import Explanation
from app.core.i18n import Text

KINDS: dict[str, Explanation] = {
    "throttled": Explanation(
        Text("A GPU was slowed down by heat or power: {text}.", "GPU 因温度或供电而降频：{text}。"),
        Text(
            "Look at its cooling and power supply (`nvidia-smi -q -d PERFORMANCE`), then run again.",
            "检查散热和供电（`nvidia-smi -q -d PERFORMANCE`），然后重新运行。",
        ),
    ),
    "sharing-unsupported": Explanation(
        Text("Two ranks cannot share a GPU here: {text}.", "这里不能让两个 rank 共用一块 GPU：{text}。"),
        Text(
            "Start at most one rank per GPU, or install a newer PyTorch with its NCCL.",
            "每块 GPU 最多启动一个 rank，或安装带有更新 NCCL 的 PyTorch。",
        ),
    ),
    "extra-skipped": Explanation(
        Text("A part of the run had nothing to measure: {text}.", "运行的一部分没有可测的内容：{text}。"),
        Text(
            "Nothing to do, unless you wanted it: choose more ranks, or an operation and a type it can use.",
            "无需处理；若需要它，请增加 rank，或选择它支持的操作与类型。",
        ),
    ),
    "overlap-unbalanced": Explanation(
        Text("Compute and communication were not equally long: {text}.", "计算与通信的时长相差太大：{text}。"),
        Text(
            "The overlap of such a pair says little. Run again on a quiet machine.",
            "这种情况下的重叠比例意义不大。请在空闲的机器上重测。",
        ),
    ),
    "copies-cached": Explanation(
        Text("The copies may have run in the cache: {text}.", "内存拷贝可能落在缓存里：{text}。"),
        Text(
            "Give the run more memory, or fewer ranks, so that the blocks outgrow the cache.",
            "增加内存上限或减少 rank，使数据块大于缓存。",
        ),
    ),
    "links-left-out": Explanation(
        Text("Not every pair of ranks was measured: {text}.", "没有测完每一对 rank：{text}。"),
        Text(
            "Neighbours came first. A longer preset measures more pairs.",
            "相邻的 rank 先测。更长的预设能测更多对。",
        ),
    ),
}
