"""How often tensor parallelism communicates in a transformer layer, how much, and whether compute can cover it.

Megatron-style: each of the two blocks of a layer all-reduces its [b, s, h] output once forward and once
backward. By hand, b = 1, s = 4096, h = 8192, bf16, t = 8: 64 MiB a message, 112 MiB sent per GPU,
0.261 ms at 450 GB/s. Sources: Shoeybi et al. 2019 §3, Narayanan et al. 2021 §3.2; sequence parallelism and
its second gather of the input as in Megatron Core's tensor_parallel/layers.py.
"""

from app.calculators import tp_remarks, tp_roofline
from app.calculators.model import Calculator, Drill, Outcome
from app.calculators.shapes import ModelShape
from app.calculators.tp_inputs import TpInputs, blocking_pairs, forward_passes
from app.calculators.work import Work
from app.core.i18n import Text
from app.core.inputs import to_text
from app.core.units import GIGA, TERA
from app.hardware.model import Profile

SHOEYBI = "Shoeybi et al. 2019, §3, Fig. 4"
NARAYANAN = "Narayanan et al. 2021, §3.2"
RING = "nccl-tests, doc/PERFORMANCE.md"
LAYERS = "Megatron Core, tensor_parallel/layers.py"


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
    tp_roofline.compare(work, inputs, traffic=traffic, each=each)
    tp_remarks.add_remarks(work, inputs)
    tp_remarks.add_mistakes(work, inputs)
    return work.outcome()


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
            "The output of a block, one vector of h for every token.", "一个 block 的输出：每个 token 一个 h 维向量。"
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
            "ring 中每个分块先传 t − 1 次做归约，再传 t − 1 次做 gather；无论 t 多大，总量都接近 2S。",
        ),
    )
    work.result(
        "traffic_per_layer_elements",
        Text("Elements per layer, forward + backward", "每层元素数（forward + backward）"),
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
        why=Text("A group of one has nothing to reduce.", "只有一张卡，没有可归约的数据。")
        if alone
        else Text(
            "Sequence parallelism replaces each by a reduce-scatter and an all-gather, counted below.",
            "开启 SP 后，每次 all-reduce 换成 reduce-scatter 加 all-gather，见下两行。",
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
        why=Text("One exchange is an all-reduce or its two halves.", "一次交换指一次 all-reduce，或它拆成的两半。"),
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
            "每个 block 只保留输入的一个分片，backward 算权重梯度前要再 gather 一次。",
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
            "共 2(t − 1) 步，每步一次延迟，再加 S/t 的分块通过链路的时间。",
        ),
    )
    work.result(
        "time_per_step_s",
        Text("All layers, forward + backward", "全部层，forward + backward"),
        inputs.layers * blocking_pairs(inputs) * each,
        "s",
        key="Tstep",
        symbol=r"T_{\text{step}}",
        formula="<L> * <N> * <T>",
        source=NARAYANAN,
        why=Text("For one micro-batch; nothing of it is hidden.", "对一个 micro-batch；全部暴露在关键路径上。"),
    )
    if inputs.sequence_parallel:
        work.result(
            "overlapped_time_s",
            Text("Repeated gathers, under the input gradient's GEMM", "重做的 gather（可藏在 dgrad 后面）"),
            0.0 if t == 1 else inputs.layers * each,
            "s",
            key="Thid",
            symbol=r"T_{\text{regather}}",
            formula=r"<L> * <G> * \frac{<T>}{2}",
            source=LAYERS,
            why=Text(
                "Two more all-gathers a layer, half an all-reduce each: 25 % more bytes, off the critical path while the GEMM is longer.",
                "每层多两次 all-gather，每次是 all-reduce 的一半：流量多 25 %，只要 GEMM 更长就不占关键路径。",
            ),
        )
    return each


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
        "一层要 all-reduce 几次、每次多少数据，计算能不能盖过通信？",
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
    thresholds={"communication_over_compute": (1.0, Text("as long as compute", "与计算一样长"))},
)
