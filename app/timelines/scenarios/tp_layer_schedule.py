"""Writes the operations of one tensor-parallel layer down in the order of their launch.

Forward waits for every collective. Backward launches the sum of the input gradient after dgrad and waits for it after
wgrad; with sequence parallelism the saved input is gathered once more, beside dgrad.
"""

from fractions import Fraction

from app.core.i18n import Text
from app.timelines.model import ZERO, Operation, Schedule
from app.timelines.scenarios.tp_layer_inputs import TpLayerInputs

DEVICE = "GPU 0"
COMPUTE = "compute"
COMMUNICATION = "TP communication"

SHORT = {
    "attention": "attn",
    "attention bwd": "attn",
    "FC1 dgrad": "d",
    "QKV dgrad": "d",
    "FC1 wgrad": "w",
    "QKV wgrad": "w",
    "AG x": "AG",
    "AG dy": "AG",
    "RS y": "RS",
    "RS dx": "RS",
}


class _Builder:
    """Everything runs in the order of launch; `last` is what the next operation needs."""

    def __init__(self, inputs: TpLayerInputs) -> None:
        self.inputs = inputs
        self.operations: list[Operation] = []
        self.last: list[str] = []

    def compute(self, name: str, duration: Fraction, label: str, detail: Text) -> str:
        """A block on the compute stream after all of `last`."""
        return self._add(name, COMPUTE, duration, label, detail)

    def communicate(self, name: str, duration: Fraction, label: str, detail: Text) -> str:
        """A collective after all of `last`."""
        return self._add(name, COMMUNICATION, duration, label, detail)

    def _add(self, name: str, stream: str, duration: Fraction, label: str, detail: Text) -> str:
        self.operations.append(
            Operation(
                id=name,
                device=DEVICE,
                stream=stream,
                kind="compute" if stream == COMPUTE else "communication",
                duration=duration,
                label=label,
                short=SHORT.get(label, label.removeprefix("AR ")),
                detail=detail,
                after=tuple((before, ZERO) for before in self.last),
            )
        )
        return name

    def forward(self) -> None:
        """Attention, then the MLP; each ends in a collective that the next needs."""
        half = self.inputs.all_reduce / 2
        for place, (block, name) in enumerate((("attention", "attention"), ("mlp", "MLP"))):
            duration = self.inputs.attention_gemm if block == "attention" else self.inputs.mlp_gemm
            if self.inputs.sequence_parallel:
                gather = self.communicate(
                    f"f-ag-{block}",
                    half,
                    "AG x",
                    Text(f"All-gather of the {name}'s input along the sequence.", f"沿序列维收集 {name} 的输入。"),
                )
                self.last = [gather]
            main = self.compute(
                f"f-{block}",
                duration,
                name,
                Text(f"Forward of the {name} block on this rank's slice.", f"{name} 模块在本 rank 切片上的前向。"),
            )
            self.last = [main]
            if self.inputs.sequence_parallel:
                end = self.communicate(
                    f"f-rs-{block}",
                    half,
                    "RS y",
                    Text(
                        f"Reduce-scatter of the {name}'s output along the sequence.",
                        f"沿序列维 reduce-scatter {name} 的输出。",
                    ),
                )
            else:
                end = self.communicate(
                    f"f-ar-{block}",
                    self.inputs.all_reduce,
                    f"AR {place + 1}",
                    Text(
                        f"Forward all-reduce: sums the {name}'s partial outputs (g).",
                        f"前向 all-reduce（g）：把 {name} 的部分和相加。",
                    ),
                )
            self.last = [end]

    def backward(self) -> None:
        """MLP first. Its input gradient is summed beside the weight gradient of the column-parallel linear."""
        for place, (block, name, linear) in enumerate((("mlp", "MLP", "FC1"), ("attention", "attention", "QKV"))):
            forward = self.inputs.attention_gemm if block == "attention" else self.inputs.mlp_gemm
            if self.inputs.sequence_parallel:
                self._backward_sequence_parallel(block, name, linear, 2 * forward)
            else:
                self._backward_plain(block, name, linear, 2 * forward, f"AR {place + 3}")

    def _backward_plain(self, block: str, name: str, linear: str, total: Fraction, label: str) -> None:
        hides = self.inputs.weight_grad
        dgrad = self.compute(
            f"b-{block}",
            total - hides,
            f"{name} bwd",
            Text(
                f"Backward of the {name} block up to the input gradient of {linear}.",
                f"{name} 模块的反向，直到 {linear} 的 dgrad。",
            ),
        )
        reduce = Text(
            f"Backward all-reduce: sums the input gradients of {linear} (f).",
            f"反向 all-reduce（f）：把 {linear} 的输入梯度相加。",
        )
        weight = Text(
            f"Weight gradient of {linear}: nothing that follows in this layer needs it.",
            f"{linear} 的权重梯度，本层之后的计算不依赖它。",
        )
        self.last = [dgrad]
        if self.inputs.async_backward:
            summed = self.communicate(f"b-ar-{block}", self.inputs.all_reduce, label, reduce)
            wgrad = self.compute(f"b-wgrad-{block}", hides, f"{linear} wgrad", weight)
            self.last = [summed, wgrad]
        else:
            self.last = [self.compute(f"b-wgrad-{block}", hides, f"{linear} wgrad", weight)]
            self.last = [self.communicate(f"b-ar-{block}", self.inputs.all_reduce, label, reduce)]

    def _backward_sequence_parallel(self, block: str, name: str, linear: str, total: Fraction) -> None:
        """The output gradient is gathered first; then the saved input is gathered beside dgrad, dX scattered beside wgrad."""
        half = self.inputs.all_reduce / 2
        hides = self.inputs.weight_grad
        asynchronous = self.inputs.async_backward

        def communicate(kind: str, label: str, detail: Text) -> str:
            return self.communicate(f"b-{kind}-{block}", half, label, detail)

        self.last = [
            communicate(
                "ag-dy",
                "AG dy",
                Text(
                    f"All-gather of the gradient of the {name}'s output: needed at once.",
                    f"收集 {name} 输出的梯度，立刻就要用。",
                ),
            )
        ]
        self.last = [
            self.compute(
                f"b-{block}",
                total - 2 * hides,
                f"{name} bwd",
                Text(f"Backward of the {name} block before {linear}.", f"{name} 模块反向中 {linear} 之前的部分。"),
            )
        ]
        gathered = communicate(
            "ag-x",
            "AG x",
            Text(
                f"All-gather of the saved input of {linear}: its weight gradient needs it.",
                f"重新收集 {linear} 保存的输入，wgrad 要用。",
            ),
        )
        if not asynchronous:
            self.last = [gathered]
        dgrad = self.compute(
            f"b-dgrad-{block}", hides, f"{linear} dgrad", Text(f"Input gradient of {linear}.", f"{linear} 的输入梯度。")
        )
        self.last = [dgrad, gathered]
        scatter = Text(f"Reduce-scatter of the input gradient of {linear}.", f"{linear} 输入梯度的 reduce-scatter。")
        weight = Text(f"Weight gradient of {linear}.", f"{linear} 的权重梯度。")
        if asynchronous:
            scattered = communicate("rs-dx", "RS dx", scatter)
            wgrad = self.compute(f"b-wgrad-{block}", hides, f"{linear} wgrad", weight)
            self.last = [scattered, wgrad]
        else:
            self.last = [self.compute(f"b-wgrad-{block}", hides, f"{linear} wgrad", weight)]
            self.last = [communicate("rs-dx", "RS dx", scatter)]


def build(inputs: TpLayerInputs) -> Schedule:
    """The schedule of one layer and one micro-batch."""
    builder = _Builder(inputs)
    if inputs.runs_forward:
        builder.forward()
    if inputs.runs_backward:
        builder.backward()
    return Schedule(operations=tuple(builder.operations), contention=inputs.contention)
