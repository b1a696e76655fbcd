"""From what was found to a run: figures checked, operation and ranks named, every doubt turned into a badge."""

from collections.abc import Sequence
from dataclasses import replace

from app.bench.importers import checks
from app.bench.importers.alignment import misaligned
from app.bench.importers.badges import badge
from app.bench.importers.completeness import expected_sizes, hole, series
from app.bench.importers.facts import LAUNCH_TIME, Facts, torn
from app.bench.importers.failures import failures_in
from app.bench.importers.model import Badge, Flag, Half, ImportedRow, ImportedRun
from app.bench.importers.naming import known_factor, name_operation, name_ranks, shares_gpus
from app.bench.importers.operations import ROOTED
from app.bench.importers.raw import Printed, RawRow
from app.bench.importers.units import bus_factor
from app.core.i18n import Text

_LARGEST_ERROR = 1e-3
"""Largest difference that the error column shows for correct sums; 16-bit types may differ by whole units."""


def assemble(facts: Facts) -> ImportedRun:
    """The run with its badges; doubtful rows are marked or, where they contradict themselves, dropped with a badge."""
    rows = list(facts.rows)
    badges: list[Badge] = [*failures_in(facts.other), *facts.badges]
    rows = _in_microseconds(rows, facts, badges)
    rules = checks.rules_of(rows)
    if rules.bus is None and (factor := known_factor(facts)) is not None:
        rules = replace(rules, bus=factor, bus_span=checks.around(factor))
    kept = _checked(rows, rules, badges)
    raw = [row for row, _ in kept]
    rules = checks.rules_of(raw)
    operation = name_operation(facts, raw, rules, badges)
    ranks = name_ranks(facts, operation, raw, rules, badges)
    operation = name_operation(facts, raw, rules, badges, ranks=ranks.count) if operation.name is None else operation
    if operation.name is not None and operation.name not in ROOTED:
        badges += [torn(row.line, "root", fate="doubted") for row in raw if row.root not in {None, -1}]
    imported = tuple(_row(row, flags) for row, flags in kept)
    _judge(facts, imported, rules, badges, operation=operation.name, ranks=ranks.count)
    if not badges:
        badges.append(badge("ok"))
    return ImportedRun(
        tool=facts.tool,
        operation=operation.name,
        operation_basis=operation.basis,
        ranks=ranks.count,
        ranks_basis=ranks.basis,
        hosts=tuple(dict.fromkeys(device.host for device in facts.devices if device.host)),
        devices=tuple(facts.devices),
        rows=imported,
        footer_average_busbw_gb_per_s=facts.averages[-1] if facts.averages else None,
        out_of_bounds=facts.out_of_bounds[-1] if facts.out_of_bounds else None,
        badges=tuple(badges),
        parameters=dict(facts.parameters),
    )


def _in_microseconds(rows: list[RawRow], facts: Facts, badges: list[Badge]) -> list[RawRow]:
    """The rows with times in microseconds, whatever the era printed."""
    if facts.titles and facts.titles.milliseconds:
        return [_scaled(row, 1e3) for row in rows]
    rate = checks.rules_of(rows).rate
    if rate is not None and 0.9e-3 < rate < 1.1e-3:
        badges.append(
            badge(
                "unit-doubt",
                what=Text("the times look like milliseconds and were converted", "时间看起来是毫秒，已换算"),
            )
        )
        return [_scaled(row, 1e3) for row in rows]
    return rows


def _scaled(row: RawRow, factor: float) -> RawRow:
    first, second = (_scaled_half(half, factor) for half in row.halves)
    return replace(row, halves=(first, second))


def _scaled_half(half: Printed | None, factor: float) -> Printed | None:
    if half is None or half.time is None:
        return half
    time_error, algbw_error, busbw_error = half.precision
    precision = (time_error * factor, algbw_error, busbw_error)
    return replace(half, time=round(half.time * factor, 6), precision=precision)


