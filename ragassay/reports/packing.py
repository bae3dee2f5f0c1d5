"""Pack a page's fragments, so that a page of thousands of answers stays small and opens at once.

Fragments are finished HTML: everything in them is escaped when they are packed. The page's script
unpacks a chunk when something of it is shown or searched.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

CHUNK = 40
"""Fragments in a chunk: they share their markup, and are unpacked together."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A list in chunks, each a JSON array, deflated (RFC 1950) and in base64.

    Attributes:
        name: Names the list in the page.
        chunks: All of `CHUNK` members but the last.
    """

    name: str
    chunks: tuple[str, ...]


def pack(name: str, members: Sequence[object]) -> Packed:
    """Pack a list whose members JSON can hold; same members, same bytes.

    Example:
        >>> len(pack("answers", ["<p>one</p>"] * 41).chunks)
        2
    """
    starts = range(0, len(members), CHUNK)
    return Packed(name, tuple(_packed(members[start : start + CHUNK]) for start in starts))


def _packed(members: Sequence[object]) -> str:
    text = json.dumps(list(members), ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(errors="replace"), 9)).decode("ascii")
