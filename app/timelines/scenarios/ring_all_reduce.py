"""A ring all-reduce, chunk by chunk: who sends what to whom, and what each buffer holds.

Claim: 2(n-1) equal steps, in each of which every rank sends one chunk of 1/n of the buffer; n-1 of them add
(reduce-scatter), n-1 only copy (all-gather). Rank r starts with the numbers r·n+1 … r·n+n, so two ranks show
1+3 = 4 and 2+4 = 6. Steps as in the ring of NCCL and of Patarasuk and Yuan 2009.
"""

from fractions import Fraction

from app.core.i18n import Text
from app.core.inputs import Inputs, rational, real, whole
from app.hardware.model import Estimate, Profile
from app.timelines.model import ZERO, Operation, Schedule, Trace
from app.timelines.scenario import MAKESPAN, Comparison, Filling, Frame, Measure, Scenario, Value

STREAM = "send"
LARGEST_PICTURE = 8
"""Above this many ranks the cells would be too small to read."""

MOST_TERMS = 8


class RingInputs(Inputs):
    """Times in ms."""

    ranks: int = whole(
        4,
        title=Text("Ranks n", "rank 数 n"),
        help=Text(
            "Ranks in the ring; the buffer is cut into as many chunks.", "环上的 rank 数，缓冲区也切成同样多块。"
        ),
        minimum=2,
        maximum=64,
    )
    chunk_time: Fraction = rational(
        1,
        title=Text("Time per chunk", "每块的时间"),
        help=Text(
            "One step: latency plus 1/n of the buffer over one link.",
            "一步的时间：延迟加上 1/n 缓冲区经过一条链路的时间。",
        ),
        unit="ms",
    )


def start_value(rank: int, chunk: int, ranks: int) -> int:
    """What `chunk` of `rank` holds at the start: 1, 2 on rank 0 and 3, 4 on rank 1 of two."""
    return rank * ranks + chunk + 1


class Ring:
    """The buffers of all ranks, moved on step by step. `owners[rank][chunk]` are the ranks whose numbers are in it."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.owners: list[list[tuple[int, ...]]] = [[(rank,)] * ranks for rank in range(ranks)]

    @property
    def steps(self) -> int:
        """2(n-1)."""
        return 2 * (self.ranks - 1)

    def reduces(self, step: int) -> bool:
        """Whether the receiver adds in this step, or only copies."""
        return step < self.ranks - 1

    def sent_chunk(self, step: int, rank: int) -> int:
        """The chunk that `rank` sends to its right neighbour."""
        if self.reduces(step):
            return (rank - step) % self.ranks
        return (rank + 1 - (step - (self.ranks - 1))) % self.ranks

    def move(self, step: int) -> None:
        """All ranks send at once."""
        sent = [self.owners[rank][self.sent_chunk(step, rank)] for rank in range(self.ranks)]
        for rank, owners in enumerate(sent):
            right, chunk = (rank + 1) % self.ranks, self.sent_chunk(step, rank)
            self.owners[right][chunk] = owners + self.owners[right][chunk] if self.reduces(step) else owners

    def value(self, rank: int, chunk: int) -> int:
        """The sum that a chunk of a rank holds now."""
        owners = self.owners[rank][chunk]
        return sum(owners) * self.ranks + len(owners) * start_value(0, chunk, self.ranks)

    def sum_text(self, rank: int, chunk: int) -> str:
        """`1+3=4`; with more terms than can be read, `Σ=4160`."""
        if len(self.owners[rank][chunk]) > MOST_TERMS:
            return f"Σ={self.value(rank, chunk)}"
        terms = [start_value(owner, chunk, self.ranks) for owner in sorted(self.owners[rank][chunk])]
        if len(terms) == 1:
            return str(terms[0])
        return f"{'+'.join(str(term) for term in terms)}={sum(terms)}"


def build(inputs: RingInputs) -> Schedule:
    """One operation per rank and step. A rank sends on what it received in the step before."""
    ring = Ring(inputs.ranks)
    operations: list[Operation] = []
    for step in range(ring.steps):
        sent = [ring.sent_chunk(step, rank) for rank in range(ring.ranks)]
        payload = [ring.value(rank, sent[rank]) for rank in range(ring.ranks)]
        ring.move(step)
        for rank in range(ring.ranks):
            right = (rank + 1) % ring.ranks
            text = ring.sum_text(right, sent[rank])
            if ring.reduces(step):
                result = Text(f"which adds: {text}.", f"对方累加：{text}。")
            else:
                result = Text(f"which copies the finished sum {payload[rank]}.", f"对方写入完成的和 {payload[rank]}。")
            phase = Text("reduce-scatter", "reduce-scatter") if ring.reduces(step) else Text("all-gather", "all-gather")
            operations.append(
                Operation(
                    id=f"s{step + 1}-r{rank}",
                    device=f"rank {rank}",
                    stream=STREAM,
                    kind="communication",
                    duration=inputs.chunk_time,
                    label=f"c{sent[rank]} → r{right}",
                    short=f"c{sent[rank]}",
                    detail=Text(
                        f"Step {step + 1} ({phase.en}): rank {rank} sends chunk {sent[rank]} ({payload[rank]}) to rank {right}, {result.en}",
                        f"第 {step + 1} 步（{phase.zh}）：rank {rank} 把第 {sent[rank]} 块（{payload[rank]}）发给 rank {right}，{result.zh}",
                    ),
                    after=((f"s{step}-r{(rank - 1) % ring.ranks}", ZERO),) if step else (),
                )
            )
    return Schedule(operations=tuple(operations))


def summarise(inputs: RingInputs, trace: Trace) -> dict[str, Value]:
    """Each rank sends one chunk in each step."""
    steps = 2 * (inputs.ranks - 1)
    return {
        "makespan": trace.makespan,
        "steps": steps,
        "sent_chunks_per_rank": sum(span.operation.device == "rank 0" for span in trace.spans),
        "sent_share": Fraction(steps, inputs.ranks),
    }


def frames(inputs: RingInputs, _trace: Trace) -> tuple[Frame, ...]:
    """The buffers before each step and after the last; none for rings too large to draw."""
    if inputs.ranks > LARGEST_PICTURE:
        return ()
    ring = Ring(inputs.ranks)
    found: list[Frame] = []
    changed: set[tuple[int, int]] = set()
    for step in range(ring.steps + 1):
        start = step * inputs.chunk_time
        if step == 0:
            title = Text("start", "开始")
        elif step == ring.steps:
            title = Text("done", "完成")
        else:
            title = Text(f"after {step}", f"{step} 步后")
        found.append(
            Frame(
                start=start,
                end=start + (inputs.chunk_time if step < ring.steps else 0),
                title=title,
                cells=tuple(
                    tuple(
                        (ring.sum_text(rank, chunk), len(ring.owners[rank][chunk]), (rank, chunk) in changed)
                        for chunk in range(ring.ranks)
                    )
                    for rank in range(ring.ranks)
                ),
            )
        )
        if step < ring.steps:
            changed = {((rank + 1) % ring.ranks, ring.sent_chunk(step, rank)) for rank in range(ring.ranks)}
            ring.move(step)
    return tuple(found)


class RingShape(Inputs):
    """What is reduced."""

    message_bytes: float = real(
        67108864,
        title=Text("Buffer", "缓冲区大小"),
        help=Text("The full buffer of one rank; 2^26 is 64 MiB.", "一个 rank 的完整缓冲区；2^26 即 64 MiB。"),
        unit="bytes",
        minimum=1,
        maximum=1e15,
    )


def durations(shape: RingShape, inputs: RingInputs, profile: Profile) -> dict[str, Estimate]:
    """The profile's all-reduce, cut into 2(n-1) equal steps."""
    whole_run = profile.collective("all_reduce", shape.message_bytes, inputs.ranks)
    steps = 2 * (inputs.ranks - 1)
    note = Text(
        f"One of {steps} equal steps of the whole all-reduce. {whole_run.note.en}",
        f"整个 all-reduce 等分为 {steps} 步中的一步。{whole_run.note.zh}",
    )
    return {"chunk_time": Estimate(whole_run.seconds / steps, whole_run.basis, note)}


