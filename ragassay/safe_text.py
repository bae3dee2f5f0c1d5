"""Remove secrets from output and control characters from terminal text."""

from __future__ import annotations

import base64
import functools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    from rich.console import Console


HIDDEN = "***"

N_CHARS_LEAST = 8
"""Minimum length of a secret.

Shorter values, and values without a digit, may be ordinary words, such as a placeholder key for a
server that needs no key.
"""

_SECRET_NAME = re.compile(r"(key|token|secret|password|passwd|credentials|headers)$", re.IGNORECASE)
"""Names of environment variables with secret values."""

# The repeats are bounded to keep the search linear in the length of the text.
_USERINFO = re.compile(r"(?<=:/)(/?)[^\s'\"<>?#]{0,500}@")
_BARE_USERINFO = re.compile(
    r"(?<![^\s'\"<>/@=])[^\s'\"<>/@=:]{1,200}:[^\s'\"<>/@]{1,300}@(?=[\w\[])"
)

_SECRETS: set[str] = set()


def keep_secret(value: str | None) -> None:
    """Hide a value in all later output, whether verbatim, URL-quoted or in base64."""
    _SECRETS.update(_list_forms(value or ""))


def keep_address(address: str | None) -> None:
    """Hide the password in a URL, and the user and password as sent in a header."""
    try:
        parts = urlsplit(address or "")
    except ValueError:
        return
    if parts.password:
        user, password = unquote(parts.username or ""), unquote(parts.password)
        keep_secret(password)
        _SECRETS.add(base64.b64encode(f"{user}:{password}".encode()).decode())


def hide_secrets(text: str) -> str:
    """Return text without known secrets and without user names and passwords in URLs.

    Example:
        >>> hide_secrets("nobody listens at http://ann:pw@localhost:8000/v1")
        'nobody listens at http://***@localhost:8000/v1'
    """
    shown = _USERINFO.sub(rf"\1{HIDDEN}@", text)
    return hide_known_secrets(_BARE_USERINFO.sub(f"{HIDDEN}@", shown))


def hide_known_secrets(text: str) -> str:
    """Return text without known secrets. User names and passwords in URLs are kept."""
    found = {secret for secret in (*_SECRETS, *_find_env_secrets()) if secret in text}
    for secret in sorted(found, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _find_env_secrets() -> Iterator[str]:
    for name in os.environ:
        if _is_secret(name):
            value = os.environ.get(name, "")
            for part in re.split(r"[\s,=]+", value) if name.endswith("HEADERS") else (value,):
                yield from _list_forms(part)


@functools.lru_cache(maxsize=1024)  # called for every variable and every reply
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


@functools.lru_cache(maxsize=1024)
def _list_forms(value: str) -> tuple[str, ...]:
    if len(value) < N_CHARS_LEAST or not any(map(str.isdigit, value)):
        return ()
    return value, quote(value, safe=""), base64.b64encode(value.encode()).decode()


CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
"""C0 controls, DEL and C1 controls, which include the start of terminal escape sequences."""

REORDERING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Unicode direction marks, which change the order in which characters are displayed."""

_BREAKS = (0x2028, 0x2029)
_SURROGATES = tuple(range(0xD800, 0xE000))
_KEPT_CONTROLS = (0x09, 0x0A)
_ESCAPED = {
    code: f"\\u{code:04x}"
    for code in (*CONTROLS, *REORDERING, *_BREAKS, *_SURROGATES)
    if code not in _KEPT_CONTROLS
}


def escape_controls(text: str) -> str:
    r"""Escape all characters that could control a terminal.

    Newlines and tabs are kept. The escapes are JSON escapes, so JSON text keeps its meaning.

    Example:
        >>> escape_controls("a\x1b[31mb") == "a\\u001b[31mb"
        True
    """
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPED)


class _SafeStream:
    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        shown = escape_controls(text.replace("\r\n", "\n"))
        try:
            self.unguarded.write(shown)
        except UnicodeEncodeError:  # The terminal's encoding lacks a character.
            encoding = self.unguarded.encoding or "ascii"
            self.unguarded.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


@contextmanager
def use_safe_streams() -> Iterator[None]:
    """Replace stdout and stderr with safe streams while the context is active."""
    originals = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_SafeStream, originals)  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stdout, sys.stderr = originals


def open_console(stderr: bool = False) -> Console:
    """Return a rich console that passes text through `visible` and ignores rich markup."""
    stream = sys.stderr if stderr else sys.stdout
    return _build_console_class()(
        file=getattr(stream, "unguarded", stream),
        stderr=stderr,
        markup=False,
        emoji=False,
        highlight=False,
    )


def write_red(text: str) -> None:
    """Write a line to stderr, in red if the terminal supports colours."""
    open_console(stderr=True).print(text, style="red", soft_wrap=True)


@functools.cache
def _build_console_class() -> type[Console]:
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        """Rich console that escapes control characters before style codes are added."""

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else escape_controls(text), style, control)

    return SafeConsole
