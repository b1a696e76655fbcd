"""How often tensor parallelism communicates in a transformer layer, how much, and whether compute can cover it.

Megatron-style: each of the two blocks of a layer all-reduces its [b, s, h] output once forward and once
backward. By hand, b = 1, s = 4096, h = 8192, bf16, t = 8: 64 MiB a message, 112 MiB sent per GPU,
0.261 ms at 450 GB/s. Sources: Shoeybi et al. 2019 §3, Narayanan et al. 2021 §3.2; sequence parallelism and
its second gather of the input as in Megatron Core's tensor_parallel/layers.py.
"""

from typing import Literal, Self

from pydantic import model_validator

from app.calculators import tp_mistakes
from app.calculators.model import Calculator, Drill, Outcome
from app.calculators.shapes import ModelShape
from app.calculators.work import Work
from app.core.i18n import Text
from app.core.inputs import InputProblem, Inputs, choice, real, switch, to_text, whole
from app.core.units import GIGA, TERA
from app.hardware.model import Profile

SHOEYBI = "Shoeybi et al. 2019, §3, Fig. 4"
NARAYANAN = "Narayanan et al. 2021, §3.2"
RING = "nccl-tests, doc/PERFORMANCE.md"
LAYERS = "Megatron Core, tensor_parallel/layers.py"


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
            "GPUs that share each layer. With 1 nothing is communicated.", "共同计算每一层的 GPU 数;为 1 时没有通信。"
        ),
        maximum=10**5,
    )
    bytes_per_element: float = real(
        2,
        title=Text("Bytes per element e", "每元素字节数 e"),
        help=Text("2 for bf16 and fp16, 4 for fp32, 1 for fp8.", "bf16、fp16 为 2,fp32 为 4,fp8 为 1。"),
        unit="B",
        minimum=0.5,
        maximum=16,
    )
    bandwidth_gb_per_s: float = real(
        450,
        title=Text("Bandwidth B", "带宽 B"),
        help=Text(
            "Per GPU, one direction. NVLink on H100: 450. One 400 Gb/s network card: 50.",
            "每卡单向。H100 的 NVLink 为 450;一张 400 Gb/s 网卡为 50。",
        ),
        unit="GB/s",
        minimum=0.001,
        maximum=1e6,
    )
    peak_tflops: float = real(
        989,
        title=Text("Peak compute P", "峰值算力 P"),
        help=Text(
            "Dense, per GPU. H100 bf16: 989, not the sparse 1979.", "每卡稠密算力。H100 bf16 为 989,不是稀疏的 1979。"
        ),
        unit="TFLOP/s",
        minimum=0.001,
        maximum=1e9,
    )
    latency_us: float = real(
        0,
        title=Text("Latency per step α", "每步延迟 α"),
        help=Text("Of each of the 2(t − 1) ring steps.", "ring 共 2(t − 1) 步,这是每一步的延迟。"),
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
        title=Text("Sequence parallelism", "序列并行(SP)"),
        help=Text(
            "Each all-reduce becomes a reduce-scatter and an all-gather; the input is gathered again in backward.",
            "每次 all-reduce 拆成 reduce-scatter 与 all-gather,backward 还要再 gather 一次输入。",
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


def compute(inputs: TpInputs) -> Outcome:
    """Bytes, counts, seconds and FLOP per byte of tensor-parallel communication, per GPU and micro-batch."""
    work = Work()
    work.given("b", inputs.micro_batch_size)
    work.given("s", inputs.sequence_length)
    work.given("h", inputs.hidden_size)
    work.given("t", inputs.tensor_parallel_size)
    work.given("e", inputs.bytes_per_element, "B")
    work.given("B", inputs.bandwidth_gb_per_s, "GB/s")
    work.given("P", inputs.peak_tflops, "TFLOP/s")
    work.given("a", inputs.latency_us, "µs", symbol=r"\alpha")
    work.given("L", inputs.layers)
    traffic = _volume(work, inputs)
    each = _time(work, inputs)
    _roofline(work, inputs, traffic=traffic, each=each)
    _remarks(work, inputs)
    tp_mistakes.add(work, inputs)
    return work.outcome()


def forward_passes(inputs: TpInputs) -> int:
    """How often the forward all-reduces of a layer run: twice with full recompute."""
    return 2 if inputs.recompute == "full" else 1


def blocking_pairs(inputs: TpInputs) -> int:
    """All-reduces, or pairs of reduce-scatter and all-gather, that the next operation waits for."""
    return 0 if inputs.tensor_parallel_size == 1 else 2 * forward_passes(inputs) + 2


def _volume(work: Work, inputs: TpInputs) -> float:
    t, pairs = inputs.tensor_parallel_size, blocking_pairs(inputs)
    elements = inputs.micro_batch_size * inputs.sequence_length * inputs.hidden_size
    message = work.result(
        "message_bytes",
        Text("Message", "每次的消息大小"),
        elements * inputs.bytes_per_element,
        "bytes",
        key="S",
        formula="<b> * <s> * <h> * <e>",
        source=NARAYANAN,
        why=Text(
            "The output of a block, one vector of h for every token.", "一个 block 的输出:每个 token 一个 h 维向量。"
        ),
    )
    regathers = _counts(work, inputs)
    traffic = work.result(
        "traffic_per_all_reduce_bytes",
        Text("Sent per GPU and all-reduce", "每卡每次 all-reduce 发送量"),
        2 * (t - 1) * message / t,
        "bytes",
        key="V",
        formula=r"\frac{2(<t> - 1)}{<t>} * <S>",
        source=RING,
        why=Text(
            "A ring passes every chunk on t − 1 times to reduce and t − 1 times to gather, whatever t is nearly 2S.",
            "ring 中每个分块先传 t − 1 次做归约,再传 t − 1 次做 gather;无论 t 多大,总量都接近 2S。",
        ),
    )
    work.result(
        "traffic_per_layer_elements",
        Text("Elements per layer, forward + backward", "每层元素数(forward + backward)"),
        (2 * pairs + regathers) * (t - 1) * elements / t,
        "elements",
        key="E",
        formula=("(2 * <N> + <G>)" if regathers else "2 * <N>") + r" * \frac{<t> - 1}{<t>} * <b> * <s> * <h>",
        source=NARAYANAN,
        why=Text(
            "8bsh(t − 1)/t without recompute and sequence parallelism.", "不重计算、不开 SP 时就是 8bsh(t − 1)/t。"
        ),
    )
    return traffic


def _counts(work: Work, inputs: TpInputs) -> int:
    """Writes how many collectives a layer needs; gives the all-gathers that run besides the blocking ones."""
    pairs, forwards = blocking_pairs(inputs), forward_passes(inputs)
    alone = inputs.tensor_parallel_size == 1
    count = r"2_{\text{fwd}} + 2_{\text{bwd}}" + (r" + 2_{\text{recompute}}" if forwards == 2 else "")
    work.result(
        "all_reduces_per_layer",
        Text("All-reduces per layer", "每层 all-reduce 次数"),
        0 if inputs.sequence_parallel else pairs,
        "",
        key="R",
        symbol=r"N_{\text{AR}}",
        formula="0" if alone or inputs.sequence_parallel else count,
        source=SHOEYBI,
        why=Text("A group of one has nothing to reduce.", "只有一张卡,没有可归约的数据。")
        if alone
        else Text(
            "Sequence parallelism replaces each by a reduce-scatter and an all-gather, counted below.",
            "开启 SP 后,每次 all-reduce 换成 reduce-scatter 加 all-gather,见下两行。",
        )
        if inputs.sequence_parallel
        else Text(
            "Attention and MLP each reduce their output in forward and the gradient of their input in backward.",
            "attention 与 MLP 各在 forward 归约输出、在 backward 归约输入梯度。",
        ),
    )
    regathers = 2 if inputs.sequence_parallel and not alone else 0
    if inputs.sequence_parallel:
        _sequence_parallel_counts(work, pairs=pairs, regathers=regathers, count="0" if alone else count)
    work.step(
        "N",
        Text("Exchanges the next operation waits for", "后续计算必须等待的交换次数"),
        pairs,
        "",
        formula="0" if alone else count,
        why=Text("One exchange is an all-reduce or its two halves.", "一次交换指一次 all-reduce,或它拆成的两半。"),
    )
    return regathers


def _sequence_parallel_counts(work: Work, *, pairs: int, regathers: int, count: str) -> None:
    work.result(
        "reduce_scatters_per_layer",
        Text("Reduce-scatters per layer", "每层 reduce-scatter 次数"),
        pairs,
        "",
        key="RS",
        symbol=r"N_{\text{RS}}",
        formula=count,
        source=LAYERS,
    )
    work.step(
        "G", Text("Gathers repeated in backward", "backward 重做的 gather"), regathers, "", formula=str(regathers)
    )
    work.result(
        "all_gathers_per_layer",
        Text("All-gathers per layer", "每层 all-gather 次数"),
        pairs + regathers,
        "",
        key="AG",
        symbol=r"N_{\text{AG}}",
        formula=f"{count} + <G>" if regathers else "0",
        source=LAYERS,
        why=Text(
            "Only a shard of each block's input is kept, so backward gathers it again for the weight gradient.",
            "每个 block 只保留输入的一个分片,backward 算权重梯度前要再 gather 一次。",
        ),
    )


def _time(work: Work, inputs: TpInputs) -> float:
    t = inputs.tensor_parallel_size
    message = inputs.micro_batch_size * inputs.sequence_length * inputs.hidden_size * inputs.bytes_per_element
    each = work.result(
        "time_per_all_reduce_s",
        Text("Time of one all-reduce", "一次 all-reduce 的时间"),
        2 * (t - 1) * (inputs.latency_us * 1e-6 + message / (t * inputs.bandwidth_gb_per_s * GIGA)),
        "s",
        key="T",
        symbol=r"T_{\text{AR}}",
        formula=r"2(<t> - 1)\left(<a> + \frac{<S>}{<t> * <B>}\right)",
        source=RING,
        why=Text(
            "2(t − 1) ring steps, each a latency and one chunk of S/t over the link.",
            "共 2(t − 1) 步,每步一次延迟,再加 S/t 的分块通过链路的时间。",
        ),
    )
    work.result(
        "time_per_step_s",
        Text("All layers, forward + backward", "全部层,forward + backward"),
        inputs.layers * blocking_pairs(inputs) * each,
        "s",
        key="Tstep",
        symbol=r"T_{\text{step}}",
        formula="<L> * <N> * <T>",
        source=NARAYANAN,
        why=Text("For one micro-batch; nothing of it is hidden.", "对一个 micro-batch;全部暴露在关键路径上。"),
    )
    if inputs.sequence_parallel:
        work.result(
            "overlapped_time_s",
            Text("Repeated gathers, under the input gradient's GEMM", "重做的 gather(可藏在 dgrad 后面)"),
            0.0 if t == 1 else inputs.layers * each,
            "s",
            key="Thid",
            symbol=r"T_{\text{regather}}",
            formula=r"<L> * <G> * \frac{<T>}{2}",
            source=LAYERS,
            why=Text(
                "Two more all-gathers a layer, half an all-reduce each: 25 % more bytes, off the critical path while the GEMM is longer.",
                "每层多两次 all-gather,每次是 all-reduce 的一半:流量多 25 %,只要 GEMM 更长就不占关键路径。",
            ),
        )
    return each


def _roofline(work: Work, inputs: TpInputs, *, traffic: float, each: float) -> None:
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
            "12h² 个权重,每个 token 每个权重 2 FLOP;不含 attention 核心部分。",
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
            "forward 每层两次 all-reduce。e = 2 时化简为 3h/(t − 1),与 b、s 无关。",
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
        why=Text("Above it compute takes longer than communication.", "高于它时,计算时间比通信长。"),
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
        Text("Communication over compute, forward", "通信 / 计算(forward)"),
        2 * each / compute_time,
        "",
        key="rho",
        symbol=r"\rho",
        formula=r"\frac{2 * <T>}{<C>}",
        source="Ratio of the two times",
        why=Text("Above 1 the GPU waits more than it works.", "大于 1 时,GPU 等待的时间比计算还长。"),
    )


def _remarks(work: Work, inputs: TpInputs) -> None:
    t = inputs.tensor_parallel_size
    work.assume(
        "GEMMs run at peak and the attention core is not counted, which adds s/(6h) to the work.",
        "GEMM 按峰值计算,未计 attention 核心部分;算上它计算量再增加 s/(6h)。",
    )
    work.assume(
        "A GPT-style layer with 12h² weights. The embedding and the loss communicate besides.",
        "按 GPT 式的层(12h² 个权重)计算;embedding 与 loss 的通信另计。",
    )
    work.assume(
        "Bandwidth is what a ring really gets: measured bus bandwidth, if you have it.",
        "带宽指 ring 实际能得到的值,有实测 bus bandwidth 时请用实测值。",
    )
    if t == 1:
        work.warn(
            "A group of one communicates nothing: counts and times are 0, and FLOP per byte, which has no bytes to divide by, is shown as 0.",
            "只有一张卡,没有通信:次数与时间都是 0;每字节 FLOP 没有分母,显示为 0。",
        )
    elif inputs.hidden_size % t:
        work.warn(
            f"{t} does not divide the hidden size {inputs.hidden_size}: such a model cannot be split this way.",
            f"隐藏维度 {inputs.hidden_size} 不能被 {t} 整除,这样的模型无法这样切分。",
        )
    if t > 8 and inputs.bandwidth_gb_per_s <= 100:
        work.warn(
            "One network card's bandwidth is the pessimistic model of a group across nodes: a ring over all cards of a node gets more.",
            "跨机时只按一张网卡的带宽计是悲观估计:ring 若用上整机全部网卡,可用带宽更高。",
        )


def from_profile(profile: Profile, _inputs: TpInputs) -> dict[str, str]:
    """Bandwidth and compute of a machine."""
    changes = {}
    if profile.bytes_per_second:
        changes["bandwidth_gb_per_s"] = to_text(round(profile.bytes_per_second / GIGA, 3))
    if profile.flop_per_second:
        changes["peak_tflops"] = to_text(round(profile.flop_per_second / TERA, 3))
    return changes


def from_shape(shape: ModelShape) -> dict[str, str]:
    """Width, depth and sequence length of a model."""
    return {
        "sequence_length": str(shape.sequence_length),
        "hidden_size": str(shape.hidden_size),
        "layers": str(shape.layers),
    }


CALCULATOR = Calculator(
    slug="tp-communication",
    title=Text("Tensor-parallel communication", "张量并行的通信"),
    question=Text(
        "How often does a layer all-reduce, how much does each one move, and can compute cover it?",
        "一层要 all-reduce 几次、每次多少数据,计算能不能盖过通信?",
    ),
    inputs=TpInputs,
    compute=compute,
    headline=("message_bytes", "traffic_per_all_reduce_bytes", "time_per_all_reduce_s", "communication_over_compute"),
    sweep="tensor_parallel_size",
    sweep_result="communication_over_compute",
    drill=Drill(
        results=("message_bytes", "traffic_per_all_reduce_bytes", "time_per_all_reduce_s", "required_flop_per_byte"),
        draws={
            "micro_batch_size": ("1", "2", "4"),
            "sequence_length": ("2048", "4096", "8192"),
            "hidden_size": ("4096", "5120", "8192", "12288", "16384"),
            "tensor_parallel_size": ("2", "4", "8"),
            "bandwidth_gb_per_s": ("300", "450", "900"),
        },
    ),
    from_profile=from_profile,
    from_shape=from_shape,
    questions=("tp-communication",),
)
