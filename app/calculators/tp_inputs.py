"""The inputs of the calculator on tensor-parallel communication, and the counts that follow from them alone."""

from typing import Literal, Self

from pydantic import model_validator

from app.core.i18n import Text
from app.core.inputs import InputProblem, Inputs, choice, real, switch, whole


class TpInputs(Inputs):
    """One transformer layer on one tensor-parallel group, for one micro-batch."""

    micro_batch_size: int = whole(
        1,
        title=Text("Micro-batch size b", "micro-batch 大小 b"),
        help=Text("Sequences in one micro-batch.", "一个 micro-batch 中的序列数。"),
        maximum=10**6,
    )
    sequence_length: int = whole(
        4096,
        title=Text("Sequence length s", "序列长度 s"),
        help=Text("Tokens in one sequence.", "一条序列的 token 数。"),
        maximum=10**8,
    )
    hidden_size: int = whole(
        8192,
        title=Text("Hidden size h", "隐藏维度 h"),
        help=Text("Width of the residual stream.", "残差流的宽度。"),
        maximum=10**6,
    )
    tensor_parallel_size: int = whole(
        8,
        title=Text("Tensor-parallel size t", "张量并行度 t"),
        help=Text(
            "GPUs that share each layer. With 1 nothing is communicated.", "共同计算每一层的 GPU 数；为 1 时没有通信。"
        ),
        maximum=10**5,
    )
    bytes_per_element: float = real(
        2,
        title=Text("Bytes per element e", "每元素字节数 e"),
        help=Text("2 for bf16 and fp16, 4 for fp32, 1 for fp8.", "bf16、fp16 为 2，fp32 为 4，fp8 为 1。"),
        unit="B",
        minimum=0.5,
        maximum=16,
    )
    bandwidth_gb_per_s: float = real(
        450,
        title=Text("Bandwidth B", "带宽 B"),
        help=Text(
            "Per GPU, one direction. NVLink on H100: 450. One 400 Gb/s network card: 50.",
            "每卡单向。H100 的 NVLink 为 450；一张 400 Gb/s 网卡为 50。",
        ),
        unit="GB/s",
        minimum=0.001,
        maximum=1e6,
    )
    peak_tflops: float = real(
        989,
        title=Text("Peak compute P", "峰值算力 P"),
        help=Text(
            "Dense, per GPU. H100 bf16: 989, not the sparse 1979.", "每卡稠密算力。H100 bf16 为 989，不是稀疏的 1979。"
        ),
        unit="TFLOP/s",
        minimum=0.001,
        maximum=1e9,
    )
    latency_us: float = real(
        0,
        title=Text("Latency per step α", "每步延迟 α"),
        help=Text("Of each of the 2(t − 1) ring steps.", "ring 共 2(t − 1) 步，这是每一步的延迟。"),
        unit="µs",
        maximum=1e9,
    )
    layers: int = whole(
        1,
        title=Text("Layers L", "层数 L"),
        help=Text("Layers that the step's time is summed over.", "统计一步通信时间时累加的层数。"),
        maximum=10**6,
    )
    recompute: Literal["none", "full"] = choice(
        "none",
        title=Text("Activation recompute", "激活重计算"),
        help=Text(
            "Full recompute runs the forward pass, and its two all-reduces, once more.",
            "完全重计算会把 forward 及其两次 all-reduce 再做一遍。",
        ),
        choices={"none": Text("none", "无"), "full": Text("full", "完全")},
    )
    sequence_parallel: bool = switch(
        default=False,
        title=Text("Sequence parallelism", "序列并行（SP）"),
        help=Text(
            "Each all-reduce becomes a reduce-scatter and an all-gather; the input is gathered again in backward.",
            "每次 all-reduce 拆成 reduce-scatter 与 all-gather，backward 还要再 gather 一次输入。",
        ),
    )

    @model_validator(mode="after")
    def _sequence_splits(self) -> Self:
        if self.sequence_parallel and self.sequence_length % self.tensor_parallel_size:
            raise InputProblem(
                "sequence_length",
                Text(
                    f"Sequence parallelism needs a length that {self.tensor_parallel_size} divides.",
                    f"序列并行要求序列长度能被 {self.tensor_parallel_size} 整除。",
                ),
            )
        return self


def forward_passes(inputs: TpInputs) -> int:
    """How often the forward all-reduces of a layer run: twice with full recompute."""
    return 2 if inputs.recompute == "full" else 1


def blocking_pairs(inputs: TpInputs) -> int:
    """All-reduces, or pairs of reduce-scatter and all-gather, that the next operation waits for."""
    return 0 if inputs.tensor_parallel_size == 1 else 2 * forward_passes(inputs) + 2
