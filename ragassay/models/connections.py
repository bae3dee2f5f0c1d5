"""Say in words why an endpoint cannot be reached, or how a connection broke off."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import Any

from ragassay.redaction import without_secrets
from ragassay.text.characters import with_whole_characters


def unreachable(error: BaseException, base: str = "") -> str:
    """Return what to do about an endpoint that is not there; empty for any other error."""
    at = f" at {base}" if base else ""
    for cause in causes_of(error):
        if isinstance(cause, ConnectionRefusedError):
            return f"connection refused{at}: start the server, or check --api-base"
        if isinstance(cause, socket.gaierror):
            return f"the host is not known{at}: check --api-base and the network"
        if isinstance(cause, ssl.SSLCertVerificationError) and hasattr(cause, "verify_message"):
            return (
                f"the certificate of {base or 'its endpoint'} is not valid "
                f"({cause.verify_message}): name the authority's certificates in SSL_CERT_FILE, or "
                "check --api-base"
            )
        if isinstance(cause, _wrong_addresses()):
            return f"{base or 'its endpoint'} is no address: --api-base is like http://HOST:PORT/v1"
    return ""


def lost(error: BaseException) -> str:
    """Return how a connection broke off; empty for any other error."""
    import httpx

    for cause in causes_of(error):
        if isinstance(cause, httpx.NetworkError | httpx.RemoteProtocolError | ConnectionError):
            words = " ".join(str(cause).split())[:100]
            return f"the connection broke off: {words or type(cause).__name__}"
    return ""


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Return an error and all that led to it."""
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        inner = (getattr(found, name, None) for name in ("os_error", "certificate_error"))
        waiting += [found.__cause__, found.__context__, *inner]


def _wrong_addresses() -> tuple[type[Exception], ...]:
    import httpx

    return httpx.UnsupportedProtocol, httpx.InvalidURL


def shortened(said: BaseException | str) -> str:
    """Return an error's words in one line of at most 300 characters, without secrets."""
    # Before it is cut: half a key is still half a key.
    text = without_secrets(with_whole_characters(" ".join(str(said).split())))
    return text if len(text) <= 300 else text[:297] + "..."
