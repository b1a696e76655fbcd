"""The form that imports a log: what was sent, bounded in size, and what is wrong with it.

A chosen file goes before pasted text. A small file comes back as text in the box, so that nothing has to be chosen twice without
JavaScript; it is the text as the importer sees it, which reads the same.
"""

from dataclasses import dataclass
from pathlib import PurePosixPath

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.types import Message

from app.bench.importers.decode import MAXIMUM_BYTES, clean_lines, text_of
from app.bench.importers.read import read_log
from app.bench.imports import Draft, draft
from app.core.i18n import Text

MAXIMUM_BODY = MAXIMUM_BYTES + 1024 * 1024
"""Bytes of a request: the largest log with the form around it."""
MAXIMUM_SWALLOWED = 8 * MAXIMUM_BODY
"""Bytes that are read to no use, so that the browser has sent all and looks at the answer."""
MAXIMUM_SHOWN = 1024 * 1024
"""Bytes of a file that come back in the box."""

PASTED = "pasted log"
EMPTY = Text("Paste a log or choose a file.", "请粘贴日志或选择文件。")
TOO_LARGE = Text(
    f"More than {MAXIMUM_BYTES // 2**20} MiB were sent, the most that is read. Cut the log to its tables.",
    f"发送的内容超过 {MAXIMUM_BYTES // 2**20} MiB 的上限。请只保留日志中的表格部分。",
)


@dataclass(frozen=True, slots=True)
class Form:
    """The form as it is shown."""

    text: str = ""
    name: str = ""
    """The file that the text came from."""
    is_masked: bool = False
    problem: Text | None = None
    wants_file_again: bool = False
    """The file was too large to come back in the box."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What came: the log, and whether it is to be kept or only shown."""

    data: bytes
    name: str
    is_masked: bool
    keeps: bool
    is_too_large: bool = False


async def read(request: Request) -> Sent:
    """What the form sent; what is larger than a log may be is swallowed."""
    body, is_too_large = await _body(request)
    if is_too_large:
        return Sent(b"", "", is_masked=False, keeps=False, is_too_large=True)

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    form = await Request(request.scope, receive).form(max_files=1, max_fields=20, max_part_size=MAXIMUM_BODY)
    try:
        return await _sent(form)
    finally:
        await form.close()


def draft_of(sent: Sent) -> tuple[Form, Draft | None]:
    """The form as it was sent, and the log that was read from it; None when there is nothing to read."""
    if sent.is_too_large or len(sent.data) > MAXIMUM_BYTES:
        return Form(problem=TOO_LARGE), None
    text = "\n".join(clean_lines(text_of(sent.data)))
    is_shown = len(text) <= MAXIMUM_SHOWN
    is_empty = not text.strip()
    form = Form(
        text=text if is_shown else "",
        name=sent.name,
        is_masked=sent.is_masked,
        problem=EMPTY if is_empty else None,
        wants_file_again=not is_shown,
    )
    if is_empty:
        return form, None
    imported = read_log(sent.data)
    return form, draft(imported, name=sent.name or PASTED, data=sent.data, is_masked=sent.is_masked)


async def _body(request: Request) -> tuple[bytes, bool]:
    body, length = bytearray(), 0
    async for chunk in request.stream():
        length += len(chunk)
        if length <= MAXIMUM_BODY:
            body += chunk
        elif length > MAXIMUM_SWALLOWED:
            break
        else:
            body.clear()
    return bytes(body), length > MAXIMUM_BODY


async def _sent(form: FormData) -> Sent:
    file = form.get("file")
    is_masked, keeps = form.get("hide_host") == "on", form.get("action") == "keep"
    if isinstance(file, UploadFile) and file.filename:
        return Sent(await file.read(), PurePosixPath(file.filename).name, is_masked=is_masked, keeps=keeps)
    text, name = form.get("text", ""), form.get("name", "")
    data = str(text).encode("utf-8", "replace")
    return Sent(data, PurePosixPath(str(name)).name, is_masked=is_masked, keeps=keeps)
