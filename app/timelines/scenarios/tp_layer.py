"""One transformer layer under tensor parallelism: what its all-reduces cost, and what backward can hide.

Claim: forward exposes both all-reduces, for the next operation needs their result; backward launches each after
the input gradient and hides it behind the weight gradient of the same linear layer. With sequence parallelism every
all-reduce is an all-gather plus a reduce-scatter of half its time. Order as in Megatron-LM `layers.py`; Shoeybi et al.
2019 section 3, Korthikanti et al. 2022 section 4.2.2.
"""

from fractions import Fraction
from typing import Literal

from pydantic import model_validator

from app.core.i18n import Text
from app.core.inputs import InputProblem, Inputs, choice, rational, real, switch, whole
from app.hardware.model import Estimate, Profile
from app.timelines.model import ZERO, Operation, Schedule, Trace
from app.timelines.scenario import (
    EXPOSED,
    MAKESPAN,
    Comparison,
    Filling,
    Measure,
    Scenario,
    Value,
    estimate_gemm,
)

DEVICE = "GPU 0"
COMPUTE = "compute"
COMMUNICATION = "TP communication"

SHORT = {
    "attention": "attn",
    "attention bwd": "attn",
    "FC1 dgrad": "d",
    "QKV dgrad": "d",
    "FC1 wgrad": "w",
    "QKV wgrad": "w",
    "AG x": "AG",
    "AG dy": "AG",
    "RS y": "RS",
    "RS dx": "RS",
}

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
    contention: Fraction = rational(
        1,
        title=Text("Contention", "争用系数"),
        help=Text(
            "Compute beside communication takes this many times as long; 1 means it is not slowed.",
            "与通信同时进行的计算慢到多少倍；1 表示不受影响。",
        ),
        minimum=1,
        maximum=10,
    )

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


