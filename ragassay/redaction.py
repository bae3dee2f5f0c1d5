"""Keep keys and passwords out of what is written: errors, failures, replies, spans.

A server may repeat the key that it was sent, and a library may quote the address that it could not
reach, with its user and password.
"""

from __future__ import annotations

import base64
import functools
import os
import re
from collections.abc import Iterator
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "***"

N_CHARS_LEAST = 8
"""A shorter value, or one without a digit, may be any word: a server that asks for no key gets one.
"""

_SECRET_NAME = re.compile(r"(key|token|secret|password|passwd|credentials|headers)$", re.IGNORECASE)
"""Environment variables whose value is a secret."""

# Bounded, so that a long text takes time in proportion to its length.
_USERINFO = re.compile(r"(?<=:/)(/?)[^\s'\"<>?#]{0,500}@")
_BARE_USERINFO = re.compile(
    r"(?<![^\s'\"<>/@=])[^\s'\"<>/@=:]{1,200}:[^\s'\"<>/@]{1,300}@(?=[\w\[])"
)

_KEPT: set[str] = set()


def keep_secret(value: str | None) -> None:
    """Hide a value from now on, as it is, quoted as in an address, and in base64."""
    _KEPT.update(_forms(value or ""))


def keep_address(address: str | None) -> None:
    """Hide the user and password of an address, also as a header would send them."""
    try:
        parts = urlsplit(address or "")
    except ValueError:
        return
    if parts.password:
        user, password = unquote(parts.username or ""), unquote(parts.password)
        keep_secret(password)
        _KEPT.add(base64.b64encode(f"{user}:{password}".encode()).decode())


def without_secrets(text: str) -> str:
    """Return text without the secrets of this process, and without users of addresses.

    Example:
        >>> without_secrets("nobody listens at http://ann:pw@localhost:8000/v1")
        'nobody listens at http://***@localhost:8000/v1'
    """
    shown = _USERINFO.sub(rf"\1{HIDDEN}@", text)
    return without_known(_BARE_USERINFO.sub(f"{HIDDEN}@", shown))


def without_known(text: str) -> str:
    """Return text without the secrets of this process; addresses in it stay as they are."""
    found = {secret for secret in (*_KEPT, *_environment()) if secret in text}
    for secret in sorted(found, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _environment() -> Iterator[str]:
    for name in os.environ:
        if _is_secret(name):
            value = os.environ.get(name, "")
            for part in re.split(r"[\s,=]+", value) if name.endswith("HEADERS") else (value,):
                yield from _forms(part)


@functools.lru_cache(maxsize=1024)  # each reply is searched for the secrets of the environment
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


@functools.lru_cache(maxsize=1024)
def _forms(value: str) -> tuple[str, ...]:
    if len(value) < N_CHARS_LEAST or not any(map(str.isdigit, value)):
        return ()
    return value, quote(value, safe=""), base64.b64encode(value.encode()).decode()
