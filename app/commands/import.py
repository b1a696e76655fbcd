"""`ringside import`: figures from elsewhere. `ringside import log` reads the log of a benchmark that somebody already ran.

A damaged log is no error: what can be trusted is shown, what cannot is named, and the exit code is 0 also when there is nothing
to read. With `--json` standard output holds one JSON object and nothing else. `--dry-run` keeps nothing.
"""

# ruff: noqa: N999 - the file is named as the command is typed

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

if TYPE_CHECKING:
    from app.bench.importers.model import Half, Import, ImportedRow, ImportedRun, Table

command = typer.Typer(help="Read figures that were measured elsewhere.", no_args_is_help=True)

_STDIN = "-"


class Keep(Protocol):
    """Puts what was read where it can be found again, and says where. `data` is the file as it came, of which no line is kept."""

    def __call__(self, imported: "Import", *, name: str, data: bytes, hide_host: bool) -> str: ...


@command.callback()
def _always_sub_commands() -> None:
    """Read figures that were measured elsewhere."""


@command.command("log")
def log(
    file: Annotated[str, typer.Argument(help="The log; - reads standard input.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be kept and keep nothing.")] = False,
    hide_host: Annotated[bool, typer.Option(help="Mask host names, addresses and users.")] = False,
) -> None:
    """Read the log of nccl-tests, RCCL-tests, all_reduce_bench.py, OSU or nvbandwidth, text or JSON, damaged or not."""
    data = _data(file)
    run(
        data,
        name="standard input" if file == _STDIN else Path(file).name,
        as_json=as_json,
        hide_host=hide_host,
        keep=None if dry_run else _keep,
    )


def run(data: bytes, *, name: str, as_json: bool, hide_host: bool = False, keep: Keep | None = None) -> None:
    """Read `data`, print the outcome, hand what has figures to `keep`."""
    from app.bench.importers.document import document
    from app.bench.importers.masking import mask
    from app.bench.importers.read import read_log

    imported = read_log(data)
    shown = mask(imported) if hide_host else imported
    if as_json:
        print(json.dumps(document(shown), allow_nan=False, ensure_ascii=False))
    else:
        _summarize(shown, name)
    if keep and imported.reason is None:
        sys.stdout.flush()
        print(keep(imported, name=name, data=data, hide_host=hide_host), file=sys.stderr)


def _keep(imported: "Import", *, name: str, data: bytes, hide_host: bool) -> str:
    """Store what was read and say where it is. A database that does not answer costs nothing that was printed."""
    from app.bench.import_store import ImportStore
    from app.bench.imports import draft
    from app.core.clock import utc_now
    from app.core.db import Database
    from app.settings import Settings

    try:
        database = Database(Settings().database)
        database.migrate()
        kept = draft(imported, name=name, data=data, is_masked=hide_host)
        import_id, is_new = ImportStore(database).keep(kept, now=utc_now())
        database.dispose()
    except Exception as error:  # noqa: BLE001 - whatever the reason, the figures are on the screen already
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return f"note: the log was not kept ({reason}). See: ringside doctor"
    return f"{'kept as' if is_new else 'known already as'} import {import_id}: /bench/imports/{import_id}"


def _data(file: str) -> bytes:
    """The bytes of a file or of standard input, one more at most than are read."""
    from app.bench.importers.decode import MAXIMUM_BYTES
    from app.core.errors import NotFound
    from app.core.i18n import Text

    if file == _STDIN:
        return sys.stdin.buffer.read(MAXIMUM_BYTES + 1)
    try:
        with Path(file).open("rb") as stream:
            return stream.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise NotFound(
            Text(f"The file {file} cannot be read: {why}.", f"无法读取文件 {file}：{why}。"),
            remedy=Text(
                "Check the path, or pipe the log in and give - as the file.",
                "请检查路径，或用管道输入日志并以 - 作为文件名。",
            ),
        ) from None


def _summarize(imported: "Import", name: str) -> None:
    tool = imported.tool or "unknown"
    print(f"{name}: {tool}, {len(imported.runs)} {'run' if len(imported.runs) == 1 else 'runs'}")
    for badge in imported.badges:
        print(f"  {badge.kind}: {badge.text.en}")
    if imported.reason:
        print(f"  {imported.reason.en}")
    for number, found in enumerate(imported.runs, start=1):
        _summarize_run(found, number)


def _summarize_run(found: "ImportedRun", number: int) -> None:
    ranks = f"{found.ranks} {'rank' if found.ranks == 1 else 'ranks'}" if found.ranks else "ranks unknown"
    print(f"\nrun {number}: {found.operation or 'operation unknown'}, {ranks}, {len(found.rows)} rows")
    if found.rows:
        print(
            f"  {'size B':>14} {'type':>9} {'redop':>6}   {'time us':>11} {'algbw':>9} {'busbw':>9} {'wrong':>6}   in-place"
        )
    for row in found.rows:
        print(_line(row))
    if found.footer_average_busbw_gb_per_s is not None:
        print(f"  average bus bandwidth {found.footer_average_busbw_gb_per_s:g} GB/s")
    for table in found.tables:
        _summarize_table(table)
    for badge in found.badges:
        print(f"  {badge.kind}: {badge.text.en}")
    print(f"  {_use(found)}")


def _line(row: "ImportedRow") -> str:
    start = f"  {row.size_bytes:>14} {row.dtype or '-':>9} {row.redop or '-':>6}"
    flags = f"   [{', '.join(row.flags)}]" if row.flags else ""
    return f"{start}   {_half(row.out_of_place)}   {_half(row.in_place)}{flags}"


def _half(half: "Half | None") -> str:
    if half is None:
        return f"{'-':>11} {'-':>9} {'-':>9} {'-':>6}"
    wrong = "N/A" if half.wrong_or_error is None else f"{half.wrong_or_error:g}"
    return f"{_figure(half.time_us):>11} {_figure(half.algbw_gb_per_s):>9} {_figure(half.busbw_gb_per_s):>9} {wrong:>6}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _summarize_table(table: "Table") -> None:
    total = "" if table.total is None else f", sum {table.total:g}"
    print(f"  {table.name} ({table.unit}): {len(table.rows)} x {len(table.columns)}{total}")


def _use(found: "ImportedRun") -> str:
    if not found.may_feed_fits:
        return "use: to look at; it does not feed fits."
    if found.needs_confirmation:
        return "use: feeds fits once you confirm operation and ranks."
    return f"use: feeds the fit of {found.operation} over {found.ranks} ranks."
