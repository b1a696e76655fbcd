"""The inputs of `gtp-chain`: times of one layer, or of each, and the dimensions from which a profile gives them."""

from fractions import Fraction
from math import lcm
from typing import Literal

from pydantic import model_validator

from app.core.i18n import Text
from app.core.inputs import InputProblem, Inputs, choice, rational, rationals, switch, whole
from app.timelines import common_inputs

MOST_DENOMINATOR_BITS = 4096
"""Exact times share one denominator; unrelated fractions by the hundred would make every addition slow."""

Pass = Literal["cold_start", "forward", "backward", "step"]


class GtpChainInputs(Inputs):
    """Times in ms."""

    layers: int = whole(
        4,
        title=Text("Layers L", "层数 L"),
        help=Text(
            "Weights in the chain. A list below decides it instead.",
            "链上的权重个数；填写了下面的列表时以列表长度为准。",
        ),
        maximum=512,
    )
    gemm: Fraction = rational(
        3,
        title=Text("Forward GEMM", "前向 GEMM"),
        help=Text("One layer's GEMM in forward.", "一层前向 GEMM 的时间。"),
        unit="ms",
    )
    backward: Fraction = rational(
        6,
        title=Text("Backward GEMMs", "反向 GEMM"),
        help=Text("dgrad plus wgrad of one layer, drawn as two halves.", "一层 dgrad 与 wgrad 之和，图中各占一半。"),
        unit="ms",
    )
    all_gather: Fraction = rational(
        2,
        title=Text("All-gather", "all-gather"),
        help=Text("Gathering one weight from its GTP_remat shards.", "从各 GTP_remat 分片收集一个权重的时间。"),
        unit="ms",
    )
    reduce_scatter: Fraction = rational(
        5,
        title=Text("Reduce-scatter", "reduce-scatter"),
        help=Text("Reducing one weight gradient to its shards.", "把一个权重梯度归约到各分片的时间。"),
        unit="ms",
    )
    pass_: Pass = choice(
        "forward",
        title=Text("Pass", "阶段"),
        help=Text(
            "Cold start is the first forward, before the chain is known.", "cold start 指第一次前向，此时链还没有建立。"
        ),
        choices={
            "cold_start": Text("cold start (first forward)", "冷启动（第一次前向）"),
            "forward": Text("forward", "前向"),
            "backward": Text("backward", "反向"),
            "step": Text("forward and backward", "前向 + 反向"),
        },
    )
    shared_queue: bool = switch(
        default=False,
        title=Text("One communication queue", "共用一个通信队列"),
        help=Text(
            "All-gathers and reduce-scatters wait for each other, in the order of their launch.",
            "all-gather 与 reduce-scatter 按发射顺序排在同一个队列里。",
        ),
    )
    contention: Fraction = common_inputs.contention()
    gemms: tuple[Fraction, ...] = rationals(
        title=Text("GEMM per layer", "逐层 GEMM"),
        help=Text("Unequal layers: forward GEMM times with commas.", "各层不等时：用逗号分隔的前向 GEMM 时间。"),
        unit="ms",
    )
    all_gathers: tuple[Fraction, ...] = rationals(
        title=Text("All-gather per layer", "逐层 all-gather"),
        help=Text("Unequal layers: all-gather times with commas.", "各层不等时：用逗号分隔的 all-gather 时间。"),
        unit="ms",
    )

    @model_validator(mode="after")
    def _lists_fit(self) -> "GtpChainInputs":
        for name, values in (("gemms", self.gemms), ("all_gathers", self.all_gathers)):
            if any(not 0 <= value <= 10**9 for value in values):
                raise InputProblem(name, Text("Times are between 0 and 1e9.", "时间须在 0 到 1e9 之间。"))
            if lcm(*(value.denominator for value in values)).bit_length() > MOST_DENOMINATOR_BITS:
                raise InputProblem(
                    name,
                    Text(
                        "These fractions have no common denominator of a usable size; write decimals.",
                        "这些分数的公分母过大，请改写成小数。",
                    ),
                )
        if self.gemms and self.all_gathers and len(self.gemms) != len(self.all_gathers):
            raise InputProblem(
                "all_gathers",
                Text(
                    f"The lists differ in length: {len(self.gemms)} GEMMs, {len(self.all_gathers)} all-gathers.",
                    f"两个列表长度不同：{len(self.gemms)} 个 GEMM，{len(self.all_gathers)} 个 all-gather。",
                ),
            )
        return self

    @property
    def runs_forward(self) -> bool:
        """Whether a forward pass is drawn."""
        return self.pass_ in {"cold_start", "forward", "step"}

    @property
    def runs_backward(self) -> bool:
        """Whether a backward pass is drawn."""
        return self.pass_ in {"backward", "step"}

    @property
    def knows_chain(self) -> bool:
        """Whether the order of the weights is known, so that gathers can be issued ahead."""
        return self.pass_ != "cold_start"  # noqa: S105 - a pass, not a password

    def chain(self) -> list[tuple[Fraction, Fraction]]:
        """(GEMM, all-gather) of each layer, first layer first."""
        length = len(self.gemms) or len(self.all_gathers) or self.layers
        gemms = self.gemms or (self.gemm,) * length
        gathers = self.all_gathers or (self.all_gather,) * length
        return list(zip(gemms, gathers, strict=True))


class GtpChainShape(Inputs):
    """One linear layer and how it is split."""

    hidden_size: int = whole(
        8192,
        title=Text("Input size", "输入维度"),
        help=Text("Columns of the weight.", "权重的列数。"),
        maximum=10**6,
    )
    output_size: int = whole(
        8192,
        title=Text("Output size", "输出维度"),
        help=Text("Rows of the weight, before any split.", "切分之前权重的行数。"),
        maximum=10**7,
    )
    sequence_length: int = common_inputs.sequence_length()
    micro_batch_size: int = common_inputs.micro_batch_size()
    tensor_parallel_size: int = whole(
        4,
        title=Text("TP size t", "TP 大小 t"),
        help=Text("Ranks that share the GEMM.", "共同计算一个 GEMM 的 rank 数。"),
        maximum=10**5,
    )
    gtp_remat_size: int = whole(
        8,
        title=Text("GTP_remat size", "GTP_remat 大小"),
        help=Text(
            "Ranks that share the storage of one TP slice, and gather it.", "共同存放一个 TP 分片并收集它的 rank 数。"
        ),
        maximum=10**5,
    )
    element_bytes: float = common_inputs.element_bytes()
    gemm_efficiency: float = common_inputs.gemm_efficiency()