def _checked(rows: Sequence[RawRow], rules: checks.Rules, badges: list[Badge]) -> list[tuple[RawRow, tuple[Flag, ...]]]:
    """The rows that survive the checks, each with its flags."""
    askew = set(map(id, misaligned(rows)))
    two_halves = sum(not row.is_lone for row in rows) > len(rows) / 2
    clashes = {
        (id(row), place): clash
        for row in rows
        for place, half in enumerate(row.halves)
        if half and (clash := checks.contradiction(half, size=row.size, rules=rules))
    }
    halves = sum(half is not None for row in rows for half in row.halves)
    if rows and ((rules.rate is None and rules.has_rates) or len(clashes) > 0.4 * halves):
        what = Text("times and rates of the rows follow no common rule", "各行的时间与带宽没有一致的关系")
        badges.append(badge("unit-doubt", what=what))
        clashes = {}
    kept: list[tuple[RawRow, tuple[Flag, ...]]] = []
    for row in rows:
        flags: list[Flag] = []
        if not checks.size_fits(row, rules):
            badges.append(torn(row.line, "size"))
            continue
        wrong = [place for place in (0, 1) if (id(row), place) in clashes]
        left = tuple(None if place in wrong else half for place, half in enumerate(row.halves))
        if row.is_repaired and not row.tokens and not all(checks.is_checked(half, rules) for half in left if half):
            badges.append(torn(row.line, "unproven"))
            continue
        if wrong:
            is_lost = not any(left)
            badges.append(torn(row.line, clashes[id(row), wrong[0]], fate="dropped" if is_lost else "half"))
            if is_lost:
                continue
            flags.append("half-dropped")
        elif not row.is_whole or (two_halves and row.is_lone and row.halves[0]):
            flags.append("cut")
        if row.is_repaired:
            flags.append("repaired")
        if id(row) in askew:
            flags.append("misaligned")
            badges.append(badge("misaligned", line=row.line))
        kept.append((replace(row, halves=(left[0], left[1])), tuple(flags)))
    return kept


def _row(row: RawRow, flags: tuple[Flag, ...]) -> ImportedRow:
    first, second = (half.to_half() if half else None for half in row.halves)
    return ImportedRow(
        size_bytes=row.size,
        count=row.count,
        dtype=row.dtype,
        redop=row.redop,
        root=row.root,
        out_of_place=first,
        in_place=second,
        line=row.line,
        flags=flags,
        extra=row.extra,
    )


def _judge(
    facts: Facts,
    rows: Sequence[ImportedRow],
    rules: checks.Rules,
    badges: list[Badge],
    *,
    operation: str | None,
    ranks: int | None,
) -> None:
    """Badges about the run as a whole."""
    if not rows:
        badges.append(badge("no-rows"))
        if facts.parameters and not facts.averages and not any(item.kind in {"failed", "no-mpi"} for item in badges):
            badges.append(badge("cut", what=Text("it stops before the first row", "在第一行之前就结束了")))
        return
    _judge_completeness(facts, rows, badges)
    _judge_values(facts, rows, badges)
    if facts.titles and facts.titles.halves and facts.titles.halves[0][0] == "cputime":
        badges.append(badge("unit-doubt", what=LAUNCH_TIME))
    if shares_gpus(facts.devices) and not any(item.kind == "emulated" for item in badges):
        badges.append(badge("emulated"))
    if ranks == 1 and not any(item.kind == "no-mpi" for item in badges):
        badges.append(badge("one-rank"))
    if _is_old_definition(operation, ranks, rules):
        badges.append(badge("old-definition"))
    elif rules.rate is not None and rules.rate != 1 and operation != "hypercube":
        times = Text(
            f"the rates are {rules.rate:.3g} times size over time", f"带宽是大小除以时间的 {rules.rate:.3g} 倍"
        )
        badges.append(badge("unit-doubt", what=times))
    elif operation and ranks and not _has_factor(operation, ranks, rules):
        what = Text(f"the two rates do not have the ratio of {operation}", f"两种带宽之比与 {operation} 不符")
        badges.append(badge("unit-doubt", what=what))


def _has_factor(operation: str, ranks: int, rules: checks.Rules) -> bool:
    factor = bus_factor(operation, ranks)
    return factor is None or rules.bus is None or abs(rules.bus - factor) <= 0.04 * factor + 0.005


