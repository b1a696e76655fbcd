"""What people answer by mistake when asked about tensor-parallel communication, with the same inputs."""

from typing import Protocol

from app.calculators.work import Work
from app.core.i18n import Text
from app.core.units import GIB, GIGA, TERA


class Sizes(Protocol):
    """The inputs that the mistakes are computed from."""

    @property
    def micro_batch_size(self) -> int: ...
    @property
    def sequence_length(self) -> int: ...
    @property
    def hidden_size(self) -> int: ...
    @property
    def tensor_parallel_size(self) -> int: ...
    @property
    def bytes_per_element(self) -> float: ...
    @property
    def bandwidth_gb_per_s(self) -> float: ...
    @property
    def peak_tflops(self) -> float: ...
    @property
    def latency_us(self) -> float: ...


def add(work: Work, inputs: Sizes) -> None:
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
        Text("Each of the b·s·h elements takes e bytes, 2 in bf16.", "b·s·h 是元素个数,每个元素占 e 字节,bf16 为 2。"),
    )
    work.wrong(
        "message_bytes",
        Text("Divided by t", "除以了 t"),
        message / t,
        Text(
            "Every GPU holds a partial sum of the whole [b, s, h] output; only the weights are split.",
            "每张卡上都有整个 [b, s, h] 输出的部分和,切开的只是权重。",
        ),
    )
    work.wrong(
        "traffic_per_all_reduce_bytes",
        Text("Only half of the all-reduce", "只算了 all-reduce 的一半"),
        (t - 1) * message / t,
        Text(
            "That is the reduce-scatter; the all-gather sends as much again.",
            "这只是 reduce-scatter,后面的 all-gather 还要发送同样多。",
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
            "规格表上的 900 GB/s 是双向合计,ring 的发送只用到单向的 450。",
        ),
    )
    work.wrong(
        "time_per_all_reduce_s",
        Text("Message over bandwidth", "直接用消息大小除以带宽"),
        message / rate,
        Text(
            "A ring sends 2(t − 1)/t of the message per GPU, not once the message.",
            "ring 每卡发送 2(t − 1)/t 倍消息,而不是一倍。",
        ),
    )
    work.wrong(
        "time_per_all_reduce_s",
        Text("GiB over GB/s", "用 GiB 除以 GB/s"),
        latency + 2 * (t - 1) * message / (t * rate) * GIGA / GIB,
        Text("64 MiB are 67.1 MB: mixing the units loses 7 %.", "64 MiB 等于 67.1 MB,混用单位会差 7 %(GiB 与 GB)。"),
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
            "应是「要求的」除以「达到的」每字节 FLOP,不是反过来。",
        ),
    )
