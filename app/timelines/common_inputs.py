"""Inputs that several scenarios and their shapes have: contention, the tokens of a rank, bytes, how well GEMMs run.

Made by functions, so that each form keeps its own order of fields.
"""

from typing import Any

from app.core.i18n import Text
from app.core.inputs import rational, real, whole


def contention() -> Any:
    """How much slower compute runs beside communication; 1 and more."""
    return rational(
        1,
        title=Text("Contention", "争用系数"),
        help=Text(
            "Compute beside communication takes this many times as long; 1 means it is not slowed.",
            "与通信同时进行的计算慢到多少倍；1 表示不受影响。",
        ),
        minimum=1,
        maximum=10,
    )


def sequence_length() -> Any:
    """Tokens of one sample."""
    return whole(
        4096,
        title=Text("Sequence length s", "序列长度 s"),
        help=Text("Tokens of one sample.", "一个样本的 token 数。"),
        maximum=10**7,
    )


def micro_batch_size() -> Any:
    """Samples of one rank."""
    return whole(
        1,
        title=Text("Micro-batch size b", "micro-batch 大小 b"),
        help=Text("Samples of one rank.", "每个 rank 的样本数。"),
        maximum=10**6,
    )


def element_bytes() -> Any:
    """Bytes of one element on the wire and in a GEMM."""
    return real(
        2,
        title=Text("Bytes per element", "每元素字节数"),
        help=Text(
            "bf16: 2, fp32: 4. Everything that is sent has this width.", "bf16 为 2，fp32 为 4；所有通信都按这个宽度。"
        ),
        unit="bytes",
        minimum=0.25,
        maximum=8,
    )


def gemm_efficiency() -> Any:
    """The share of a datasheet's peak that GEMMs reach."""
    return real(
        1,
        title=Text("GEMM efficiency", "GEMM 效率"),
        help=Text(
            "Share of the datasheet peak that GEMMs reach; measured rates are not scaled.",
            "GEMM 达到数据手册峰值的比例；实测速率不再折算。",
        ),
        minimum=0.01,
        maximum=1,
    )
