"""Bounds of the files that are read: the longest line, and small files that set something."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml


AnyPath = str | os.PathLike[str]
"""A path as a caller may give it."""

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The default: a longer line is refused while it is read, and never held whole."""

_limit: ContextVar[Callable[[], int]] = ContextVar("_limit", default=lambda: MAX_LINE_BYTES)


@contextmanager
def line_limit(limit: int | Callable[[], int]) -> Generator[None]:
    """Set the most bytes of a line of the files that are read here.

    Args:
        limit: In bytes; or a function that returns it, called when a file is read.
    """
    token = _limit.set(limit if callable(limit) else lambda: limit)
    try:
        yield
    finally:
        _limit.reset(token)


def max_line_bytes() -> int:
    """Return the most bytes of a line."""
    return _limit.get()()


MAX_BYTES = 64 * 1024 * 1024
MAX_YAML_BYTES = 1024 * 1024

_SPECIAL = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def special_kind(mode: int) -> str:
    """Return what a path is that is neither a file nor a folder; empty for those."""
    return next((what for is_one, what in _SPECIAL if is_one(mode)), "")


def read_small(path: Path, most: int = MAX_BYTES) -> bytes:
    """Read a whole file.

    Raises:
        OSError: It cannot be read, is a pipe or a device, or is too long; `strerror` says which.
    """
    special = special_kind(path.stat().st_mode)
    if special:
        raise OSError(errno.EINVAL, f"it is {special}, a file is needed", str(path))
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def read_yaml(path: Path) -> object:
    """Read YAML of plain values: no tag, no alias (which can stand for billions of values).

    Raises:
        OSError: As `read_small`.
        UnicodeDecodeError: It is not UTF-8.
        YAMLError: It is no YAML, or more than plain.
    """
    import yaml

    text = read_small(path, MAX_YAML_BYTES).decode("utf-8-sig")
    try:
        return _plain_loader()(text).get_single_data()
    except (RecursionError, ValueError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise yaml.YAMLError(why) from error


def _plain_loader() -> type[yaml.SafeLoader]:
    import yaml

    class PlainLoader(yaml.SafeLoader):
        """Reads no alias, and only text that UTF-8 can write."""

        def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
            text = super().construct_scalar(node)
            if isinstance(text, str) and "\0" in text:
                raise yaml.YAMLError(f"a NUL character on line {node.start_mark.line + 1}")
            if isinstance(text, str):
                text.encode("utf-8")
            return text

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise yaml.YAMLError(f"an alias (*) on line {mark.line + 1}: write it out")
            return super().compose_node(parent, index)

    return PlainLoader
