"""What one weight costs under generalized tensor parallelism: memory at rest, memory while used, bytes on the wire.

TP cuts the weight for the GEMM; GTP_remat cuts the TP slice again for storage and gathers it just in time.
By hand, 8192 x 8192 in bf16 with TP 4 and GTP_remat 8: 128 MiB, slice 32 MiB, 4 MiB stored, 32 MiB gathered.
On the wire an element costs its data and its block scales: bf16 2, MXFP8 1 + 1/32, NVFP4 1/2 + 1/16 bytes.
Source: the generalized tensor parallelism document of Megatron Core, §1.3, §1.7.
"""

from app.calculators import gtp_remarks
from app.calculators.gtp_inputs import (
    BF16_BYTES,
    DATA_BYTES,
    GRADIENT_BYTES,
    PADDING,
    SCALE_BLOCK,
    GtpInputs,
    wire_bytes,
)
from app.calculators.model import Calculator, Drill, Outcome
from app.calculators.shapes import ModelShape
from app.calculators.work import Work
from app.core.i18n import Text

DOCUMENT = "Megatron Core, generalized tensor parallelism document"
FORMATS_SOURCE = f"{DOCUMENT}, §1.3"
SCALING_SOURCE = f"{DOCUMENT}, §1.7"


def compute(inputs: GtpInputs) -> Outcome:
    """Bytes of one weight per GPU, and bytes per element and micro-batch on the wire."""
    work = Work()
    work.given("out", inputs.out_features, symbol=r"d_{\text{out}}")
    work.given("inn", inputs.in_features, symbol=r"d_{\text{in}}")
    work.given("TP", inputs.tensor_parallel_size, symbol=r"\mathrm{TP}")
    work.given("G", inputs.gtp_remat_size)
    wire = _wire(work, inputs)
    _memory(work, inputs, wire)
    gtp_remarks.add_remarks(work, inputs)
    gtp_remarks.add_mistakes(
        work,
        elements=inputs.out_features * inputs.in_features,
        tensor_parallel_size=inputs.tensor_parallel_size,
        gtp_remat_size=inputs.gtp_remat_size,
        wire=wire,
        data=DATA_BYTES[inputs.weight_format],
        gathers=3 if inputs.recomputed else 2,
    )
    return work.outcome()


def _wire(work: Work, inputs: GtpInputs) -> float:
    block, data = SCALE_BLOCK[inputs.weight_format], DATA_BYTES[inputs.weight_format]
    gathers, gradient = 3 if inputs.recomputed else 2, GRADIENT_BYTES[inputs.gradient_format]
    wire = work.result(
        "wire_bytes_per_element_gather",
        Text("Wire bytes per gathered element", "每个 gather 元素的字节数"),
        wire_bytes(inputs.weight_format),
        "B/element",
        key="q",
        formula=rf"{data:g} + \tfrac{{1}}{{{block}}}" if block else f"{data:g}",
        source=FORMATS_SOURCE,
        why=Text("The data and one byte of scale for each block.", "数据本身，加上每个 block 一字节的 scale。")
        if block
        else None,
    )
    work.step(
        "r",
        Text("Wire bytes per reduced element", "每个归约元素的字节数"),
        gradient,
        "B/element",
        formula=f"{gradient:g}",
    )
    work.step(
        "c",
        Text("Gathers per micro-batch", "每个 micro-batch 的 gather 次数"),
        gathers,
        "",
        formula=r"1_{\text{fwd}} + 1_{\text{bwd}}" + (r" + 1_{\text{recompute}}" if inputs.recomputed else ""),
    )
    total = work.result(
        "wire_bytes_per_element_total",
        Text("Wire bytes per element, all collectives", "每元素总字节数（全部集合通信）"),
        gathers * wire + gradient,
        "B/element",
        key="w",
        formula="<c> * <q> + <r>",
        source=FORMATS_SOURCE,
        why=Text(
            "One gather forward, one backward, one reduce-scatter of the gradient.",
            "forward 一次 gather，backward 一次 gather，再加一次梯度 reduce-scatter。",
        ),
    )
    work.result(
        "wire_ratio_to_bf16",
        Text("Of what bf16 would send", "与全 bf16 之比"),
        total / (gathers * BF16_BYTES + BF16_BYTES),
        "",
        key="R",
        symbol=r"w / w_{\text{bf16}}",
        formula=r"\frac{<w>}{2 * <c> + 2}",
        source=FORMATS_SOURCE,
    )
    work.result(
        "gather_ratio_to_bf16",
        Text("Of what a bf16 gather would send", "gather 与 bf16 之比"),
        wire / BF16_BYTES,
        "",
        key="Rg",
        symbol=r"q / q_{\text{bf16}}",
        formula=r"\frac{<q>}{2}",
        source=FORMATS_SOURCE,
    )
    work.result(
        "reduce_scatter_share",
        Text("Share of the reduce-scatter", "reduce-scatter 的占比"),
        gradient / total,
        "",
        key="Rs",
        symbol=r"\text{share}",
        formula=r"\frac{<r>}{<w>}",
        source=FORMATS_SOURCE,
        why=Text(
            "The gradient stays in high precision, so it weighs more the smaller the weights get.",
            "梯度保持高精度，权重格式越小，它占的比例就越大。",
        ),
    )
    return wire


