"""Name the encoding of bytes that are not UTF-8, so that they can be saved as UTF-8."""

from __future__ import annotations

import codecs

SAVE_AS_UTF8 = "save it as UTF-8 (`iconv -f {iconv} -t UTF-8 IN > OUT`)"
_BOMS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
"""Marks at the start of a file; the longer ones first, for they begin like the others."""

_TYPED = frozenset(b"\t\n\r\f")
_HIGH = 0x80
_SEEN = 4_096


def encoding_of_start(data: bytes) -> str | None:
    """Return the encoding that a file's mark names, other than UTF-8; None without a mark."""
    return next((name for mark, name in _BOMS if data.startswith(mark)), None)


def guess_encoding(data: bytes) -> str | None:
    """Return the encoding that bytes read as, where they are not UTF-8; None where it is unclear.

    Example:
        >>> guess_encoding("naïve".encode("cp1252")), guess_encoding("ab".encode("utf-16-le"))
        ('Windows-1252', 'UTF-16')
    """
    start = data[:_SEEN]
    if (marked := encoding_of_start(start)) is not None:
        return marked
    pairs = len(start) // 2
    n_zeros = max(start[::2].count(0), start[1::2].count(0))
    if pairs and n_zeros * 2 > pairs and start.count(0) <= pairs + 1:
        return "UTF-16"
    if any(byte < 0x20 and byte not in _TYPED for byte in start):
        return None
    try:
        start.decode("cp1252")
    except UnicodeDecodeError:
        return None
    return "Windows-1252" if any(byte >= _HIGH for byte in start) else None


def encoding_note(data: bytes) -> str:
    """Return what bytes that are not UTF-8 read as, and what to do; empty where it is unclear."""
    name = guess_encoding(data)
    if name is None:
        return ""
    return f"; it reads as {name}: {SAVE_AS_UTF8.format(iconv=name.upper())}"
