"""What the answer on a weight under GTP assumes, warns of, and what people answer by mistake with the same inputs."""

from app.calculators.gtp_inputs import GtpInputs
from app.calculators.work import Work
from app.core.i18n import Text


def add_mistakes(
    work: Work, *, elements: int, tensor_parallel_size: int, gtp_remat_size: int, wire: float, data: float, gathers: int
) -> None:
    """Write the mistakes onto `work`. `wire` is bytes per gathered element, `data` without scales."""
    tp, remat = tensor_parallel_size, gtp_remat_size
    right = {name: result.value for name, result in work.outcome().results.items()}
    work.wrong(
        "stored_bytes",
        Text("Only TP divides", "只除以 TP"),
        right["gathered_bytes"],
        Text(
            "That is what stands there during the GEMM; at rest GTP_remat divides it again.",
            "那是 GEMM 时的大小；平时 GTP_remat 还要再切一次。",
        ),
    )
    work.wrong(
        "stored_bytes",
        Text("Only GTP_remat divides", "只除以 GTP_remat"),
        elements * wire / remat,
        Text("It splits the TP slice, not the whole weight.", "它切的是 TP slice，而不是完整权重。"),
    )
    work.wrong(
        "gathered_bytes",
        Text("The whole weight is gathered", "以为 gather 出完整权重"),
        elements * wire,
        Text(
            "TP keeps the weight split through the GEMM; the gather rebuilds only the TP slice. A ZeRO-3 gather would rebuild it all.",
            "GEMM 期间 TP 一直保持切分，gather 只拼回 TP slice；ZeRO-3 才会拼回完整权重。",
        ),
    )
    work.wrong(
        "memory_reduction",
        Text("Multiplied by the gain of the format", "再乘上数值格式的收益"),
        tp * remat * 2 / data,
        Text(
            "A 4-bit format makes 128x out of 32x; that is a statement about the wire, and the document does not derive it.",
            "4-bit 格式会把 32 倍说成 128 倍；那说的是通信量，而且文档没有给出推导。",
        ),
    )
    work.wrong(
        "wire_bytes_per_element_total",
        Text("Reduce-scatter forgotten", "漏掉 reduce-scatter"),
        gathers * wire,
        Text("The weight's gradient goes back to its shards once.", "权重梯度还要做一次 reduce-scatter 回到各分片。"),
    )
    work.wrong(
        "wire_bytes_per_element_total",
        Text("Gathered once", "只 gather 一次"),
        right["wire_bytes_per_element_total"] - wire * (gathers - 1),
        Text(
            "The slice is freed after the forward GEMM, so backward gathers it again.",
            "forward 的 GEMM 之后 slice 就释放了，backward 要重新 gather。",
        ),
    )
    work.wrong(
        "wire_bytes_per_element_total",
        Text("Reduce-scatter quantized like the weights", "以为 reduce-scatter 也按权重格式量化"),
        (gathers + 1) * wire,
        Text("Gradients are reduced in bf16 or fp32.", "梯度以 bf16 或 fp32 归约。"),
    )
    work.wrong(
        "moved_per_rank_bytes",
        Text("Factor (G − 1)/G forgotten", "漏掉 (G − 1)/G"),
        0.0 if remat == 1 else right["moved_per_rank_bytes"] * remat / (remat - 1),
        Text("A GPU does not send itself its own shard.", "自己那一片不需要发给自己。"),
    )


def add_remarks(work: Work, inputs: GtpInputs) -> None:
    """Write what the formulas take for granted, and what the reader should know about these very inputs."""
    work.assume(
        "GTP is experimental in Megatron Core; small tensors (norms, biases, the router) are never split.",
        "GTP 在 Megatron Core 中仍是实验特性；小张量（norm、bias、router）从不切分。",
    )
    work.assume(
        "At rest the weight is counted in the wire format with its scales; master weights and optimizer state come on top.",
        "存储按通信格式（含 scale）计；主权重与优化器状态另计。",
    )
    work.assume(
        "Bytes per element are the price of one gathered or reduced element; the bytes a GPU sends carry the factor (G − 1)/G.",
        "每元素字节数是 gather 或归约一个元素的代价；每卡实际发送量还要乘 (G − 1)/G。",
    )
    if inputs.gtp_remat_size == 1:
        work.warn(
            "With GTP_remat 1 nothing is gathered or scattered: the layer is plain TP with data parallelism.",
            "GTP_remat 为 1 时没有 gather 与 scatter：就是普通的 TP 加数据并行。",
        )
    if inputs.gradient_format == "fp32" and 1 < inputs.gtp_remat_size < 4:
        work.warn(
            "Reduce-scatter with fp32 accumulation needs a group of at least 4.",
            "fp32 累加的 reduce-scatter 要求组大小至少为 4。",
        )
    if inputs.weight_format == "mxfp8":
        work.warn("MXFP8 weights need --fp8-param-gather.", "MXFP8 权重须同时开启 --fp8-param-gather。")
