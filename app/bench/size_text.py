"""Sizes in bytes as people type them, with the suffixes nccl-tests takes: K, M, G and T are binary."""

import re
import unicodedata

from app.core.units import GIB, KIB, MIB

_BYTES = re.compile(r"(\d{1,15})\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_FACTORS = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": 1024 * GIB}


def read_bytes(text: str) -> int:
    """Bytes of `8`, `64K`, `1G` or `64 MiB`. Raises ValueError.

    >>> read_bytes("64K"), read_bytes("1 GiB"), read_bytes("1000")
    (65536, 1073741824, 1000)
    """
    match = _BYTES.fullmatch(unicodedata.normalize("NFKC", text).strip())
    if match is None:
        raise ValueError(text)
    return int(match[1]) * _FACTORS[match[2].lower()]


def write_bytes(size: int) -> str:
    """Bytes as `read_bytes` reads them, as short as it goes."""
    for unit in ("T", "G", "M", "K"):
        factor = _FACTORS[unit.lower()]
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)
