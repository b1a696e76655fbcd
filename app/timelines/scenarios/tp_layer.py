"""One transformer layer under tensor parallelism: what its all-reduces cost, and what backward can hide.

Claim: forward exposes both all-reduces, for the next operation needs their result; backward launches each after
the input gradient and hides it behind the weight gradient of the same linear layer. With sequence parallelism every
all-reduce is an all-gather plus a reduce-scatter of half its time. Order as in Megatron-LM `layers.py`; Shoeybi et al.
2019 section 3, Korthikanti et al. 2022 section 4.2.2.
"""

from app.core.i18n import Text
from app.hardware.model import Estimate, Profile
from app.timelines.model import Trace
from app.timelines.scenario import EXPOSED, MAKESPAN, Comparison, Filling, Measure, Scenario, Value, estimate_gemm
from app.timelines.scenarios.tp_layer_inputs import TpLayerInputs, TpLayerShape
from app.timelines.scenarios.tp_layer_schedule import COMPUTE, build


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
        "Four all-reduces a layer: the two of forward are exposed, the two of backward hide as long as the weight gradient lasts.",
        "每层四次 all-reduce：前向两次全部暴露，反向两次能藏多少，取决于 wgrad 有多长。",
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
            "sequence_length": "512",
        },
    ),
)