class _Builder:
    """Everything runs in the order of launch; `last` is what the next operation needs."""

    def __init__(self, inputs: TpLayerInputs) -> None:
        self.inputs = inputs
        self.operations: list[Operation] = []
        self.last: list[str] = []

    def compute(self, name: str, duration: Fraction, label: str, detail: Text) -> str:
        """A block on the compute stream after all of `last`."""
        return self._add(name, COMPUTE, duration, label, detail)

    def communicate(self, name: str, duration: Fraction, label: str, detail: Text) -> str:
        """A collective after all of `last`."""
        return self._add(name, COMMUNICATION, duration, label, detail)

    def _add(self, name: str, stream: str, duration: Fraction, label: str, detail: Text) -> str:
        self.operations.append(
            Operation(
                id=name,
                device=DEVICE,
                stream=stream,
                kind="compute" if stream == COMPUTE else "communication",
                duration=duration,
                label=label,
                short=SHORT.get(label, label.removeprefix("AR ")),
                detail=detail,
                after=tuple((before, ZERO) for before in self.last),
            )
        )
        return name

    def forward(self) -> None:
        """Attention, then the MLP; each ends in a collective that the next needs."""
        half = self.inputs.all_reduce / 2
        for place, (block, name) in enumerate((("attention", "attention"), ("mlp", "MLP"))):
            duration = self.inputs.attention_gemm if block == "attention" else self.inputs.mlp_gemm
            if self.inputs.sequence_parallel:
                gather = self.communicate(
                    f"f-ag-{block}",
                    half,
                    "AG x",
                    Text(f"All-gather of the {name}'s input along the sequence.", f"沿序列维收集 {name} 的输入。"),
                )
                self.last = [gather]
            main = self.compute(
                f"f-{block}",
                duration,
                name,
                Text(f"Forward of the {name} block on this rank's slice.", f"{name} 模块在本 rank 切片上的前向。"),
            )
            self.last = [main]
            if self.inputs.sequence_parallel:
                end = self.communicate(
                    f"f-rs-{block}",
                    half,
                    "RS y",
                    Text(
                        f"Reduce-scatter of the {name}'s output along the sequence.",
                        f"沿序列维 reduce-scatter {name} 的输出。",
                    ),
                )
            else:
                end = self.communicate(
                    f"f-ar-{block}",
                    self.inputs.all_reduce,
                    f"AR {place + 1}",
                    Text(
                        f"Forward all-reduce: sums the {name}'s partial outputs (g).",
                        f"前向 all-reduce(g)：把 {name} 的部分和相加。",
                    ),
                )
            self.last = [end]

    def backward(self) -> None:
        """MLP first. Its input gradient is summed beside the weight gradient of the column-parallel linear."""
        for place, (block, name, linear) in enumerate((("mlp", "MLP", "FC1"), ("attention", "attention", "QKV"))):
            forward = self.inputs.attention_gemm if block == "attention" else self.inputs.mlp_gemm
            if self.inputs.sequence_parallel:
                self._backward_sequence_parallel(block, name, linear, 2 * forward)
            else:
                self._backward_plain(block, name, linear, 2 * forward, f"AR {place + 3}")

    def _backward_plain(self, block: str, name: str, linear: str, total: Fraction, label: str) -> None:
        hides = self.inputs.weight_grad
        dgrad = self.compute(
            f"b-{block}",
            total - hides,
            f"{name} bwd",
            Text(
                f"Backward of the {name} block up to the input gradient of {linear}.",
                f"{name} 模块的反向，直到 {linear} 的 dgrad。",
            ),
        )
        reduce = Text(
            f"Backward all-reduce: sums the input gradients of {linear} (f).",
            f"反向 all-reduce(f)：把 {linear} 的输入梯度相加。",
        )
        weight = Text(
            f"Weight gradient of {linear}: nothing that follows in this layer needs it.",
            f"{linear} 的权重梯度，本层之后的计算不依赖它。",
        )
        self.last = [dgrad]
        if self.inputs.async_backward:
            summed = self.communicate(f"b-ar-{block}", self.inputs.all_reduce, label, reduce)
            wgrad = self.compute(f"b-wgrad-{block}", hides, f"{linear} wgrad", weight)
            self.last = [summed, wgrad]
        else:
            self.last = [self.compute(f"b-wgrad-{block}", hides, f"{linear} wgrad", weight)]
            self.last = [self.communicate(f"b-ar-{block}", self.inputs.all_reduce, label, reduce)]

    def _backward_sequence_parallel(self, block: str, name: str, linear: str, total: Fraction) -> None:
        """The output gradient is gathered first; then the saved input is gathered beside dgrad, dX scattered beside wgrad."""
        half = self.inputs.all_reduce / 2
        hides = self.inputs.weight_grad
        asynchronous = self.inputs.async_backward

        def communicate(kind: str, label: str, detail: Text) -> str:
            return self.communicate(f"b-{kind}-{block}", half, label, detail)

        self.last = [
            communicate(
                "ag-dy",
                "AG dy",
                Text(
                    f"All-gather of the gradient of the {name}'s output: needed at once.",
                    f"收集 {name} 输出的梯度，立刻就要用。",
                ),
            )
        ]
        self.last = [
            self.compute(
                f"b-{block}",
                total - 2 * hides,
                f"{name} bwd",
                Text(f"Backward of the {name} block before {linear}.", f"{name} 模块反向中 {linear} 之前的部分。"),
            )
        ]
        gathered = communicate(
            "ag-x",
            "AG x",
            Text(
                f"All-gather of the saved input of {linear}: its weight gradient needs it.",
                f"重新收集 {linear} 保存的输入，wgrad 要用。",
            ),
        )
        if not asynchronous:
            self.last = [gathered]
        dgrad = self.compute(
            f"b-dgrad-{block}", hides, f"{linear} dgrad", Text(f"Input gradient of {linear}.", f"{linear} 的输入梯度。")
        )
        self.last = [dgrad, gathered]
        scatter = Text(f"Reduce-scatter of the input gradient of {linear}.", f"{linear} 输入梯度的 reduce-scatter。")
        weight = Text(f"Weight gradient of {linear}.", f"{linear} 的权重梯度。")
        if asynchronous:
            scattered = communicate("rs-dx", "RS dx", scatter)
            wgrad = self.compute(f"b-wgrad-{block}", hides, f"{linear} wgrad", weight)
            self.last = [scattered, wgrad]
        else:
            self.last = [self.compute(f"b-wgrad-{block}", hides, f"{linear} wgrad", weight)]
            self.last = [communicate("rs-dx", "RS dx", scatter)]


def build(inputs: TpLayerInputs) -> Schedule:
    """The schedule of one layer and one micro-batch."""
    builder = _Builder(inputs)
    if inputs.runs_forward:
        builder.forward()
    if inputs.runs_backward:
        builder.backward()
    return Schedule(operations=tuple(builder.operations), contention=inputs.contention)


def summarise(_inputs: TpLayerInputs, trace: Trace) -> dict[str, Value]:
    """Times and the number of each collective."""
    collectives = [span for span in trace.spans if span.operation.kind == "communication"]
    names = [span.operation.id for span in collectives]
    idle = [gap for gap in trace.gaps if gap.stream == COMPUTE]
    return {
        "makespan": trace.makespan,
        "exposed": trace.exposed,
        "all_reduces": sum("-ar-" in name for name in names),
        "all_gathers": sum("-ag-" in name for name in names),
        "reduce_scatters": sum("-rs-" in name for name in names),
        "hidden_collectives": sum(
            not any(gap.start < span.end and span.start < gap.end for gap in idle) for span in collectives
        ),
    }


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
    sequence_length: int = whole(
        4096,
        title=Text("Sequence length s", "序列长度 s"),
        help=Text("Tokens of one sample.", "一个样本的 token 数。"),
        maximum=10**7,
    )
    micro_batch_size: int = whole(
        1,
        title=Text("Micro-batch size b", "micro-batch 大小 b"),
        help=Text("Samples of one rank.", "每个 rank 的样本数。"),
        maximum=10**6,
    )
    tensor_parallel_size: int = whole(
        8,
        title=Text("TP size t", "TP 大小 t"),
        help=Text("Ranks that share the layer.", "共同计算这一层的 rank 数。"),
        maximum=10**5,
    )
    element_bytes: float = real(
        2,
        title=Text("Bytes per element", "每元素字节数"),
        help=Text("bf16: 2, fp32: 4.", "bf16 为 2，fp32 为 4。"),
        unit="bytes",
        minimum=0.25,
        maximum=8,
    )
    gemm_efficiency: float = real(
        1,
        title=Text("GEMM efficiency", "GEMM 效率"),
        help=Text(
            "Share of the datasheet peak that GEMMs reach; measured rates are not scaled.",
            "GEMM 达到规格书峰值的比例；实测速率不再折算。",
        ),
        minimum=0.01,
        maximum=1,
    )


