"""The files a run can be downloaded as: `make` gives one by its name, `everything.zip` all of them."""

import dataclasses
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import NamedTuple

from app.bench.formats import csv_export, json_export, nccl_json, nccl_text
from app.bench.result import RunResult
from app.bench.runs import Run
from app.core.errors import NotFound
from app.core.i18n import Text
from app.hardware.fit import fit_rows

ALL = "everything.zip"
CSV = "text/csv; charset=utf-8"
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can hold; the run's own time stands in its files


class File(NamedTuple):
    """A file to send."""

    content: bytes
    media_type: str


def make(name: str, run: Run, result: RunResult, *, operation: str = "") -> File:
    """The file `name` of a run; `operation` narrows the JSON of nccl-tests to one. Raises NotFound."""
    if name == ALL:
        return File(_zip(run, result), "application/zip")
    if name.removesuffix(".csv") in csv_export.tables(result):
        return File((csv_export.table(result, name.removesuffix(".csv")) or "").encode(), CSV)
    entry = _FILES.get(name)
    if entry is None:
        raise NotFound(
            Text(f"A run has no file {name!r}.", f"运行没有 {name!r} 这个文件。"),
            remedy=Text("The page of the run lists its downloads.", "运行的页面上列出了可下载的文件。"),
        )
    media_type, write = entry
    if operation and name == "nccl-tests.json":
        kept = tuple(row for row in result.rows if row.operation == operation)
        result = dataclasses.replace(result, rows=kept)
    return File(write(run, result).encode(), media_type)


def _nccl_json(run: Run, result: RunResult) -> str:
    return nccl_json.document(result, began=run.started_at, ended=run.ended_at)


def _json(run: Run, result: RunResult) -> str:
    del run
    fits = {operation: fit.to_json() for operation, fit in fit_rows(result.rows).items()}
    return json.dumps(json_export.document(result, fits=fits), ensure_ascii=False, allow_nan=False)


_FILES: Mapping[str, tuple[str, Callable[[Run, RunResult], str]]] = {
    "nccl-tests.txt": ("text/plain; charset=utf-8", lambda _, result: nccl_text.document(result)),
    "nccl-tests.json": ("application/json", _nccl_json),
    "result.json": ("application/json", _json),
    "rows.csv": (CSV, lambda _, result: csv_export.document(result)),
}


def _zip(run: Run, result: RunResult) -> bytes:
    """All files, the command and the tail of the log in one archive, the same bytes each time."""
    texts = {name: write(run, result) for name, (_, write) in _FILES.items()}
    texts |= {f"{name}.csv": csv_export.table(result, name) or "" for name in csv_export.tables(result)}
    texts |= {"command.txt": " ".join(run.command) + "\n", "log.txt": "\n".join(run.log) + "\n"}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in texts.items():
            entry = zipfile.ZipInfo(f"ringside-run-{run.id}/{name}", date_time=_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return buffer.getvalue()
