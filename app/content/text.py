"""The bytes of a content file as text: UTF-8 with or without a byte order mark, any line ending."""

MAXIMUM_BYTES = 2_000_000
"""Far above any page; a larger file was put here by mistake."""


class UnreadableText(Exception):
    """The file is not text we read; `line` is 1-based."""

    def __init__(self, line: int, what: str, remedy: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what
        self.remedy = remedy


def decode(raw: bytes) -> str:
    r"""The text with `\n` line endings. Raises UnreadableText."""
    if len(raw) > MAXIMUM_BYTES:
        raise UnreadableText(1, f"The file is larger than {MAXIMUM_BYTES:,} bytes.", "Split it.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableText(line, "The file is not UTF-8 here.", "Save it as UTF-8.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").replace("\ufdd0", "\ufffd")
