"""Operation and rank count of a run, with how sure each is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.bench.importers.badges import badge
from app.bench.importers.checks import Rules
from app.bench.importers.facts import Facts
from app.bench.importers.model import Badge, Device, OperationBasis, RanksBasis
from app.bench.importers.operations import guess_operation, ranks_from_rates
from app.bench.importers.raw import RawRow
from app.bench.importers.units import bus_factor
from app.core.i18n import Text

_PARTED = frozenset({"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"})


@dataclass(frozen=True, slots=True)
class Named:
    """An operation and how it became known."""

    name: str | None
    basis: OperationBasis | None


@dataclass(frozen=True, slots=True)
class Counted:
    """A rank count and how it became known."""

    count: int | None
    basis: RanksBasis | None


@dataclass(frozen=True, slots=True)
class Listed:
    """The ranks of one group by the device list; `is_sure` when it has no holes."""

    count: int
    is_sure: bool


def name_operation(
    facts: Facts, rows: Sequence[RawRow], rules: Rules, badges: list[Badge], *, ranks: int | None = None
) -> Named:
    """The operation that was named, or that the figures leave; badges say when it was guessed."""
    if facts.operation is not None and facts.operation_basis == "named":
        return Named(facts.operation, "named")
    listed = listed_ranks(facts)
    known = ranks or facts.ranks or (listed.count if listed and listed.is_sure else None)
    guess = guess_operation(rows, rules, facts.titles, ranks=known)
    if not guess.remaining and known is not None:
        guess = guess_operation(rows, rules, facts.titles, ranks=None)
    if facts.operation is not None and (
        not rows or facts.operation in guess.remaining or facts.operation not in _NAMED
    ):
        return Named(facts.operation, "command")
    if not rows:
        return Named(facts.operation, facts.operation_basis)
    for item in [item for item in badges if item.kind in {"operation-guessed", "operation-unknown"}]:
        badges.remove(item)
    if guess.operation is None:
        badges.append(badge("operation-unknown"))
    elif guess.basis == "guessed":
        badges.append(badge("operation-guessed", what=guess.operation))
    return Named(guess.operation, guess.basis)


_NAMED = frozenset({"all_reduce", "broadcast", "reduce", "send_recv"}) | _PARTED


def name_ranks(facts: Facts, operation: Named, rows: Sequence[RawRow], rules: Rules, badges: list[Badge]) -> Counted:
    """The ranks of one group: from the device list where sizes and rates agree with it, else from those."""
    if facts.ranks is not None:
        return Counted(facts.ranks, facts.ranks_basis)
    listed = listed_ranks(facts)
    multiple = rules.multiple if operation.name in _PARTED and rules.multiple and rules.multiple > 1 else None
    between = ranks_from_rates(operation.name, rows) if operation.name else None
    if listed and multiple in {None, listed.count} and _within(listed.count, between):
        if not listed.is_sure and multiple is None and not _pins(listed.count, between):
            what = Text(
                f"the device list has gaps and ends at {listed.count - 1}", f"设备列表有缺口，最后是 {listed.count - 1}"
            )
            badges.append(badge("ranks-guessed", what=what))
        return Counted(listed.count, "rank lines")
    if multiple is not None:
        return Counted(multiple, "count")
    if between is None:
        if rows:
            what = Text("the rates do not depend on it or are too small", "带宽与其无关，或数值太小")
            badges.append(badge("ranks-unknown", what=what))
        return Counted(None, None)
    return _from_rates(between, listed, badges)


def listed_ranks(facts: Facts) -> Listed | None:
    """The ranks that the device list shows for one group; None without a list, or when groups differ in size."""
    groups = Counter(device.group for device in facts.devices)
    if len(groups) > 1:
        sizes = set(groups.values())
        return Listed(sizes.pop(), not facts.ranks_hidden) if len(sizes) == 1 else None
    numbers = {device.rank for device in facts.devices}
    if not numbers:
        return None
    count = max(numbers) + 1
    return Listed(count, len(numbers) == count and not facts.ranks_hidden)


def known_factor(facts: Facts) -> float | None:
    """The ratio of the two rates by the named operation and a complete device list; None where either is missing."""
    listed = listed_ranks(facts)
    if facts.operation is None or facts.operation_basis != "named" or listed is None or not listed.is_sure:
        return None
    return bus_factor(facts.operation, listed.count)


def shares_gpus(devices: Sequence[Device]) -> bool:
    """True when two ranks of a host use one GPU. A bus of zeros says nothing, a device number alone neither."""
    seen = Counter(
        (device.host, device.index, device.bus)
        for device in devices
        if device.host and device.bus and device.bus.strip("0x:.")
    )
    ranks = Counter((device.host, device.rank) for device in devices)
    return any(times > 1 for times in seen.values()) and all(times == 1 for times in ranks.values())


def _within(count: int, between: tuple[int, int | None] | None) -> bool:
    if between is None:
        return True
    least, most = between
    return least <= count and (most is None or count <= most)


def _pins(count: int, between: tuple[int, int | None] | None) -> bool:
    """True when the rates leave no other rank count worth naming."""
    return between is not None and between[1] is not None and between[1] - between[0] <= 0.1 * count


def _from_rates(between: tuple[int, int | None], listed: Listed | None, badges: list[Badge]) -> Counted:
    least, most = between
    if most is not None and (least == most or (most - least <= 0.1 * most and most <= 128)):
        count = least if least == most else round((least + most) / 2)
        what = Text(f"the rates give {count}", f"由带宽之比得到 {count}")
        if listed:
            what = Text(
                f"the rates give {count}, although {listed.count} are listed",
                f"由带宽之比得到 {count}，虽然只列出了 {listed.count} 个",
            )
        elif least != most:
            what = Text(
                f"the rates give about {count} ({least} to {most})", f"由带宽之比得到约 {count}（{least} 到 {most}）"
            )
        badges.append(badge("ranks-guessed", what=what))
        return Counted(count, "ratio" if least == most else "about")
    upper = str(most) if most is not None else None
    what = (
        Text(f"the rates fit anything from {least} to {upper}", f"带宽之比与 {least} 到 {upper} 都相符")
        if upper
        else Text(f"the rates fit anything from {least} up", f"带宽之比与 {least} 以上都相符")
    )
    badges.append(badge("ranks-unknown", what=what))
    return Counted(None, None)
