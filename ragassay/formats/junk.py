"""Read a file that is all junk only until that is clear: its rejections would fill the memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ragassay.records import Rejection

MAX_JUNK = 10_000
MAX_JUNK_SHARE = 0.9
"""Of a file that has more unreadable lines than `MAX_JUNK` and this share, the rest is not read."""

T = TypeVar("T")


@dataclass
class JunkCount:
    """Counts the lines of a file that cannot be read, and ends one that is all junk."""

    path: Path
    n_bad: int = 0
    n_lines: int = 0

    def end(self, line: int, is_bad: bool) -> Rejection | None:
        """Count a line; return the last rejection of a file that is not to be read further."""
        self.n_lines += 1
        self.n_bad += is_bad
        if not is_bad or self.n_bad < MAX_JUNK or self.n_bad <= MAX_JUNK_SHARE * self.n_lines:
            return None
        return Rejection(
            file=str(self.path),
            line=line + 1,
            field="",
            problem=f"{self.n_bad:,} of {self.n_lines:,} lines cannot be read: the rest is left "
            "unread",
            expected="a file of records",
            content="",
        )


def until_junk(items: Iterable[T | Rejection], path: Path) -> Iterator[T | Rejection]:
    """Return the items of a file, up to where it turns out to be all junk."""
    junk = JunkCount(path)
    for item in items:
        yield item
        line = item.line if isinstance(item, Rejection) else 0
        if end := junk.end(line, isinstance(item, Rejection)):
            yield end
            return
