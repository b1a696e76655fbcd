"""Datasheet profiles: what the vendor promises for A100, H100, H200, B200 and GB200.

The figures stand in `presets.yaml` with their sources. A collective is answered by the ring formula at
NVLink's wire speed, without latency: a lower bound that no real run beats with a ring, and small messages miss by far.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from app.core.errors import InvalidInput
from app.core.i18n import Text, same
from app.core.units import GIGA, TERA
from app.hardware.collective import OPERATIONS, bus_factor
from app.hardware.model import Estimate, Kind

FILE = Path(__file__).with_name("presets.yaml")

WIRE_SPEED = Text(
    "Ring formula at the NVLink rate of the datasheet, without latency: a lower bound.",
    "按数据手册的 NVLink 带宽套 ring 公式算出，不含延迟，是时间的下界。",
)
BEYOND_DOMAIN = Text(
    "Ring formula at the NVLink rate of the datasheet. One NVLink domain has {domain} GPUs; {ranks} ranks reach over"
    " the slower network, so the real time is longer.",
    "按数据手册的 NVLink 带宽套 ring 公式算出。一个 NVLink 域只有 {domain} 张 GPU，{ranks} 个 rank 要走更慢的网络，实际时间更长。",
)
ONE_RANK = Text("A single rank has nobody to talk to.", "只有一个 rank，无需通信。")


class Sheet(BaseModel):
    """One entry of `presets.yaml`: per GPU, dense peaks, one direction, decimal units."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    name: str
    bf16_tflops: float
    fp8_tflops: float | None = None
    fp4_tflops: float | None = None
    memory_gb: float
    memory_bandwidth_gb_per_s: float
    nvlink_gb_per_s: float
    nvlink_domain: int
    network_gb_per_s: float | None = None
    measured_bf16_tflops: float | None = None
    source: str
    url: str
    checked: date


@dataclass(frozen=True, slots=True)
class DatasheetProfile:
    """A `Profile` that answers from a datasheet, for any number of ranks."""

    sheet: Sheet
    kind: Kind = "datasheet"
    ranks: int | None = None

    @property
    def key(self) -> str:
        return self.sheet.key

    @property
    def title(self) -> Text:
        return same(self.sheet.name)

    @property
    def source(self) -> Text:
        checked = self.sheet.checked.isoformat()
        return Text(f"{self.sheet.source} (read {checked})", f"{self.sheet.source}（{checked} 查阅）")

    @property
    def flop_per_second(self) -> float | None:
        """Dense bf16 peak, FLOP/s."""
        return self.sheet.bf16_tflops * TERA

    @property
    def bytes_per_second(self) -> float | None:
        """NVLink, one direction, bytes/s."""
        return self.sheet.nvlink_gb_per_s * GIGA

    @property
    def overlap(self) -> Mapping[str, float]:
        """Nothing: a datasheet does not say what hides behind what."""
        return {}

    def collective(self, operation: str, message_bytes: float, ranks: int) -> Estimate:
        """Bus factor times message over NVLink rate. Raises InvalidInput for an unknown operation."""
        if operation not in OPERATIONS:
            raise InvalidInput({"operation": unknown_operation(operation)})
        if ranks == 1:
            return Estimate(0.0, "datasheet", ONE_RANK)
        seconds = float(bus_factor(operation, ranks=ranks)) * message_bytes / (self.sheet.nvlink_gb_per_s * GIGA)
        domain = self.sheet.nvlink_domain
        note = WIRE_SPEED if ranks <= domain else BEYOND_DOMAIN.format(domain=domain, ranks=ranks)
        return Estimate(seconds, "datasheet", note)


def unknown_operation(operation: str) -> Text:
    """The message for a collective nobody here knows."""
    known = ", ".join(OPERATIONS)
    return Text(
        f"There is no collective {operation!r}. Known: {known}.", f"没有 {operation!r} 这个集合操作。可用：{known}。"
    )


@cache
def presets() -> dict[str, DatasheetProfile]:
    """The datasheet profiles by key, in the order of the file."""
    sheets = [Sheet.model_validate(entry) for entry in yaml.safe_load(FILE.read_text(encoding="utf-8"))]
    return {sheet.key: DatasheetProfile(sheet) for sheet in sheets}
