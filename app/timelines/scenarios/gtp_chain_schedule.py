"""Writes the operations of a GTP_remat chain down in the order in which a rank launches them.

Forward: wait for W_i, issue the all-gather of W_(i+1), GEMM_i. Backward: wait for W_i, issue the all-gather of
W_(i-1), dgrad, wgrad, issue RS_i, finalise RS_(i+1). A gathered weight lives until its GEMM, or its dgrad, ends.
"""

from collections.abc import Sequence
from fractions import Fraction

from app.core.i18n import Text
from app.timelines.model import ZERO, Allocation, Operation, Schedule
from app.timelines.scenarios.gtp_chain_inputs import GtpChainInputs

DEVICE = "GPU 0"
COMPUTE = "compute"
GATHER = "all-gather"
SCATTER = "reduce-scatter"
SHARED = "communication"


class _Builder:
    """Writes the operations down in the order in which a rank launches them."""

    def __init__(self, inputs: GtpChainInputs) -> None:
        self.inputs = inputs
        self.chain = inputs.chain()
        self.operations: list[Operation] = []
        self.allocations: list[Allocation] = []

    def _add(
        self, name: str, stream: str, *, duration: Fraction, label: str, short: str, detail: Text, after: Sequence[str]
    ) -> str:
        self.operations.append(
            Operation(
                id=name,
                device=DEVICE,
                stream=stream,
                kind="compute" if stream == COMPUTE else "communication",
                duration=duration,
                label=label,
                short=short,
                detail=detail,
                after=tuple((before, ZERO) for before in dict.fromkeys(after)),
            )
        )
        return name

    def gather(self, direction: str, layer: int, after: list[str], *, ahead: bool) -> str:
        """The all-gather of W_layer, held until its GEMM (or dgrad) ends."""
        how = (
            Text("issued ahead, beside the GEMMs of the layer before", "提前发射，与前一层的 GEMM 重叠")
            if ahead
            else Text("synchronous: nothing else can run", "同步等待，期间没有别的可算")
        )
        name = self._add(
            f"{direction}-ag-{layer}",
            SHARED if self.inputs.shared_queue else GATHER,
            duration=self.chain[layer - 1][1],
            label=f"AG W{layer}",
            short=f"W{layer}",
            detail=Text(f"All-gather of weight {layer}, {how.en}.", f"收集第 {layer} 个权重的 all-gather，{how.zh}。"),
            after=after,
        )
        user = f"f-gemm-{layer}" if direction == "f" else f"b-dgrad-{layer}"
        self.allocations.append(Allocation(device=DEVICE, size=Fraction(1), first=name, last=user))
        return name

    def forward(self, *, prefetch: bool) -> None:
        """Wait for W_i, issue the gather of W_(i+1), GEMM_i."""
        gathered: dict[int, str] = {1: self.gather("f", 1, [], ahead=False)}
        for layer, (duration, _) in enumerate(self.chain, start=1):
            before = [f"f-gemm-{layer - 1}"] if layer > 1 else []
            if layer not in gathered:
                gathered[layer] = self.gather("f", layer, before, ahead=False)
            if prefetch and layer < len(self.chain):
                gathered[layer + 1] = self.gather("f", layer + 1, [gathered[layer], *before], ahead=True)
            self._add(
                f"f-gemm-{layer}",
                COMPUTE,
                duration=duration,
                label=f"GEMM {layer}",
                short=f"{layer}",
                detail=Text(
                    f"Forward GEMM of layer {layer}; then its gathered weight is freed.",
                    f"第 {layer} 层前向 GEMM，算完即释放收集来的权重。",
                ),
                after=[gathered[layer]],
            )

    def backward(self, after: list[str]) -> None:
        """Wait for W_i, issue the gather of W_(i-1), dgrad, wgrad, issue RS_i, finalise RS_(i+1)."""
        length = len(self.chain)
        stream = SHARED if self.inputs.shared_queue else SCATTER
        half = self.inputs.backward / 2
        gathered = {length: self.gather("b", length, after, ahead=False)}
        before = after
        for layer in range(length, 0, -1):
            if layer > 1:
                gathered[layer - 1] = self.gather("b", layer - 1, [gathered[layer], *before], ahead=True)
            dgrad = self._add(
                f"b-dgrad-{layer}",
                COMPUTE,
                duration=half,
                label=f"dgrad {layer}",
                short=f"d{layer}",
                detail=Text(
                    f"Gradient of the input of layer {layer}: needs the gathered weight.",
                    f"第 {layer} 层输入的梯度，需要完整权重。",
                ),
                after=[gathered[layer], *before],
            )
            wgrad = self._add(
                f"b-wgrad-{layer}",
                COMPUTE,
                duration=self.inputs.backward - half,
                label=f"wgrad {layer}",
                short=f"w{layer}",
                detail=Text(
                    f"Gradient of weight {layer}, then its reduce-scatter is launched.",
                    f"第 {layer} 个权重的梯度，算完发射它的 reduce-scatter。",
                ),
                after=[dgrad],
            )
            head = layer == 1
            how = (
                Text("synchronous, as the head of the chain has no later layer", "同步等待：链头之后没有别的层可算")
                if head
                else Text("added into main_grad one layer later", "晚一层再累加进 main_grad")
            )
            self._add(
                f"b-rs-{layer}",
                stream,
                duration=self.inputs.reduce_scatter,
                label=f"RS dW{layer}",
                short=f"dW{layer}",
                detail=Text(
                    f"Reduce-scatter of the gradient of weight {layer}, {how.en}.",
                    f"第 {layer} 个权重梯度的 reduce-scatter，{how.zh}。",
                ),
                after=[wgrad],
            )
            before = [wgrad] + ([f"b-rs-{layer + 1}"] if layer < length else [])


def build(inputs: GtpChainInputs) -> Schedule:
    """The schedule of one pass. A step is the steady forward, then the backward."""
    builder = _Builder(inputs)
    if inputs.runs_forward:
        builder.forward(prefetch=inputs.knows_chain)
    if inputs.runs_backward:
        builder.backward([f"f-gemm-{len(builder.chain)}"] if inputs.runs_forward else [])
    return Schedule(
        operations=tuple(builder.operations),
        allocations=tuple(builder.allocations),
        contention=inputs.contention,
    )
