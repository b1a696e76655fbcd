"""Whether compute can cover the all-reduces of a tensor-parallel layer: FLOP per byte done and asked for."""

from app.calculators.tp_inputs import TpInputs
from app.calculators.work import Work
from app.core.i18n import Text
from app.core.units import GIGA, TERA


def compare(work: Work, inputs: TpInputs, *, traffic: float, each: float) -> None:
    """Add the lines that hold compute against communication.

    `traffic` is what a GPU sends for one all-reduce, in bytes; `each` the time of one, in seconds.
    """
    t, alone = inputs.tensor_parallel_size, inputs.tensor_parallel_size == 1
    tokens = inputs.micro_batch_size * inputs.sequence_length
    flop = work.step(
        "F",
        Text("Forward GEMM work per GPU and layer", "每卡每层 forward GEMM 计算量"),
        24 * tokens * inputs.hidden_size**2 / t,
        "FLOP",
        formula=r"\frac{24 * <b> * <s> * <h>^2}{<t>}",
        why=Text(
            "2 FLOP for each of the 12h² weights and each token; the attention core is left out.",
            "12h² 个权重，每个 token 每个权重 2 FLOP；不含 attention 核心部分。",
        ),
    )
    work.result(
        "intensity_flop_per_byte",
        Text("FLOP done per byte sent", "每发送 1 字节完成的 FLOP"),
        0.0 if alone else flop / (2 * traffic),
        "FLOP/B",
        key="I",
        formula=r"\frac{<F>}{2 * <V>}",
        numbers="0" if alone else None,
        source="Narayanan et al. 2021, §3.2, over two forward all-reduces",
        why=Text(
            "Two all-reduces a layer in forward. With e = 2 this is 3h/(t − 1): neither b nor s matters.",
            "forward 每层两次 all-reduce。e = 2 时化简为 3h/(t − 1)，与 b、s 无关。",
        ),
    )
    work.result(
        "required_flop_per_byte",
        Text("FLOP per byte the machine asks for", "硬件要求的每字节 FLOP"),
        inputs.peak_tflops * TERA / (inputs.bandwidth_gb_per_s * GIGA),
        "FLOP/B",
        key="Q",
        symbol=r"I_{\text{required}}",
        formula=r"\frac{<P>}{<B>}",
        source="Ratio of the two inputs",
        why=Text("Above it compute takes longer than communication.", "高于它时，计算时间比通信长。"),
    )
    compute_time = work.step(
        "C",
        Text("Forward compute time at peak", "按峰值计算的 forward 时间"),
        flop / (inputs.peak_tflops * TERA),
        "s",
        symbol=r"T_{\text{GEMM}}",
        formula=r"\frac{<F>}{<P>}",
    )
    work.result(
        "communication_over_compute",
        Text("Communication over compute, forward", "通信 / 计算（forward）"),
        2 * each / compute_time,
        "",
        key="rho",
        symbol=r"\rho",
        formula=r"\frac{2 * <T>}{<C>}",
        source="Ratio of the two times",
        why=Text("Above 1 the GPU waits more than it works.", "大于 1 时，GPU 等待的时间比计算还长。"),
    )
