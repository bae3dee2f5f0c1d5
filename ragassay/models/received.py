"""Read what a provider's server sends: within bounds, and only from the address that was asked.

Left alone, LiteLLM holds a reply of any length, searches an unreadable one for keys, which takes a
second for each megabyte, and follows a redirect to any host with all that was asked.
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
from ragassay.safe_text import without_secrets

if TYPE_CHECKING:
    import httpx

MOST_REPLY_BYTES = 16 * 2**20
"""Longest reply that is read, unpacked; a rating of one token with its alternatives takes 1 kB."""

MOST_ERROR_BYTES = 64 * 2**10
"""What is read of a reply that reports an error: its words stand at its start."""

MOST_UNCHECKED_BYTES = 64 * 2**10
"""A longer reply is not given to LiteLLM before it is known to be JSON."""

N_BYTES_KEPT, N_CHARS_QUOTED = 500, 100
"""Of a reply that cannot be read: more is kept than shown, so that no key is shown by half."""

PLAIN, PACKED = frozenset({"", "identity"}), frozenset({"gzip", "x-gzip", "deflate"})
"""Encodings of a reply that are read."""


@dataclass
class Arrival:
    """The part of a reply that has arrived.

    Attributes:
        start: The first bytes of a reply that reports success, once all of it is here.
        error: What was wrong with it; LiteLLM reports such an error as one of its own.
    """

    start: bytes | None = None
    error: ModelError | None = None


_ARRIVAL: ContextVar[Arrival | None] = ContextVar("ragassay_arrival", default=None)


@contextmanager
def arriving() -> Iterator[Arrival]:
    """Note what arrives of the enclosed call."""
    arrival = Arrival()
    token = _ARRIVAL.set(arrival)
    try:
        yield arrival
    finally:
        _ARRIVAL.reset(token)


def note_error(error: ModelError) -> None:
    """Note what is wrong with the reply of the enclosed call, before LiteLLM reports it."""
    arrival = _ARRIVAL.get()
    if arrival is not None:
        arrival.error = error


def bounded_client(provider: str) -> Any:
    """Return LiteLLM's client for a provider, one in each event loop, that reads within bounds."""
    from litellm.llms.custom_httpx.http_handler import get_async_httpx_client

    return get_async_httpx_client(provider, {"event_hooks": _HOOKS})


async def receive(response: httpx.Response) -> None:
    """Read a response whole, before anyone else does; a hook of httpx.

    Raises:
        UnparsableReplyError: It is too long, or its packing cannot be read.
        FatalModelError: It sends the question to another address.
    """
    from httpx import ByteStream

    arrival = _ARRIVAL.get() or Arrival()
    try:
        refuse_elsewhere(response)
        body = await _body_of(response)
    except ModelError as error:
        arrival.error = error
        raise
    response.headers.pop("content-encoding", None)
    response.stream = ByteStream(body)
    if response.is_success:
        arrival.start = body[:N_BYTES_KEPT]


async def prepare(request: httpx.Request) -> None:
    """Ask for no packing but those that are read; a hook of httpx.

    The user and password of an address stand in a header by now, and aiohttp wants them but once.
    """
    request.headers["accept-encoding"] = "gzip, deflate"
    if request.url.userinfo:
        request.url = request.url.copy_with(userinfo=b"")


_HOOKS = {"request": [prepare], "response": [receive]}


def no_completion(start: bytes) -> str:
    """Return what is wrong with a reply, by its first bytes."""
    if not start.strip():
        return "the reply is empty"
    told = without_secrets(start.decode("utf-8", "replace"))
    return f"the reply is not a chat completion: {told[:N_CHARS_QUOTED]!r}"


def refuse_elsewhere(response: httpx.Response) -> None:
    """Refuse a redirect to another host, scheme or port: it would take the question along.

    Raises:
        FatalModelError: It is one.
    """
    if not response.has_redirect_location:
        return
    asked = response.url
    there = asked.join(response.headers["location"])
    if (there.scheme, there.host, there.port) != (asked.scheme, asked.host, asked.port):
        raise FatalModelError(
            f"{_origin(asked)} sends the question on to {_origin(there)}, which nobody named: if "
            "that is right, give its address as --api-base"
        )


def _origin(url: httpx.URL) -> str:
    port = f":{url.port}" if url.port else ""
    return f"{url.scheme}://{url.host}{port}"


async def _body_of(response: httpx.Response) -> bytes:
    stream, parts, n_bytes = response.stream, list[bytes](), 0
    most = MOST_REPLY_BYTES if response.is_success else MOST_ERROR_BYTES
    try:
        unpacked = _unpack_stream(stream, response.headers.get("content-encoding", ""))
        async with aclosing(unpacked):
            async for part in unpacked:
                parts.append(part)
                n_bytes += len(part)
                if n_bytes > most:
                    break
    finally:
        await stream.aclose()  # type: ignore[union-attr]
    body = b"".join(parts)
    if not response.is_success:
        return body[:most]
    if n_bytes > most:
        raise UnparsableReplyError(f"the reply is longer than {most // 2**20} MiB")
    if n_bytes > MOST_UNCHECKED_BYTES and not _is_json(body):
        raise UnparsableReplyError(no_completion(body[:N_BYTES_KEPT]))
    return body


async def _unpack_stream(stream: Any, encoding: str) -> AsyncGenerator[bytes]:
    """Return a stream's bytes, each part at most 1 MiB however tightly it is packed."""
    kind = encoding.strip().lower()
    if kind not in PLAIN | PACKED:
        raise UnparsableReplyError(f"the reply is packed in a way that nobody asked for: {kind}")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if kind in PACKED else None
    async for part in stream:
        while unpacker and part:
            try:
                yield unpacker.decompress(part, 2**20)
            except zlib.error as error:
                raise UnparsableReplyError(f"the reply cannot be unpacked: {error}") from error
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
