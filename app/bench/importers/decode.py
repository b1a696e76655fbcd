"""Bytes of any origin as clean lines: encodings, terminal colours, carriage returns, container log wrappers.

Line numbers stay those of the file, because badges name lines and people look them up.
"""

import codecs
import json
import re

MAXIMUM_BYTES = 32 * 1024 * 1024

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movement
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and links
    r"|\x1b[ -/]*[0-~]"
)
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufeff\u200b]")
_SPACES = str.maketrans({"\u00a0": " ", "\u2007": " ", "\u202f": " ", "\x0b": " ", "\x0c": " ", "\t": "        "})


def text_of(data: bytes) -> str:
    """`data` as text: UTF-8, or UTF-16 where a mark or the zero bytes of Latin text say so; never an error."""
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :].decode("utf-8", "replace")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    start = data[:4096]
    half = len(start) // 2
    for name, zeros in (("utf-16-le", start[1::2].count(0)), ("utf-16-be", start[0::2].count(0))):
        if half >= 8 and zeros > 0.8 * half:
            return data.decode(name, "replace")
    return data.decode("utf-8", "replace")


def clean_lines(text: str) -> list[str]:
    """The lines of `text` without escapes and control characters; a line that was rewritten in place counts as its last state."""
    if "\n" not in text:
        text = text.replace("\r", "\n")
    return [_clean(line) for line in text.split("\n")]


def _clean(line: str) -> str:
    if line.startswith('{"log":'):
        line = _container_line(line)
    if "\x1b" in line:
        line = _ESCAPES.sub("", line)
    if "\r" in line:
        parts = [part for part in line.split("\r") if part.strip()]
        line = parts[-1] if parts else ""
    return _NO_TEXT.sub("", line).translate(_SPACES).rstrip()


def _container_line(line: str) -> str:
    """The text inside a line of Docker's json-file log driver, or the line itself."""
    try:
        wrapped = json.loads(line)["log"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return line
    # An escape of JSON may spell half of a character, which nothing can print.
    return wrapped.rstrip("\n").encode("utf-8", "replace").decode() if isinstance(wrapped, str) else line