def _memory(work: Work, inputs: GtpInputs, wire: float) -> None:
    tp, remat = inputs.tensor_parallel_size, inputs.gtp_remat_size
    column = inputs.parallel_kind == "column"
    elements = inputs.out_features * inputs.in_features
    slice_out = inputs.out_features // tp if column else inputs.out_features
    slice_in = inputs.in_features if column else inputs.in_features // tp
    work.result(
        "full_weight_bytes",
        Text("Whole weight in bf16", "完整权重（bf16）"),
        elements * BF16_BYTES,
        "bytes",
        key="W",
        formula=r"<out> * <inn> * 2\,\text{B}",
        source="Definition",
    )
    work.result(
        "tp_slice_bytes",
        Text("TP slice in bf16", "TP 切片（TP slice，bf16）"),
        slice_out * slice_in * BF16_BYTES,
        "bytes",
        key="slice",
        symbol=r"W_{\mathrm{TP}}",
        formula=r"\frac{<W>}{<TP>}",
        source=SCALING_SOURCE,
        why=Text("What the GEMM works on; it stays split.", "GEMM 实际使用的部分，一直保持切开。"),
    )
    padded = _padded(work, inputs, slice_out)
    work.step(
        "side",
        Text("Inputs of the slice", "slice 的输入维"),
        slice_in,
        "",
        symbol=r"d_{\text{in, slice}}",
        formula="<inn>" if column else r"\frac{<inn>}{<TP>}",
    )
    gathered = work.result(
        "gathered_bytes",
        Text("Gathered for the GEMM", "GEMM 前 gather 出的大小"),
        padded * slice_in * wire,
        "bytes",
        key="A",
        formula="<pad> * <side> * <q>",
        source=FORMATS_SOURCE,
        why=Text("Lives only around its GEMM, then is freed.", "只在 GEMM 前后存在，用完即释放。"),
    )
    work.result(
        "stored_bytes",
        Text("Stored at rest", "平时存储"),
        gathered / remat,
        "bytes",
        key="M",
        formula=r"\frac{<A>}{<G>}",
        source=SCALING_SOURCE,
        why=Text("One shard of the slice per GPU.", "每卡只存 slice 的一个分片。"),
    )
    work.result(
        "live_gathered_bytes",
        Text("Gathered at once while prefetching", "预取时同时存在的 gather 缓冲"),
        0.0 if remat == 1 else 2 * gathered,
        "bytes",
        key="live",
        symbol=r"A_{\text{live}}",
        formula="0" if remat == 1 else "2 * <A>",
        source=f"{DOCUMENT}, §1.1",
        why=Text(
            "The weight in use and the next one on its way; without GTP_remat nothing is gathered.",
            "正在使用的和正在预取的各一份；不开 GTP_remat 时没有 gather。",
        ),
    )
    work.result(
        "memory_reduction",
        Text("Fewer elements per GPU", "每卡元素减少倍数"),
        tp * remat,
        "",
        key="X",
        formula="<TP> * <G>",
        source=SCALING_SOURCE,
        why=Text(
            "Counts shards of elements; the number format does not multiply it.", "按元素分片计，不因数值格式而放大。"
        ),
    )
    total = (3 if inputs.recomputed else 2) * wire + GRADIENT_BYTES[inputs.gradient_format]
    work.result(
        "moved_per_rank_bytes",
        Text("Sent per GPU and micro-batch", "每卡每个 micro-batch 的发送量"),
        (remat - 1) * padded * slice_in * total / remat,
        "bytes",
        key="V",
        formula=r"\frac{<G> - 1}{<G>} * <pad> * <side> * <w>",
        source=FORMATS_SOURCE,
        why=Text(
            "All gathers and the reduce-scatter, each (G − 1)/G of the slice.",
            "所有 gather 与 reduce-scatter，各为 slice 的 (G − 1)/G。",
        ),
    )


