"""What stands in `reference.yaml`, typed, and the reader that says in which line a mistake is.

`app/hardware/reference.py` answers questions from it; this file knows nothing of runs. Rates are decimal GB/s per rank, sizes
binary, latencies microseconds.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from app.core.i18n import Text
from app.core.units import GIB, KIB, MIB
from app.hardware.collective import OPERATIONS

FILE = Path(__file__).with_name("reference.yaml")

Algorithm = Literal["ring", "tree", "nvls", "nvls_tree", "collnet"]
Link = Literal[
    "nvlink",
    "nvlink-bridge",
    "nvlink-c2c",
    "infinity-fabric",
    "pcie",
    "infiniband",
    "roce",
    "efa",
    "slingshot",
    "tcpx",
    "tcpxo",
    "network",
    "loopback",
]
"""What the bytes cross at the narrowest place; `network` where the post does not tell the kind."""
Direction = Literal["host_to_device", "device_to_host", "device_to_device"]

_UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
_SIZE = re.compile(r"^([1-9]\d*) (B|KiB|MiB|GiB)\Z")


class BadReference(ValueError):
    """A value of the file is wrong; the message begins with file and line."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Bilingual(_Strict):
    """A remark of ours in both languages."""

    en: str
    zh: str

    @property
    def text(self) -> Text:
        return Text(self.en, self.zh)


class Source(_Strict):
    """Where figures were posted. Either `checked`, the day it was opened, or `second_hand`."""

    title: str
    url: Annotated[str, Field(pattern=r"^https://\S+$")] | None = None
    checked: date | None = None
    second_hand: bool = False

    @model_validator(mode="after")
    def _known_or_not(self) -> Self:
        if (self.checked is None) != self.second_hand:
            raise ValueError("give the day it was `checked`, or `second_hand: true`, not both")
        if self.checked is not None and self.url is None:
            raise ValueError("a source that was checked has a `url`")
        return self


class System(_Strict):
    """A device model and the exact names that CUDA or ROCm reports for it."""

    name: str
    devices: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]


class _Posted(_Strict):
    system: str
    source: str
    locator: str
    note: Bilingual | None = None


class Collective(_Posted):
    """Bus bandwidth in GB/s, or at a small size the latency in microseconds, over `ranks` on `nodes` machines."""

    operation: str
    nodes: Annotated[int, Field(ge=1)]
    ranks: Annotated[int, Field(ge=2)]
    size: Annotated[str, Field(pattern=_SIZE)] | None = None
    busbw_gb_per_s: Annotated[float, Field(gt=0)] | None = None
    latency_us: Annotated[float, Field(gt=0)] | None = None
    dtype: str = "float"
    algorithm: Algorithm | None = None
    link: Link
    emulated: bool = False

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.operation not in OPERATIONS:
            raise ValueError(f"unknown operation {self.operation!r}; known: {', '.join(OPERATIONS)}")
        if (self.busbw_gb_per_s is None) == (self.latency_us is None):
            raise ValueError("give either `busbw_gb_per_s` or `latency_us`")
        if self.latency_us is not None and self.size is None:
            raise ValueError("a latency needs its `size`")
        if self.ranks % self.nodes:
            raise ValueError(f"{self.ranks} ranks do not spread evenly over {self.nodes} nodes")
        return self

    @property
    def size_bytes(self) -> int | None:
        """The size column of nccl-tests; None where the post does not tell it."""
        match = _SIZE.fullmatch(self.size) if self.size else None
        return int(match[1]) * _UNITS[match[2]] if match else None

    @property
    def value(self) -> float:
        """GB/s of bus bandwidth, or microseconds."""
        value = self.busbw_gb_per_s if self.latency_us is None else self.latency_us
        assert value is not None
        return value


class Gemm(_Posted):
    """A dense matrix multiplication of `shape` m, n, k on one device, TFLOP/s."""

    dtype: str
    shape: Annotated[tuple[int, int, int], Field(strict=False)]
    tflop_per_s: Annotated[float, Field(gt=0)]

    @property
    def value(self) -> float:
        """TFLOP/s."""
        return self.tflop_per_s


class Copy(_Posted):
    """A copy of one device, one way, GB/s."""

    path: Direction
    link: Link
    gb_per_s: Annotated[float, Field(gt=0)]

    @property
    def value(self) -> float:
        """GB/s."""
        return self.gb_per_s


class Reference(_Strict):
    """The whole file."""

    sources: dict[str, Source]
    systems: dict[str, System]
    collectives: Annotated[tuple[Collective, ...], Field(strict=False)]
    gemm: Annotated[tuple[Gemm, ...], Field(strict=False)]
    copies: Annotated[tuple[Copy, ...], Field(strict=False)]


@cache
def reference() -> Reference:
    """The figures that ship with the program."""
    return load(FILE.read_text(encoding="utf-8"), name=FILE.name)


def load(text: str, *, name: str) -> Reference:
    """The figures in `text`. Raises BadReference with `name`, the line and what is wrong there."""
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        lines = dict(_lines(root, ())) if root is not None else {}
        raw = loader.construct_document(root) if root is not None else {}
    except _Twice as error:
        raise BadReference(f"{name}:{error.line}: the key `{error.key}` stands here twice") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadReference(f"{name}:{mark.line + 1 if mark else 1}: not valid YAML: {error.problem}") from None
    try:
        found = Reference.model_validate(raw)
    except ValidationError as error:
        detail = error.errors()[0]
        where = tuple(detail["loc"])
        place = " ".join(map(str, where))
        raise BadReference(f"{name}:{_line(lines, where)}: {place}: {detail['msg']}") from None
    for where, what in _dangling(found):
        raise BadReference(f"{name}:{_line(lines, where)}: {what}")
    return found


class _Twice(Exception):
    def __init__(self, key: str, line: int) -> None:
        super().__init__(key)
        self.key = key
        self.line = line


def _lines(node: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """The 1-based line of every place. Raises _Twice: YAML itself would silently keep the last of two equal keys."""
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise _Twice(key.value, key.start_mark.line + 1)
            seen.add(key.value)
            yield from _lines(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for place, item in enumerate(node.value):
            yield from _lines(item, (*path, place))


def _line(lines: dict[tuple[str | int, ...], int], where: tuple[str | int, ...]) -> int:
    while where and where not in lines:
        where = where[:-1]
    return lines.get(where, 1)


def _dangling(found: Reference) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Figures that name a system or a source which the file does not have, and device names that stand in two systems."""
    for kind in ("collectives", "gemm", "copies"):
        for place, figure in enumerate(getattr(found, kind)):
            if figure.system not in found.systems:
                yield (kind, place, "system"), f"there is no system `{figure.system}`"
            if figure.source not in found.sources:
                yield (kind, place, "source"), f"there is no source `{figure.source}`"
    owner: dict[str, str] = {}
    for key, system in found.systems.items():
        for place, device in enumerate(system.devices):
            if owner.setdefault(device, key) != key:
                yield ("systems", key, "devices", place), f"`{device}` also belongs to `{owner[device]}`"
