"""Size limits for reading files, and readers for small files such as YAML configuration."""

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

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Default maximum length of a line in bytes. Longer lines are rejected when a file is read."""

_limit: ContextVar[Callable[[], int]] = ContextVar("_limit", default=lambda: MAX_LINE_BYTES)


@contextmanager
def limit_line_length(limit: int | Callable[[], int]) -> Generator[None]:
    """Set the maximum line length for files that are read while the context is active.

    Args:
        limit: Limit in bytes, or a function that returns the limit when a file is read.
    """
    token = _limit.set(limit if callable(limit) else lambda: limit)
    try:
        yield
    finally:
        _limit.reset(token)


def get_line_limit() -> int:
    """Return the current maximum line length in bytes."""
    return _limit.get()()


MAX_BYTES = 64 * 1024 * 1024
MAX_YAML_BYTES = 1024 * 1024

_SPECIAL = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def detect_special_file(mode: int) -> str:
    """Return the kind of a special file, such as "a pipe", or "" for regular files and folders."""
    return next((kind for is_kind, kind in _SPECIAL if is_kind(mode)), "")


def read_small(path: Path, most: int = MAX_BYTES) -> bytes:
    """Read a file of at most `most` bytes.

    Raises:
        OSError: The file cannot be read, is too large, or is a pipe or device.
    """
    special = detect_special_file(path.stat().st_mode)
    if special:
        raise OSError(
            errno.EINVAL, f"the path is {special}, but a regular file is required", str(path)
        )
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"the file has more than {most:,} bytes", str(path))
    return data


def read_yaml(path: Path) -> object:
    """Parse YAML that contains no tags or aliases. Aliases could expand to billions of values.

    Raises:
        OSError: See `read_small`.
        UnicodeDecodeError: The file is not UTF-8.
        YAMLError: The file is not YAML, or contains a tag or alias.
    """
    import yaml

    text = read_small(path, MAX_YAML_BYTES).decode("utf-8-sig")
    try:
        return _build_plain_loader()(text).get_single_data()
    except (RecursionError, ValueError) as error:
        message = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise yaml.YAMLError(message) from error


def _build_plain_loader() -> type[yaml.SafeLoader]:
    import yaml

    class PlainLoader(yaml.SafeLoader):
        """YAML loader that rejects aliases, NUL characters and lone surrogates."""

        def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
            text = super().construct_scalar(node)
            if isinstance(text, str) and "\0" in text:
                raise yaml.YAMLError(f"found a NUL character on line {node.start_mark.line + 1}")
            if isinstance(text, str):
                text.encode("utf-8")
            return text

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise yaml.YAMLError(
                    f"found an alias (*) on line {mark.line + 1}; replace the alias with its value"
                )
            return super().compose_node(parent, index)

    return PlainLoader