def _padded(work: Work, inputs: GtpInputs, slice_out: int) -> int:
    """Output features of the slice after padding: each of the G shards is a multiple of the format's alignment."""
    remat = inputs.gtp_remat_size
    multiple = PADDING[inputs.weight_format] * remat if remat > 1 else 1
    padded = -(-slice_out // multiple) * multiple
    work.step(
        "rows",
        Text("Outputs of the slice", "slice 的输出维"),
        slice_out,
        "",
        symbol=r"d_{\text{out, slice}}",
        formula=r"\frac{<out>}{<TP>}" if inputs.parallel_kind == "column" else "<out>",
    )
    work.result(
        "padded_out_features",
        Text("Outputs of the slice, padded", "padding 后 slice 的输出维"),
        padded,
        "",
        key="pad",
        symbol=r"d_{\text{pad}}",
        formula="<rows>"
        if remat == 1
        else rf"\left\lceil \frac{{<rows>}}{{{PADDING[inputs.weight_format]} * <G>}} \right\rceil * {PADDING[inputs.weight_format]} * <G>",
        source=FORMATS_SOURCE,
        why=None
        if remat == 1
        else Text(
            f"Each shard has to be a multiple of {PADDING[inputs.weight_format]} rows.",
            f"每个分片的行数须为 {PADDING[inputs.weight_format]} 的倍数。",
        ),
    )
    return padded


def from_shape(shape: ModelShape) -> dict[str, str]:
    """The first MLP weight of a model."""
    return {"out_features": str(shape.ffn_size), "in_features": str(shape.hidden_size), "parallel_kind": "column"}


CALCULATOR = Calculator(
    slug="gtp-memory",
    title=Text("GTP memory and wire bytes", "GTP 的显存与通信量"),
    question=Text(
        "What does a weight cost under GTP: stored, gathered, and on the wire?",
        "GTP 下一个权重要占多少：平时存多少、gather 出多少、线上传多少？",
    ),
    inputs=GtpInputs,
    compute=compute,
    headline=("stored_bytes", "gathered_bytes", "memory_reduction", "moved_per_rank_bytes"),
    sweep="gtp_remat_size",
    sweep_result="stored_bytes",
    drill=Drill(
        results=("stored_bytes", "gathered_bytes", "wire_bytes_per_element_total", "moved_per_rank_bytes"),
        draws={
            "out_features": ("4096", "8192", "16384", "28672"),
            "in_features": ("4096", "8192", "16384"),
            "tensor_parallel_size": ("1", "2", "4", "8"),
            "gtp_remat_size": ("2", "4", "8", "16"),
            "weight_format": ("bf16", "mxfp8", "nvfp4"),
        },
    ),
    from_shape=from_shape,
    questions=("gtp",),
)
