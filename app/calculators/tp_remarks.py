"""What the answer on tensor-parallel communication assumes, warns of, and what people answer by mistake with the same inputs."""

from app.calculators.tp_inputs import TpInputs
from app.calculators.work import Work
from app.core.i18n import Text
from app.core.units import GIB, GIGA, TERA


def add_mistakes(work: Work, inputs: TpInputs) -> None:
    """Write the mistakes onto `work`, which has the results already."""
    t = inputs.tensor_parallel_size
    elements = inputs.micro_batch_size * inputs.sequence_length * inputs.hidden_size
    message = elements * inputs.bytes_per_element
    rate = inputs.bandwidth_gb_per_s * GIGA
    latency = 2 * (t - 1) * inputs.latency_us * 1e-6
    right = {name: result.value for name, result in work.outcome().results.items()}

    work.wrong(
        "message_bytes",
        Text("Elements taken for bytes", "把元素数当成字节数"),
        elements,
        Text(
            "Each of the b·s·h elements takes e bytes, 2 in bf16.", "b·s·h 是元素个数，每个元素占 e 字节，bf16 为 2。"
        ),
    )
    work.wrong(
        "message_bytes",
        Text("Divided by t", "除以了 t"),
        message / t,
        Text(
            "Every GPU holds a partial sum of the whole [b, s, h] output; only the weights are split.",
            "每张卡上都有整个 [b, s, h] 输出的部分和，切开的只是权重。",
        ),
    )
    work.wrong(
        "traffic_per_all_reduce_bytes",
        Text("Only half of the all-reduce", "只算了 all-reduce 的一半"),
        (t - 1) * message / t,
        Text(
            "That is the reduce-scatter; the all-gather sends as much again.",
            "这只是 reduce-scatter，后面的 all-gather 还要发送同样多。",
        ),
    )
    work.wrong(
        "traffic_per_layer_elements",
        Text("Forward only", "只算了 forward"),
        4 * (t - 1) * elements / t,
        Text(
            "Backward reduces the gradient of each block's input as well.", "backward 同样要归约每个 block 输入的梯度。"
        ),
    )
    work.wrong(
        "time_per_all_reduce_s",
        Text("Both directions of the link", "用了双向带宽"),
        latency + 2 * (t - 1) * message / (t * 2 * rate),
        Text(
            "A data sheet's 900 GB/s adds up both directions; a ring sends at one of them, 450.",
            "规格表上的 900 GB/s 是双向合计，ring 的发送只用到单向的 450。",
        ),
    )
    work.wrong(
        "time_per_all_reduce_s",
        Text("Message over bandwidth", "直接用消息大小除以带宽"),
        message / rate,
        Text(
            "A ring sends 2(t − 1)/t of the message per GPU, not once the message.",
            "ring 每卡发送 2(t − 1)/t 倍消息，而不是一倍。",
        ),
    )
    work.wrong(
        "time_per_all_reduce_s",
        Text("GiB over GB/s", "用 GiB 除以 GB/s"),
        latency + 2 * (t - 1) * message / (t * rate) * GIGA / GIB,
        Text("64 MiB are 67.1 MB: mixing the units loses 7 %.", "64 MiB 等于 67.1 MB，混用单位会差 7 %（GiB 与 GB）。"),
    )
    work.wrong(
        "required_flop_per_byte",
        Text("Sparse peak", "用了稀疏算力"),
        2 * inputs.peak_tflops * TERA / rate,
        Text("The doubled figure of a data sheet needs 2:4 sparse weights.", "规格表上翻倍的数字要求 2:4 结构化稀疏。"),
    )
    work.wrong(
        "communication_over_compute",
        Text("Upside down", "比值写反"),
        1 / right["communication_over_compute"] if right["communication_over_compute"] else 0.0,
        Text(
            "Required over achieved FLOP per byte, not the other way round.",
            "应是「要求的」除以「达到的」每字节 FLOP，不是反过来。",
        ),
    )


def add_remarks(work: Work, inputs: TpInputs) -> None:
    """Write what the formulas take for granted, and what the reader should know about these very inputs."""
    t = inputs.tensor_parallel_size
    work.assume(
        "GEMMs run at peak and the attention core is not counted, which adds s/(6h) to the work.",
        "GEMM 按峰值计算，未计 attention 核心部分；算上它计算量再增加 s/(6h)。",
    )
    work.assume(
        "A GPT-style layer with 12h² weights. The embedding and the loss communicate besides.",
        "按 GPT 式的层（12h² 个权重）计算；embedding 与 loss 的通信另计。",
    )
    work.assume(
        "Bandwidth is what a ring really gets: measured bus bandwidth, if you have it.",
        "带宽指 ring 实际能得到的值，有实测 bus bandwidth 时请用实测值。",
    )
    if t == 1:
        work.warn(
            "A group of one communicates nothing: counts and times are 0, and FLOP per byte, which has no bytes to divide by, is shown as 0.",
            "只有一张卡，没有通信：次数与时间都是 0；每字节 FLOP 没有分母，显示为 0。",
        )
    elif inputs.hidden_size % t:
        work.warn(
            f"{t} does not divide the hidden size {inputs.hidden_size}: such a model cannot be split this way.",
            f"隐藏维度 {inputs.hidden_size} 不能被 {t} 整除，这样的模型无法这样切分。",
        )
    if t > 8 and inputs.bandwidth_gb_per_s <= 100:
        work.warn(
            "One network card's bandwidth is the pessimistic model of a group across nodes: a ring over all cards of a node gets more.",
            "跨机时只按一张网卡的带宽计是悲观估计：ring 若用上整机全部网卡，可用带宽更高。",
        )
