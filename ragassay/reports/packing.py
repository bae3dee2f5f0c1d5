"""Pack a page's fragments, so that a page of thousands of answers stays small and opens at once.

Fragments are finished HTML: everything in them is escaped when they are packed. The page's script
unpacks a chunk when something of it is shown or searched.
"""

from __future__ import annotations

import base64
import json
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

CHUNK = 40
"""Fragments in a chunk: they share their markup, and are unpacked together."""

N_IN_MEMORY = 2**22
"""Bytes of a packed list from which on it waits in a temporary file."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A list in chunks, each a JSON array, deflated (RFC 1950) and in base64.

    Attributes:
        name: Names the list in the page.
        chunks: All of `CHUNK` members but the last; to be read once.
    """

    name: str
    chunks: Iterable[str]


class Packer:
    """Packs a list while it grows: of a list of thousands, only one chunk is in memory unpacked.

    Args:
        name: Names the list in the page.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._chunks = tempfile.SpooledTemporaryFile(N_IN_MEMORY, "w+", encoding="ascii")
        self._open: list[object] = []

    def add(self, member: object) -> None:
        """Add a member, which JSON must be able to hold."""
        self._open.append(member)
        if len(self._open) == CHUNK:
            self._close()

    def packed(self) -> Packed:
        """Return the packed list."""
        if self._open:
            self._close()
        return Packed(self._name, self._read())

    def _close(self) -> None:
        self._chunks.write(_packed(self._open) + "\n")
        self._open = []

    def _read(self) -> Iterator[str]:
        with self._chunks as lines:
            lines.seek(0)
            for line in lines:
                yield line.removesuffix("\n")


def pack(name: str, members: Iterable[object]) -> Packed:
    """Pack a list whose members JSON can hold; same members, same bytes.

    Example:
        >>> len(list(pack("answers", ["<p>one</p>"] * 41).chunks))
        2
    """
    packer = Packer(name)
    for member in members:
        packer.add(member)
    return packer.packed()


def _packed(members: Sequence[object]) -> str:
    text = json.dumps(list(members), ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(errors="replace"), 9)).decode("ascii")
