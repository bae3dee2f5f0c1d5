"""The key that every client of the server must send."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from ragassay.errors import SettingsError

N_CHARS_LEAST = 16
N_DIFFERENT_LEAST = 8

_MEND = (
    "unset RAGASSAY_OUTPUT__SERVER_KEY to have one made, or make one with "
    "`python -c 'import secrets; print(secrets.token_urlsafe())'`"
)

_GUESSED = re.compile(
    r"sk-?1234|password|passwort|change-?me|secret|example|your-?key|12345678|abcdefg"
)
"""Parts of guessable keys; a random key is unlikely to contain one."""


@dataclass(frozen=True)
class ServerKey:
    """A key.

    Attributes:
        value: The key itself.
        is_new: Whether it was just made, so that its owner has not seen it.
    """

    value: str
    is_new: bool


def server_key(given: str | None) -> ServerKey:
    """Return the settings' key, or a new one of 256 random bits.

    Raises:
        SettingsError: The given key can be guessed, or cannot be sent in a header.
    """
    if given is None:
        return ServerKey(f"sk-{secrets.token_urlsafe(32)}", is_new=True)
    problem = _weakness(given)
    if problem:
        raise SettingsError(f"setting 'server_key': {problem}; {_MEND}")
    return ServerKey(given, is_new=False)


def _weakness(key: str) -> str:
    """Return why a key is refused; empty for a good one."""
    if not key.strip():
        return "the key is empty"
    if not key.isascii() or not key.isprintable() or " " in key:
        return "the key holds spaces or characters that cannot stand in a header"
    if len(key) < N_CHARS_LEAST:
        return f"the key is weak: {len(key)} characters, at least {N_CHARS_LEAST} are wanted"
    if len(set(key)) < N_DIFFERENT_LEAST:
        return f"the key is weak: it has {len(set(key))} different characters"
    if found := _GUESSED.search(key.lower()):
        return f"the key is weak: it holds {found.group()!r}, as guessed keys do"
    return ""