def durations(shape: TpLayerShape, _inputs: TpLayerInputs, profile: Profile) -> dict[str, Estimate]:
    """Forward FLOPs per rank: attention 8·b·s·h² + 4·b·s²·h, MLP 4·b·s·h·f, all over t.

    The hidden weight gradient is the smaller of the QKV one (6·b·s·h²) and the FC1 one (2·b·s·h·f), over t.
    """
    h, f, s, t = shape.hidden_size, shape.feed_forward_size, shape.sequence_length, shape.tensor_parallel_size
    tokens = float(shape.micro_batch_size * s)
    attention = (8 * tokens * h * h + 4 * tokens * s * h) / t
    mlp = 4 * tokens * h * f / t
    weight_grad = min(6 * tokens * h * h, 2 * tokens * h * f) / t
    message = tokens * h * shape.element_bytes
    found: dict[str, Estimate] = {"all_reduce": profile.collective("all_reduce", message, t)}
    for name, flops in (("attention_gemm", attention), ("mlp_gemm", mlp), ("weight_grad", weight_grad)):
        estimate = estimate_gemm(flops, profile, efficiency=shape.gemm_efficiency)
        if estimate is not None:
            found[name] = estimate
    return found


SCENARIO = Scenario(
    slug="tp-layer",
    title=Text("Tensor parallelism: the all-reduces of one layer", "张量并行：一层里的 all-reduce"),
    claim=Text(
        "Four all-reduces a layer: the two of forward are exposed, the two of backward hide behind weight gradients.",
        "每层四次 all-reduce：前向两次全部暴露，反向两次藏在 wgrad 后面。",
    ),
    rules=(
        Text(
            "Forward: attention, all-reduce, MLP, all-reduce; each waits for the one before.",
            "前向：attention、all-reduce、MLP、all-reduce，逐个等待。",
        ),
        Text(
            "Backward: the all-reduce of the input gradient is launched after dgrad and waited for after wgrad.",
            "反向：输入梯度的 all-reduce 在 dgrad 之后发射，在 wgrad 之后等待。",
        ),
        Text(
            "Backward costs twice forward; the weight gradient that can hide is a part of it.",
            "反向计算量是前向的两倍，其中一部分 wgrad 可用来掩盖通信。",
        ),
        Text(
            "Sequence parallelism: all-gather plus reduce-scatter, each half an all-reduce; backward gathers the saved input once more.",
            "序列并行：all-gather 加 reduce-scatter，各占 all-reduce 的一半；反向还要再收集一次保存的输入。",
        ),
    ),
    inputs=TpLayerInputs,
    build=build,
    summarise=summarise,
    measures=(
        MAKESPAN,
        EXPOSED,
        Measure(
            "all_reduces",
            Text("all-reduces", "all-reduce"),
            Text("All-reduces of the pass.", "这一阶段的 all-reduce 次数。"),
            hide_zero=True,
        ),
        Measure(
            "all_gathers",
            Text("all-gathers", "all-gather"),
            Text("All-gathers of the pass.", "这一阶段的 all-gather 次数。"),
            hide_zero=True,
        ),
        Measure(
            "reduce_scatters",
            Text("reduce-scatters", "reduce-scatter"),
            Text("Reduce-scatters of the pass.", "这一阶段的 reduce-scatter 次数。"),
            hide_zero=True,
        ),
        Measure(
            "hidden_collectives",
            Text("hidden", "被掩盖"),
            Text("Collectives during which compute was never idle.", "全程都有计算同时进行的通信次数。"),
        ),
    ),
    comparisons=(
        Comparison(Text("Backward without overlap", "反向不重叠"), {"async_backward": "false"}),
        Comparison(Text("Sequence parallelism", "序列并行"), {"sequence_parallel": "true"}),
        Comparison(Text("Compute slowed by 20 % beside communication", "通信期间计算慢 20%"), {"contention": "1.2"}),
    ),
    filling=Filling(
        shape=TpLayerShape,
        durations=durations,
        fills=("attention_gemm", "mlp_gemm", "weight_grad", "all_reduce"),
        ranks="tensor_parallel_size",
        small={
            "hidden_size": "1024",
            "feed_forward_size": "4096",
            "sequence_length": "256",
            "element_bytes": "4",
        },
    ),
)
