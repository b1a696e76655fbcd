"""A chain of GTP_remat layers: each weight is gathered just in time, one layer ahead of its GEMM.

Claim: once the links of the chain are known, only the first gather of each direction is synchronous, and the
others hide while a gather takes no longer than the GEMMs before its own. Order as in Transformer Engine's
`generalized_tensor_parallelism.py`: obtain W_i, issue the neighbour's all-gather, then the GEMM. In backward the
reduce-scatter of layer i is finalised one layer later; only the head's is waited for at once.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from pydantic import model_validator

from app.core.i18n import Text
from app.core.inputs import InputProblem, Inputs, choice, rational, rationals, real, switch, whole
from app.hardware.model import Estimate, Profile
from app.timelines.model import ZERO, Allocation, Operation, Schedule, Trace
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
GATHER = "all-gather"
SCATTER = "reduce-scatter"
SHARED = "communication"

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


class _Builder:
    """Writes the operations down in the order in which a rank launches them."""

    def __init__(self, inputs: GtpChainInputs) -> None:
        self.inputs = inputs
        self.chain = inputs.chain()
        self.operations: list[Operation] = []
        self.allocations: list[Allocation] = []

    def _add(
        self, name: str, stream: str, *, duration: Fraction, label: str, short: str, detail: Text, after: Sequence[str]
    ) -> str:
        self.operations.append(
            Operation(
                id=name,
                device=DEVICE,
                stream=stream,
                kind="compute" if stream == COMPUTE else "communication",
                duration=duration,
                label=label,
                short=short,
                detail=detail,
                after=tuple((before, ZERO) for before in dict.fromkeys(after)),
            )
        )
        return name

    def gather(self, direction: str, layer: int, after: list[str], *, ahead: bool) -> str:
        """The all-gather of W_layer, held until its GEMM (or dgrad) ends."""
        how = (
            Text("issued ahead, beside the GEMMs of the layer before", "提前发射，与前一层的 GEMM 重叠")
            if ahead
            else Text("synchronous: nothing else can run", "同步等待，期间没有别的可算")
        )
        name = self._add(
            f"{direction}-ag-{layer}",
            SHARED if self.inputs.shared_queue else GATHER,
            duration=self.chain[layer - 1][1],
            label=f"AG W{layer}",
            short=f"W{layer}",
            detail=Text(f"All-gather of weight {layer}, {how.en}.", f"收集第 {layer} 个权重的 all-gather，{how.zh}。"),
            after=after,
        )
        user = f"f-gemm-{layer}" if direction == "f" else f"b-dgrad-{layer}"
        self.allocations.append(Allocation(device=DEVICE, size=Fraction(1), first=name, last=user))
        return name

    def forward(self, *, prefetch: bool) -> None:
        """Wait for W_i, issue the gather of W_(i+1), GEMM_i."""
        gathered: dict[int, str] = {1: self.gather("f", 1, [], ahead=False)}
        for layer, (duration, _) in enumerate(self.chain, start=1):
            before = [f"f-gemm-{layer - 1}"] if layer > 1 else []
            if layer not in gathered:
                gathered[layer] = self.gather("f", layer, before, ahead=False)
            if prefetch and layer < len(self.chain):
                gathered[layer + 1] = self.gather("f", layer + 1, [gathered[layer], *before], ahead=True)
            self._add(
                f"f-gemm-{layer}",
                COMPUTE,
                duration=duration,
                label=f"GEMM {layer}",
                short=f"{layer}",
                detail=Text(
                    f"Forward GEMM of layer {layer}; then its gathered weight is freed.",
                    f"第 {layer} 层前向 GEMM，算完即释放收集来的权重。",
                ),
                after=[gathered[layer]],
            )

    def backward(self, after: list[str]) -> None:
        """Wait for W_i, issue the gather of W_(i-1), dgrad, wgrad, issue RS_i, finalise RS_(i+1)."""
        length = len(self.chain)
        stream = SHARED if self.inputs.shared_queue else SCATTER
        half = self.inputs.backward / 2
        gathered = {length: self.gather("b", length, after, ahead=False)}
        before = after
        for layer in range(length, 0, -1):
            if layer > 1:
                gathered[layer - 1] = self.gather("b", layer - 1, [gathered[layer], *before], ahead=True)
            dgrad = self._add(
                f"b-dgrad-{layer}",
                COMPUTE,
                duration=half,
                label=f"dgrad {layer}",
                short=f"d{layer}",
                detail=Text(
                    f"Gradient of the input of layer {layer}: needs the gathered weight.",
                    f"第 {layer} 层输入的梯度，需要完整权重。",
                ),
                after=[gathered[layer], *before],
            )
            wgrad = self._add(
                f"b-wgrad-{layer}",
                COMPUTE,
                duration=self.inputs.backward - half,
                label=f"wgrad {layer}",
                short=f"w{layer}",
                detail=Text(
                    f"Gradient of weight {layer}, then its reduce-scatter is launched.",
                    f"第 {layer} 个权重的梯度，算完发射它的 reduce-scatter。",
                ),
                after=[dgrad],
            )
            head = layer == 1
            how = (
                Text("synchronous, as the head of the chain has no later layer", "同步等待：链头之后没有别的层可算")
                if head
                else Text("added into main_grad one layer later", "晚一层再累加进 main_grad")
            )
            self._add(
                f"b-rs-{layer}",
                stream,
                duration=self.inputs.reduce_scatter,
                label=f"RS dW{layer}",
                short=f"dW{layer}",
                detail=Text(
                    f"Reduce-scatter of the gradient of weight {layer}, {how.en}.",
                    f"第 {layer} 个权重梯度的 reduce-scatter，{how.zh}。",
                ),
                after=[wgrad],
            )
            before = [wgrad] + ([f"b-rs-{layer + 1}"] if layer < length else [])


def build(inputs: GtpChainInputs) -> Schedule:
    """The schedule of one pass. A step is the steady forward, then the backward."""
    builder = _Builder(inputs)
    if inputs.runs_forward:
        builder.forward(prefetch=inputs.knows_chain)
    if inputs.runs_backward:
        builder.backward([f"f-gemm-{len(builder.chain)}"] if inputs.runs_forward else [])
    return Schedule(
        operations=tuple(builder.operations),
        allocations=tuple(builder.allocations),
        contention=inputs.contention,
    )


def summarise(inputs: GtpChainInputs, trace: Trace) -> dict[str, Value]:
    """A gather is hidden when it was issued ahead and compute never waited for it."""
    gathers = [span.operation.id for span in trace.spans if "-ag-" in span.operation.id]
    length = len(inputs.chain())
    heads = {"f-ag-1", f"b-ag-{length}"}
    synchronous = [name for name in gathers if name in heads or not inputs.knows_chain]
    waited = {gap.waits_for for gap in trace.gaps if gap.stream == COMPUTE}
    return {
        "makespan": trace.makespan,
        "exposed": trace.exposed,
        "hidden_gathers": sum(name not in waited and name not in synchronous for name in gathers),
        "synchronous_gathers": len(synchronous),
        "peak_live": trace.peak_live.get(DEVICE, ZERO),
        "gathers": len(gathers),
    }


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
    sequence_length: int = whole(
        4096,
        title=Text("Sequence length s", "序列长度 s"),
        help=Text("Tokens of one sample.", "一个样本的 token 数。"),
        maximum=10**8,
    )
    micro_batch_size: int = whole(
        1,
        title=Text("Micro-batch size b", "micro-batch 大小 b"),
        help=Text("Samples of one rank.", "每个 rank 的样本数。"),
        maximum=10**6,
    )
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
    element_bytes: float = real(
        2,
        title=Text("Bytes per element", "每元素字节数"),
        help=Text("bf16: 2, fp32: 4. Weights and gradients alike.", "bf16 为 2，fp32 为 4；权重与梯度相同。"),
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


def durations(shape: GtpChainShape, _inputs: GtpChainInputs, profile: Profile) -> dict[str, Estimate]:
    """Per rank: 2·b·s·in·out/t FLOPs forward, twice that backward; a TP slice of the weight in each collective."""
    tokens = shape.micro_batch_size * shape.sequence_length
    flops = 2.0 * tokens * shape.hidden_size * shape.output_size / shape.tensor_parallel_size
    slice_bytes = shape.hidden_size * shape.output_size * shape.element_bytes / shape.tensor_parallel_size
    ranks = shape.gtp_remat_size
    found: dict[str, Estimate] = {
        "all_gather": profile.collective("all_gather", slice_bytes, ranks),
        "reduce_scatter": profile.collective("reduce_scatter", slice_bytes, ranks),
    }
    for name, factor in (("gemm", 1), ("backward", 2)):
        estimate = estimate_gemm(factor * flops, profile, efficiency=shape.gemm_efficiency)
        if estimate is not None:
            found[name] = estimate
    return found


SCENARIO = Scenario(
    slug="gtp-chain",
    title=Text("GTP_remat: gathering weights one layer ahead", "GTP_remat：提前一层收集权重"),
    claim=Text(
        "Only the first all-gather of each direction is synchronous; the others hide behind the GEMMs of the layer before.",
        "每个方向只有第一个 all-gather 是同步的，其余都藏在前一层的 GEMM 后面。",
    ),
    rules=(
        Text(
            "Forward: wait for W_i, issue the all-gather of W_(i+1), run GEMM i.",
            "前向：等 W_i，发射 W_(i+1) 的 all-gather，再算 GEMM i。",
        ),
        Text(
            "Backward: wait for W_i, issue the all-gather of W_(i-1), dgrad, wgrad, issue the reduce-scatter of dW_i, then finish that of dW_(i+1).",
            "反向：等 W_i，发射 W_(i-1) 的 all-gather，dgrad、wgrad，发射 dW_i 的 reduce-scatter，再收尾 dW_(i+1) 的。",
        ),
        Text(
            "A step keeps two synchronous all-gathers (forward head, backward tail) and one synchronous reduce-scatter (the head's).",
            "每个 step 仍有两次同步 all-gather（前向链头、反向链尾）和一次同步 reduce-scatter（链头）。",
        ),
        Text(
            "The very first forward does not know the chain yet: every all-gather is synchronous.",
            "第一次前向还不知道链的顺序，所有 all-gather 都是同步的。",
        ),
    ),
    inputs=GtpChainInputs,
    build=build,
    summarise=summarise,
    measures=(
        MAKESPAN,
        EXPOSED,
        Measure(
            "hidden_gathers",
            Text("gathers hidden", "隐藏的 all-gather"),
            Text("Gathers that compute never waited for.", "计算从未等待过的 all-gather 个数。"),
        ),
        Measure(
            "synchronous_gathers",
            Text("synchronous gathers", "同步的 all-gather"),
            Text(
                "Gathers that start only when compute needs the weight.", "直到计算需要权重时才开始的 all-gather 个数。"
            ),
        ),
        Measure(
            "peak_live",
            Text("weights live at once", "同时存活的权重"),
            Text("Gathered weights held at the same time, at most.", "同一时刻最多持有的完整权重个数。"),
        ),
        Measure(
            "gathers",
            Text("gathers", "all-gather 总数"),
            Text("All all-gathers of the pass.", "这一阶段的 all-gather 总数。"),
            shown=False,
        ),
    ),
    comparisons=(
        Comparison(Text("No prefetch (cold start)", "无预取（冷启动）"), {"pass": "cold_start"}),
        Comparison(
            Text("One shared queue, whole step", "共用队列，整个 step"), {"pass": "step", "shared_queue": "true"}
        ),
        Comparison(
            Text("All-gather twice as slow as the GEMM", "all-gather 比 GEMM 慢一倍"), {"gemm": "3", "all_gather": "6"}
        ),
        Comparison(Text("Compute slowed by 20 % beside communication", "通信期间计算慢 20%"), {"contention": "1.2"}),
    ),
    filling=Filling(
        shape=GtpChainShape,
        durations=durations,
        fills=("gemm", "backward", "all_gather", "reduce_scatter"),
        ranks="gtp_remat_size",
        small={
            "hidden_size": "1024",
            "output_size": "1024",
            "sequence_length": "512",
            "tensor_parallel_size": "1",
            "element_bytes": "4",
        },
    ),
)
