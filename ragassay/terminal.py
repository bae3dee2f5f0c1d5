"""Keep control characters and marks of direction, in whoever's text, from the terminal.

`safe_streams` stands around the whole command line: whatever is written to stdout or stderr by us,
by Typer, by a library's warning, goes through `visible`. Only the consoles of `open_console` write
past it, for they write escapes of their own (colours, a bar): what they show goes through
`visible`, too.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
"""C0, DEL and C1: what begins a terminal's commands is among them."""

REORDERING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Unicode's marks of direction: they change the order in which a line reads."""

_BREAKS = (0x2028, 0x2029)
_SURROGATES = tuple(range(0xD800, 0xE000))
_KEPT = (0x09, 0x0A)
_ESCAPED = {
    code: f"\\u{code:04x}"
    for code in (*CONTROLS, *REORDERING, *_BREAKS, *_SURROGATES)
    if code not in _KEPT
}


def visible(text: str) -> str:
    r"""Return a text in which everything that could steer a terminal is spelled out.

    Line ends and tabs stay. The spelling is JSON's, so that JSON still says what it said.

    Example:
        >>> visible("a\x1b[31mb") == "a\\u001b[31mb"
        True
    """
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPED)


class _SafeStream:
    """A text stream that writes only what is `visible`."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        shown = visible(text.replace("\r\n", "\n"))
        try:
            self.unguarded.write(shown)
        except UnicodeEncodeError:  # a terminal that knows few characters
            encoding = self.unguarded.encoding or "ascii"
            self.unguarded.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


@contextmanager
def safe_streams() -> Iterator[None]:
    """Guard stdout and stderr while the context lasts."""
    given = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_SafeStream(one) for one in given)  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stdout, sys.stderr = given


def open_console(stderr: bool = False) -> Console:
    """Return a rich console whose texts are `visible`, and are no markup of rich's."""
    stream = sys.stderr if stderr else sys.stdout
    return _console_class()(
        file=getattr(stream, "unguarded", stream),
        stderr=stderr,
        markup=False,
        emoji=False,
        highlight=False,
    )


def write_red(text: str) -> None:
    """Write a line in red on stderr, where that is a terminal which may have colours."""
    open_console(stderr=True).print(text, style="red", soft_wrap=True)


@functools.cache
def _console_class() -> type[Console]:
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        """Makes the text of each segment visible; the escapes are written later, from styles."""

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    return SafeConsole