SCENARIO = Scenario(
    slug="ring-all-reduce",
    title=Text("Ring all-reduce, chunk by chunk", "环形 all-reduce，逐块演示"),
    claim=Text(
        "2(n-1) equal steps; every link carries one chunk in each, so a rank sends 2(n-1)/n of its buffer.",
        "共 2(n-1) 个等长的步；每步每条链路传一块，因此每个 rank 发送 2(n-1)/n 个缓冲区。",
    ),
    rules=(
        Text(
            "Reduce-scatter, n-1 steps: each rank sends one chunk to its right neighbour, which adds its own.",
            "reduce-scatter，n-1 步：每个 rank 把一块发给右邻居，右邻居加上自己的那一块。",
        ),
        Text("Then rank r holds the finished chunk (r+1) mod n.", "之后 rank r 持有算完的第 (r+1) mod n 块。"),
        Text(
            "All-gather, n-1 steps: the finished chunks travel on, without adding.",
            "all-gather，n-1 步：算完的块继续向右传，不再相加。",
        ),
    ),
    inputs=RingInputs,
    build=build,
    summarise=summarise,
    frames=frames,
    measures=(
        MAKESPAN,
        Measure("steps", Text("steps", "步数"), Text("2(n-1).", "2(n-1)。")),
        Measure(
            "sent_chunks_per_rank",
            Text("chunks sent per rank", "每个 rank 发送的块数"),
            Text("One in each step.", "每步一块。"),
        ),
        Measure(
            "sent_share",
            Text("buffers sent per rank", "每个 rank 发送的缓冲区份数"),
            Text("2(n-1)/n, below 2 for any n.", "2(n-1)/n，无论 n 多大都小于 2。"),
        ),
    ),
    comparisons=(
        Comparison(Text("Two ranks", "两个 rank"), {"ranks": "2"}),
        Comparison(Text("Eight ranks, same buffer", "八个 rank，缓冲区相同"), {"ranks": "8", "chunk_time": "0.5"}),
    ),
    filling=Filling(
        shape=RingShape,
        durations=durations,
        fills=("chunk_time",),
        ranks="ranks",
        small={"message_bytes": "4194304"},
    ),
)
