"""Read provider responses with size limits, and refuse redirects to other hosts.

By default, LiteLLM reads responses of any length, searches invalid responses for keys (a second per
megabyte), and follows redirects to any host, resending the whole request.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.errors import FatalModelError, ModelError, UnparsableReplyError
from ragassay.safe_text import hide_secrets

if TYPE_CHECKING:
    import httpx

MOST_REPLY_BYTES = 16 * 2**20
"""Maximum size in bytes of a decompressed response.

A rating token with its alternatives takes 1 kB.
"""

MOST_ERROR_BYTES = 64 * 2**10
"""Number of bytes read from an error response, which contains the message at its start."""

MOST_UNCHECKED_BYTES = 64 * 2**10
"""Size in bytes above which a response is checked to be JSON before LiteLLM receives it."""

N_BYTES_KEPT, N_CHARS_QUOTED = 500, 100
"""Number of bytes stored and number of characters quoted of an invalid response.

More text is stored than quoted, so that a secret is not cut in half before it is removed.
"""

PLAIN, PACKED = frozenset({"", "identity"}), frozenset({"gzip", "x-gzip", "deflate"})
"""Supported content encodings."""


@dataclass
class Arrival:
    """Start of the response to a call, and an error in the response.

    Attributes:
        start: First bytes of a successful response, set after it was received completely.
        error: Error in the response, which LiteLLM replaces with an error of its own type.
    """

    start: bytes | None = None
    error: ModelError | None = None


_ARRIVAL: ContextVar[Arrival | None] = ContextVar("ragassay_arrival", default=None)


@contextmanager
def record_arrival() -> Iterator[Arrival]:
    """Record the response of the enclosed call."""
    arrival = Arrival()
    token = _ARRIVAL.set(arrival)
    try:
        yield arrival
    finally:
        _ARRIVAL.reset(token)


def note_error(error: ModelError) -> None:
    """Record an error in the response of the current call, before LiteLLM replaces it."""
    arrival = _ARRIVAL.get()
    if arrival is not None:
        arrival.error = error


def open_bounded_client(provider: str) -> Any:
    """Return LiteLLM's HTTP client for a provider, with limits on the size of responses."""
    from litellm.llms.custom_httpx.http_handler import get_async_httpx_client

    return get_async_httpx_client(provider, {"event_hooks": _HOOKS})


async def receive(response: httpx.Response) -> None:
    """Read a whole response before other code does, as an httpx hook.

    Raises:
        UnparsableReplyError: The response is too long or cannot be decompressed.
        FatalModelError: The response redirects to another server.
    """
    from httpx import ByteStream

    arrival = _ARRIVAL.get() or Arrival()
    try:
        refuse_elsewhere(response)
        body = await _read_body(response)
    except ModelError as error:
        arrival.error = error
        raise
    response.headers.pop("content-encoding", None)
    response.stream = ByteStream(body)
    if response.is_success:
        arrival.start = body[:N_BYTES_KEPT]


async def prepare(request: httpx.Request) -> None:
    """Request only supported encodings, as an httpx hook.

    User and password are already in a header when the hook is called. Both are removed from the URL
    because aiohttp rejects requests with credentials in both places.
    """
    request.headers["accept-encoding"] = "gzip, deflate"
    if request.url.userinfo:
        request.url = request.url.copy_with(userinfo=b"")


_HOOKS = {"request": [prepare], "response": [receive]}


def describe_invalid_reply(start: bytes) -> str:
    """Return an error message for an invalid response that starts with these bytes."""
    if not start.strip():
        return "the reply is empty"
    quote = hide_secrets(start.decode("utf-8", "replace"))
    return f"the reply is not a chat completion: {quote[:N_CHARS_QUOTED]!r}"


def refuse_elsewhere(response: httpx.Response) -> None:
    """Raise `FatalModelError` for a redirect to another host, scheme or port."""
    if not response.has_redirect_location:
        return
    source = response.url
    target = source.join(response.headers["location"])
    if (target.scheme, target.host, target.port) != (source.scheme, source.host, source.port):
        raise FatalModelError(
            f"{_format_origin(source)} redirects to another server, {_format_origin(target)}; "
            "if that is intended, pass its address as --api-base"
        )


def _format_origin(url: httpx.URL) -> str:
    port = f":{url.port}" if url.port else ""
    return f"{url.scheme}://{url.host}{port}"


async def _read_body(response: httpx.Response) -> bytes:
    stream, parts, n_bytes = response.stream, list[bytes](), 0
    limit = MOST_REPLY_BYTES if response.is_success else MOST_ERROR_BYTES
    try:
        unpacked = _unpack_stream(stream, response.headers.get("content-encoding", ""))
        async with aclosing(unpacked):
            async for part in unpacked:
                parts.append(part)
                n_bytes += len(part)
                if n_bytes > limit:
                    break
    finally:
        await stream.aclose()  # type: ignore[union-attr]
    body = b"".join(parts)
    if not response.is_success:
        return body[:limit]
    if n_bytes > limit:
        raise UnparsableReplyError(f"the reply is longer than {limit // 2**20} MiB")
    if n_bytes > MOST_UNCHECKED_BYTES and not _is_json(body):
        raise UnparsableReplyError(describe_invalid_reply(body[:N_BYTES_KEPT]))
    return body


async def _unpack_stream(stream: Any, encoding: str) -> AsyncGenerator[bytes]:
    """Yield the decompressed bytes of a stream, in parts of at most 1 MiB."""
    kind = encoding.strip().lower()
    if kind not in PLAIN | PACKED:
        raise UnparsableReplyError(f"the reply has an unsupported content encoding: {kind}")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if kind in PACKED else None
    async for part in stream:
        while unpacker and part:
            try:
                yield unpacker.decompress(part, 2**20)
            except zlib.error as error:
                raise UnparsableReplyError(f"cannot decompress the reply: {error}") from error
            part = unpacker.unconsumed_tail
        if unpacker is None:
            yield part
    if unpacker:
        yield unpacker.flush()


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
