"""The inputs of the calculator on GTP memory, and what each number format costs."""

from typing import Literal, Self

from pydantic import model_validator

from app.core.i18n import Text, same
from app.core.inputs import InputProblem, Inputs, choice, switch, whole

Format = Literal["bf16", "mxfp8", "nvfp4"]
DATA_BYTES: dict[Format, float] = {"bf16": 2.0, "mxfp8": 1.0, "nvfp4": 0.5}
SCALE_BLOCK: dict[Format, int] = {"bf16": 0, "mxfp8": 32, "nvfp4": 16}
"""Elements that share one scale of one byte; 0 where the format has none."""
PADDING: dict[Format, int] = {"bf16": 16, "mxfp8": 32, "nvfp4": 16}
GRADIENT_BYTES = {"bf16": 2.0, "fp32": 4.0}
BF16_BYTES = 2


class GtpInputs(Inputs):
    """One linear layer's weight, out x in."""

    out_features: int = whole(
        8192,
        title=Text("Output features", "输出维度"),
        help=Text("Rows of the weight.", "权重的行数。"),
        maximum=10**7,
    )
    in_features: int = whole(
        8192,
        title=Text("Input features", "输入维度"),
        help=Text("Columns of the weight.", "权重的列数。"),
        maximum=10**7,
    )
    tensor_parallel_size: int = whole(
        4,
        title=Text("Tensor-parallel size TP", "张量并行度 TP"),
        help=Text("Splits the weight for the GEMM itself.", "按它切开权重，GEMM 时也保持切开。"),
        maximum=10**5,
    )
    gtp_remat_size: int = whole(
        8,
        title=Text("GTP_remat size G", "GTP_remat 大小 G"),
        help=Text(
            "Splits the TP slice again, for storage only. With 1 nothing is gathered.",
            "把 TP slice 再切一次，只切存储；为 1 时不需要 gather。",
        ),
        maximum=10**5,
    )
    weight_format: Format = choice(
        "bf16",
        title=Text("Format on the wire and at rest", "存储与通信格式"),
        help=Text("Low-precision formats carry a scale for each block.", "低精度格式每个 block 另带一个 scale。"),
        choices={"bf16": same("bf16"), "mxfp8": same("MXFP8"), "nvfp4": same("NVFP4")},
    )
    gradient_format: Literal["bf16", "fp32"] = choice(
        "bf16",
        title=Text("Gradient format", "梯度格式"),
        help=Text("What the reduce-scatter sends. It is never quantized.", "reduce-scatter 发送的格式，不会被量化。"),
        choices={"bf16": same("bf16"), "fp32": same("fp32")},
    )
    parallel_kind: Literal["column", "row"] = choice(
        "column",
        title=Text("Kind of linear layer", "线性层类型"),
        help=Text(
            "Column: TP cuts the outputs. Row: TP cuts the inputs. GTP_remat always cuts the outputs.",
            "column：TP 切输出维；row：TP 切输入维。GTP_remat 总是切输出维。",
        ),
        choices={"column": Text("column-parallel", "列并行"), "row": Text("row-parallel", "行并行")},
    )
    recomputed: bool = switch(
        default=False,
        title=Text("Inside a recomputed region", "处在重计算区域内"),
        help=Text("Recomputing the layer gathers the weight a third time.", "重计算时还要第三次 gather 这个权重。"),
    )

    @model_validator(mode="after")
    def _splits_evenly(self) -> Self:
        cut, features = (
            ("out_features", self.out_features) if self.parallel_kind == "column" else ("in_features", self.in_features)
        )
        if features % self.tensor_parallel_size:
            raise InputProblem(
                cut,
                Text(
                    f"TP cuts this side, so {self.tensor_parallel_size} has to divide it.",
                    f"TP 沿这一维切分，须能被 {self.tensor_parallel_size} 整除。",
                ),
            )
        return self


def wire_bytes(format_name: Format) -> float:
    """Bytes of one element with its part of the block scale."""
    block = SCALE_BLOCK[format_name]
    return DATA_BYTES[format_name] + (1 / block if block else 0.0)
