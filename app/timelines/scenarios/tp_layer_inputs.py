"""The inputs of `tp-layer`: times of one micro-batch, and the dimensions from which a profile gives them."""

from fractions import Fraction
from typing import Literal

from pydantic import model_validator

from app.core.i18n import Text
from app.core.inputs import InputProblem, Inputs, choice, rational, switch, whole
from app.timelines import common_inputs

Pass = Literal["forward", "backward", "both"]


class TpLayerInputs(Inputs):
    """Times in ms, of one micro-batch on one rank."""

    pass_: Pass = choice(
        "both",
        title=Text("Pass", "阶段"),
        help=Text("Which part of the step is drawn.", "画出 step 的哪一部分。"),
        choices={
            "forward": Text("forward", "前向"),
            "backward": Text("backward", "反向"),
            "both": Text("forward and backward", "前向 + 反向"),
        },
    )
    attention_gemm: Fraction = rational(
        4,
        title=Text("Attention, forward", "attention 前向"),
        help=Text(
            "QKV, attention and projection. Backward takes twice as long.",
            "QKV、attention 与输出投影；反向是它的两倍。",
        ),
        unit="ms",
    )
    mlp_gemm: Fraction = rational(
        6,
        title=Text("MLP, forward", "MLP 前向"),
        help=Text("FC1 and FC2. Backward takes twice as long.", "FC1 与 FC2；反向是它的两倍。"),
        unit="ms",
    )
    weight_grad: Fraction = rational(
        2,
        title=Text("Weight gradient that can hide", "可用于掩盖通信的 wgrad"),
        help=Text(
            "wgrad of the column-parallel linear (QKV, FC1), a part of backward; at most the forward time of its block.",
            "列并行线性层（QKV、FC1）的 wgrad，属于反向的一部分，不超过所在模块的前向时间。",
        ),
        unit="ms",
    )
    all_reduce: Fraction = rational(
        3,
        title=Text("All-reduce", "all-reduce"),
        help=Text("One all-reduce of b·s·h elements.", "一次 b·s·h 个元素的 all-reduce。"),
        unit="ms",
    )
    async_backward: bool = switch(
        default=True,
        title=Text("Asynchronous in backward", "反向异步通信"),
        help=Text(
            "Launch after the input gradient, wait after the weight gradient.", "dgrad 之后发射，wgrad 之后再等待。"
        ),
    )
    sequence_parallel: bool = switch(
        default=False,
        title=Text("Sequence parallelism", "序列并行"),
        help=Text(
            "All-gather and reduce-scatter in place of each all-reduce.",
            "用 all-gather 与 reduce-scatter 代替每次 all-reduce。",
        ),
    )
    contention: Fraction = common_inputs.contention()

    @model_validator(mode="after")
    def _weight_grad_is_a_part(self) -> "TpLayerInputs":
        most = min(self.attention_gemm, self.mlp_gemm)
        if self.runs_backward and self.weight_grad > most:
            limit = f"{float(most):g}"
            raise InputProblem(
                "weight_grad",
                Text(
                    f"A part of backward: at most the forward time of the shorter block, {limit} ms.",
                    f"它是反向的一部分，不能超过较短模块的前向时间 {limit} ms。",
                ),
            )
        return self

    @property
    def runs_forward(self) -> bool:
        """Whether forward is drawn."""
        return self.pass_ in {"forward", "both"}

    @property
    def runs_backward(self) -> bool:
        """Whether backward is drawn."""
        return self.pass_ in {"backward", "both"}


class TpLayerShape(Inputs):
    """A layer without gated MLP and with as many KV heads as query heads."""

    hidden_size: int = whole(
        8192,
        title=Text("Hidden size h", "隐藏维度 h"),
        help=Text("Width of the residual stream.", "残差流的宽度。"),
        maximum=10**6,
    )
    feed_forward_size: int = whole(
        32768, title=Text("MLP width", "MLP 中间维度"), help=Text("Usually 4h.", "通常是 4h。"), maximum=10**7
    )
    sequence_length: int = common_inputs.sequence_length()
    micro_batch_size: int = common_inputs.micro_batch_size()
    tensor_parallel_size: int = whole(
        8,
        title=Text("TP size t", "TP 大小 t"),
        help=Text("Ranks that share the layer.", "共同计算这一层的 rank 数。"),
        maximum=10**5,
    )
    element_bytes: float = common_inputs.element_bytes()
    gemm_efficiency: float = common_inputs.gemm_efficiency()
