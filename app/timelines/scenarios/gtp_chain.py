"""A chain of GTP_remat layers: each weight is gathered just in time, one layer ahead of its GEMM.

Claim: once the links of the chain are known, only the first gather of each direction is synchronous, and the
others hide while a gather takes no longer than the GEMMs before its own. Order as in Transformer Engine's
`generalized_tensor_parallelism.py`: obtain W_i, issue the neighbour's all-gather, then the GEMM. In backward the
reduce-scatter of layer i is finalised one layer later; only the head's is waited for at once.
"""

from app.core.i18n import Text
from app.hardware.model import Estimate, Profile
from app.timelines.model import ZERO, Trace
from app.timelines.scenario import EXPOSED, MAKESPAN, Comparison, Filling, Measure, Scenario, Value, estimate_gemm
from app.timelines.scenarios.gtp_chain_inputs import GtpChainInputs, GtpChainShape
from app.timelines.scenarios.gtp_chain_schedule import COMPUTE, DEVICE, build


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
        "Only the first all-gather of each direction is synchronous; the others hide behind the GEMMs of the layer before, as far as they fit.",
        "每个方向只有第一个 all-gather 是同步的，其余藏在前一层的 GEMM 后面，只要放得下。",
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
            "sequence_length": "4096",
            "tensor_parallel_size": "1",
        },
    ),
)
