"""Runs that were printed at the same time, told apart as far as the log allows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from app.bench.importers.badges import badge
from app.bench.importers.facts import Facts
from app.bench.importers.model import Device
from app.core.i18n import Text


def untangle(runs: Sequence[Facts]) -> list[Facts]:
    """The runs, with those that were printed together dealt out again and marked."""
    found: list[Facts] = []
    group: list[Facts] = []
    for run in runs:
        group.append(run)
        if run.rows or run.averages or run.is_ended or _failed(run) or not run.has_header:
            found += _dealt(group)
            group = []
    if group:
        found += _dealt(group)
    for run in found:
        _mark(run)
    return found


def _failed(run: Facts) -> bool:
    return any("failure" in line.text for line in run.other)


def _dealt(group: list[Facts]) -> list[Facts]:
    """One run per header when the last of several headers is followed by several tables at once."""
    last = group[-1]
    starts = sum(device.rank == 0 for device in last.devices)
    tables = max(last.titles_seen if not last.rows else 0, starts, last.repetitions(), len(last.averages))
    if len(group) < 2 or tables < 2:
        return group
    number = len(group)
    without_mpi = starts >= 2 or sum(any(device.rank == 0 for device in run.devices) for run in group) >= 2
    devices = _split_devices([device for run in group for device in run.devices], number)
    for index, run in enumerate(group):
        run.is_parallel = True
        run.titles, run.titles_seen = last.titles, 1
        run.devices = devices[index]
        if without_mpi:
            run.ranks, run.ranks_basis = 1, "rank lines"
            run.badges.append(badge("no-mpi", what=max(number, starts)))
        run.averages = list(last.averages[index : index + 1]) if run is not last else run.averages
        run.out_of_bounds = list(last.out_of_bounds[index : index + 1]) if run is not last else run.out_of_bounds
    last.averages, last.out_of_bounds = last.averages[number - 1 : number], last.out_of_bounds[number - 1 : number]
    seen: Counter[tuple[int, str, str | None, int | None]] = Counter()
    rows, last.rows = last.rows, []
    for row in rows:
        key = (row.size, row.dtype, row.redop, row.root)
        group[min(seen[key], number - 1)].rows.append(row)
        seen[key] += 1
    if rows:
        what = Text(f"{number} headers came before the first row", f"第一行之前有 {number} 个开头")
        for run in group:
            run.badges.append(badge("mixed-runs", what=what))
    return group


def _split_devices(devices: Sequence[Device], number: int) -> list[list[Device]]:
    """The device lists of runs that each begin with rank 0."""
    lists: list[list[Device]] = []
    for device in devices:
        if device.rank == 0 or not lists:
            lists.append([])
        lists[-1].append(device)
    return [lists[index] if index < len(lists) else [] for index in range(number)]


def _mark(run: Facts) -> None:
    """Mark a run that shows several in one."""
    if len(run.averages) > 1:
        number = len(run.averages)
        run.badges.append(badge("mixed-runs", what=Text(f"{number} footers", f"有 {number} 处末尾平均值")))
    elif run.repetitions() > 1:
        number = run.repetitions()
        run.badges.append(
            badge("mixed-runs", what=Text(f"every size comes {number} times", f"每个大小都出现 {number} 次"))
        )
    elif run.goes_back():
        run.badges.append(badge("mixed-runs", what=Text("the sizes go back and forth", "大小来回变动")))
    starts = [device for device in run.devices if device.rank == 0 and device.group == 0]
    if len(starts) > 1 and run.ranks is None:
        run.badges.append(badge("no-mpi", what=len(starts)))
        run.ranks, run.ranks_basis = 1, "rank lines"
        run.devices = [replace(device) for device in run.devices]