def _is_old_definition(operation: str | None, ranks: int | None, rules: checks.Rules) -> bool:
    if operation not in {"all_gather", "reduce_scatter"} or rules.bus is None or ranks is None or ranks < 2:
        return False
    return abs(rules.bus - 1) < abs(rules.bus - (ranks - 1) / ranks)


def _judge_completeness(facts: Facts, rows: Sequence[ImportedRow], badges: list[Badge]) -> None:
    kinds = {item.kind for item in badges}
    footer = facts.averages[-1] if facts.averages else None
    mean = checks.mean_busbw(half.busbw_gb_per_s for row in rows for half in row.halves)
    agrees = footer is not None and mean is not None and abs(mean - footer) <= 0.002 * footer + 0.006
    expected = expected_sizes(facts.parameters)
    sweeps = series(facts.rows)
    missing = expected is not None and any(len(sweep) != expected for sweep in sweeps) and "mixed-runs" not in kinds
    gap = hole(facts.rows)
    if footer is not None and mean is not None and not agrees:
        badges.append(badge("footer-disagrees", footer=f"{footer:g}", mean=f"{mean:.4g}"))
    if agrees and footer and footer > 0.05 and "torn" not in kinds:
        if missing or facts.elided or facts.ranks_hidden:
            badges.append(badge("header-shortened"))
        return
    only_end = (
        missing
        and footer is None
        and not facts.elided
        and gap is None
        and all(len(sweep) <= (expected or 0) for sweep in sweeps)
    )
    if facts.elided or gap is not None or (missing and not only_end):
        line = facts.elided[0] if facts.elided else gap
        badges.append(badge("elided", line=line, what=_what_is_missing(facts, expected, gap)))
    elif only_end or facts.is_cut:
        what = Text("the last row stops in the middle", "最后一行没有打印完")
        if expected is not None:
            done = len(sweeps[-1])
            what = Text(f"{done} of {expected} sizes are there", f"{expected} 个大小中有 {done} 个")
        badges.append(badge("cut", what=what))


def _what_is_missing(facts: Facts, expected: int | None, gap: int | None) -> Text:
    if facts.elided:
        return Text(
            f"line {facts.elided[0]} stands for some that were taken out", f"第 {facts.elided[0]} 行代替了被删去的行"
        )
    if gap is not None:
        return Text(f"sizes are skipped before line {gap}", f"第 {gap} 行之前跳过了一些大小")
    return Text(
        f"the header announces {expected} sizes, the table has {len(facts.rows)} rows",
        f"开头写明 {expected} 个大小，表中有 {len(facts.rows)} 行",
    )


def _judge_values(facts: Facts, rows: Sequence[ImportedRow], badges: list[Badge]) -> None:
    """Wrong values: a count since 2022-08, before that a difference that rounding does not explain."""
    is_count = facts.titles is None or facts.titles.check == "#wrong"
    if facts.titles is None and any(_is_fraction(half) for row in rows for half in row.halves):
        is_count = False
    for row in rows:
        bound = 0.0 if is_count else 4.0 if row.dtype in {"half", "bfloat16", "f8e4m3", "f8e5m2"} else _LARGEST_ERROR
        worst = max((half.wrong_or_error or 0.0 for half in row.halves), default=0.0)
        if worst > bound:
            size = row.size_bytes
            what = (
                Text(f"{worst:g} at {size} bytes", f"{size} 字节处有 {worst:g} 个")
                if is_count
                else Text(f"a difference of {worst:g} at {size} bytes", f"{size} 字节处相差 {worst:g}")
            )
            badges.append(badge("wrong-values", line=row.line, what=what))
            return
    wrong = next((count for count in facts.out_of_bounds if count), None)
    if wrong is not None:
        badges.append(badge("wrong-values", what=Text(f"{wrong} out of bounds", f"{wrong} 个超出界限")))


def _is_fraction(half: Half) -> bool:
    return half.wrong_or_error is not None and 0 < half.wrong_or_error < 1
