"""The JSON that nccl-tests writes with -J, versions 1 to 4.

The file holds the whole environment of whoever ran it. Only variables that describe the communication are kept, and of those
none whose name suggests a secret; the others are counted and forgotten. Booleans arrive as the strings "true" and "false",
numbers that are none as "nan", and a file whose program died is cut off: its complete results are read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.bench.importers.assemble import assemble
from app.bench.importers.badges import badge
from app.bench.importers.facts import LAUNCH_TIME, Facts, torn
from app.bench.importers.json_documents import Document, documents
from app.bench.importers.model import Device, Import
from app.bench.importers.raw import Printed, RawRow
from app.bench.importers.reader import Log, Reader
from app.bench.importers.units import ELEMENT_BYTES, REDOPS, bus_factor, operation_name
from app.core.i18n import Text

_ALLOWED = re.compile(r"(?:NCCL|UCX|FI|OMPI)_\w+|CUDA_VISIBLE_DEVICES")
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|KEY|CREDENTIAL|AUTH", re.IGNORECASE)
_MARK = re.compile(r'"(?:average_bus_bandwidi?th|out_of_bounds|nccl_version|out_of_place)"\s*:')
_MAXIMUM_VALUE = 200
_KEYS = frozenset({"size", "count", "type", "redop", "root", "out_of_place", "in_place"})
_HALF_KEYS = frozenset({"alg_bw", "bus_bw", "nwrong"})
_TIMES = frozenset({"time", "cpu_time"})


def recognise(log: Log) -> float:
    """Sure where a document has the keys of nccl-tests."""
    start = log.text.lstrip("\ufeff \n")
    return 0.95 if start.startswith(("{", "[")) and _MARK.search(log.text) else 0.0


def read(log: Log) -> Import:
    """A run per document that has results or a configuration."""
    facts, dropped = [], 0
    for document in documents(log.text):
        if "results" in document.value or "config" in document.value:
            run, forgotten = _facts(document)
            facts.append(run)
            dropped += forgotten
    badges = (badge("variables-dropped", what=dropped),) if dropped else ()
    runs = tuple(map(assemble, facts))
    reason = None
    if not any(run.rows for run in runs):
        reason = Text("The JSON of nccl-tests holds no complete result.", "nccl-tests 的 JSON 里没有完整的结果。")
    return Import(tool="nccl-tests", runs=runs, reason=reason, dropped_variables=dropped, badges=badges)


def _facts(document: Document) -> tuple[Facts, int]:
    value = document.value
    facts = Facts(has_header=True)
    results = [item for item in _list(value.get("results")) if isinstance(item, dict)]
    facts.rows = [row for item in results if (row := _row(item, document.line)) is not None]
    if len(facts.rows) < len(_list(value.get("results"))) or not all(row.is_whole for row in facts.rows):
        facts.badges.append(torn(document.line, "keys"))
    config = _mapping(value.get("config"))
    facts.parameters = {
        key: text for key, item in config.items() if key != "devices" and (text := _plain(item)) is not None
    }
    if (version := _plain(value.get("nccl_version"))) is not None:
        facts.parameters["nccl_library"] = version
    kept, dropped = _environment(_list(value.get("env")))
    facts.parameters |= kept
    _name(facts, value, results)
    facts.devices = [
        device for item in _list(config.get("devices") or value.get("devices")) if (device := _device(item))
    ]
    _count_ranks(facts, config)
    _footer(facts, value)
    if any("cpu_time" in _mapping(item.get(place)) for item in results for place in ("out_of_place", "in_place")):
        facts.badges.append(badge("unit-doubt", what=LAUNCH_TIME))
    if _mapping(value.get("ringside")).get("emulated") in {True, "true"}:
        facts.badges.append(badge("emulated"))
    if not document.is_whole or "end_time" not in value:
        facts.badges.append(badge("incomplete-json", line=document.line))
    errors = [text for item in _list(value.get("errors")) if isinstance(item, str) and (text := item.strip())]
    if errors:
        first = errors[0][:_MAXIMUM_VALUE]
        facts.badges.append(
            badge("failed", message=Text(f"The run reports an error: {first}", f"运行报告了错误：{first}"))
        )
    return facts, dropped


def _row(item: Mapping[str, Any], line: int) -> RawRow | None:
    size, count, dtype = _integer(item.get("size")), _integer(item.get("count")), item.get("type")
    if size is None or count is None or dtype not in ELEMENT_BYTES:
        return None
    out_of_place, in_place = _half(item.get("out_of_place")), _half(item.get("in_place"))
    if out_of_place is None and in_place is None:
        return None
    redop = item["redop"].strip() if isinstance(item.get("redop"), str) else None
    root = _integer(item.get("root"))
    return RawRow(
        size=size,
        count=count,
        dtype=str(dtype),
        redop=redop or None,
        root=root,
        halves=(out_of_place, in_place),
        extra=tuple(_per_iteration(item)),
        tokens=(),
        line=line,
        is_whole=_is_whole(item),
    )


def _is_whole(item: Mapping[str, Any]) -> bool:
    """True when every key is there under the name and with the kind of value that nccl-tests writes."""
    halves = [half for half in (item.get("out_of_place"), item.get("in_place")) if half is not None]
    return (
        item.keys() >= _KEYS
        and isinstance(item["redop"], str)
        and item["redop"].strip() in {"", *REDOPS}
        and _integer(item["root"]) is not None
        and all(isinstance(half, dict) and half.keys() >= _HALF_KEYS and half.keys() & _TIMES for half in halves)
    )


def _per_iteration(item: Mapping[str, Any]) -> Iterator[str]:
    """The spread of the single iterations that -I adds, as `place name=value`."""
    for place in ("out_of_place", "in_place"):
        found = _mapping(item.get(f"{place}_per_iter"))
        for key in ("min_us", "max_us", "p50_us", "p99_us", "cv_pct"):
            if (value := _number(found.get(key))) is not None:
                yield f"{place} {key}={value:g}"


def _half(value: Any) -> Printed | None:
    if not isinstance(value, dict):
        return None
    time = _number(value.get("time", value.get("cpu_time")))
    algbw, busbw, wrong = (_number(value.get(key)) for key in ("alg_bw", "bus_bw", "nwrong"))
    if time is None and algbw is None and busbw is None:
        return None
    if any(figure is not None and figure < 0 for figure in (time, algbw, busbw)):
        return None
    # Derived files hold figures that were rounded to two decimals before.
    return Printed(time, algbw, busbw, wrong, (0.005, 0.005, 0.005))


def _name(facts: Facts, value: Mapping[str, Any], results: list[dict[str, Any]]) -> None:
    arguments = [item for item in _list(value.get("args")) if isinstance(item, str)]
    names = [*arguments[:1], *(item.get("experiment_name") for item in results[:1])]
    for name in names:
        if isinstance(name, str) and (operation := operation_name(name)):
            facts.operation, facts.operation_basis = operation, "named"
            return


def _device(item: Any) -> Device | None:
    if not isinstance(item, dict) or (rank := _integer(item.get("rank"))) is None:
        return None
    host, bus, name = (item.get(key) for key in ("hostname", "device_hex", "device_info"))
    return Device(
        rank=rank,
        group=_integer(item.get("group")) or 0,
        host=host.strip() if isinstance(host, str) else None,
        index=_integer(item.get("device")),
        bus=bus if isinstance(bus, str) else None,
        name=name.strip() if isinstance(name, str) else "",
    )


def _count_ranks(facts: Facts, config: Mapping[str, Any]) -> None:
    """Up to version 3 a device entry stands for a process, so several GPUs of one process show as one."""
    per_process = max(1, (_integer(config.get("nthreads")) or 1) * (_integer(config.get("ngpus")) or 1))
    ranks = sorted({device.rank for device in facts.devices})
    if per_process > 1 and ranks and all(rank == index * per_process for index, rank in enumerate(ranks)):
        count = len(ranks) * per_process
        factor = bus_factor(facts.operation, count) if facts.operation else None
        if factor is not None and len({device.group for device in facts.devices}) == 1:
            facts.ranks, facts.ranks_basis = count, "json"


def _footer(facts: Facts, value: Mapping[str, Any]) -> None:
    average = _mapping(value.get("average_bus_bandwidth") or value.get("average_bus_bandwidith"))
    bandwidth = _number(average.get("bandwidth", average.get("bandwidith")))
    if bandwidth is not None:
        facts.averages.append(bandwidth)
    bounds = _mapping(value.get("out_of_bounds"))
    count = _integer(bounds.get("count"))
    if count is None and bounds.get("okay") in {False, "false"}:
        count = 1
    if count is not None:
        facts.out_of_bounds.append(count)


def _environment(variables: list[Any]) -> tuple[dict[str, str], int]:
    """The variables that may be kept, and how many were dropped."""
    kept: dict[str, str] = {}
    dropped = 0
    for item in variables:
        name, _, text = item.partition("=") if isinstance(item, str) else ("", "", "")
        if _ALLOWED.fullmatch(name) and not _SECRET.search(name):
            kept[name] = text[:_MAXIMUM_VALUE]
        else:
            dropped += 1
    return kept, dropped


def _plain(value: Any) -> str | None:
    return str(value)[:_MAXIMUM_VALUE] if isinstance(value, (str, int, float)) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < 1e300 else None


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and len(value) <= 20:
        try:
            value = int(value)
        except ValueError:
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63 else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


reader = Reader("nccl-json", Text("nccl-tests JSON", "nccl-tests 的 JSON"), recognise, read)
