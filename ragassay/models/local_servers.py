"""Find language model servers on this machine, and the judges that they offer.

Only lists of models are requested, so that servers load no model. Requests ignore proxies set in
the environment.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ragassay.errors import InputError
from ragassay.models.local_answers import (
    KINDS,
    REFUSED,
    LocalServer,
    ServerModel,
    read_ollama_details,
    read_server,
)
from ragassay.safe_text import keep_address

if TYPE_CHECKING:
    import httpx

CONNECT_S, LOOK_S = 0.3, 1.0
"""Timeouts in seconds: for connecting, and for all requests to one address."""

MOST_BYTES = 4 * 2**20

MOST_DETAILS = 100
"""Maximum number of Ollama models whose details are requested."""

PATHS = ("/v1/models", "/api/version", "/api/tags", "/api/v0/models", "/version", "/props")
"""Paths requested from every address to identify the server."""


EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Wildcard addresses on which a server can listen, and the host to connect to."""


def list_default_urls(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the addresses to check, from environment variables and default ports."""
    configured = [
        as_url(environment[variable], kind.port)
        for kind in KINDS.values()
        for variable in kind.variables
        if environment.get(variable, "").strip()
    ]
    defaults = [f"http://127.0.0.1:{kind.port}" for kind in KINDS.values() if kind.port]
    same = {url.replace("//localhost:", "//127.0.0.1:") for url in configured}
    return tuple(dict.fromkeys([*configured, *(url for url in defaults if url not in same)]))


def as_url(text: str, port: int = 80) -> str:
    """Normalize an address in any common form and remove its path.

    Args:
        port: Port to use if the address has neither a port nor a scheme.

    Raises:
        InputError: The text is not an address.
    """
    address = text.strip().strip("\"'")
    has_scheme = "://" in address
    try:
        parts = urlsplit(address if has_scheme else f"http://{address}")
        host = EVERYWHERE.get(parts.hostname or "", parts.hostname or "")
        number = parts.port or (None if has_scheme else port)
    except ValueError as error:
        raise InputError(f"{text!r} is not an address; write http://HOST:PORT ({error})") from error
    if parts.scheme not in ("http", "https") or any(map(str.isspace, address)):
        raise InputError(f"{text!r} is not an address; write http://HOST:PORT")
    keep_address(address)
    bracketed = f"[{host}]" if ":" in host else host
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"{parts.scheme}://{user}{bracketed}" + (f":{number}" if number else "")


def find_servers(urls: Sequence[str]) -> tuple[LocalServer, ...]:
    """Return the model servers at addresses normalized by `as_url`.

    All addresses are checked concurrently.
    """
    return asyncio.run(_find_servers(urls))


async def _find_servers(urls: Sequence[str]) -> tuple[LocalServer, ...]:
    import httpx

    timeout = httpx.Timeout(LOOK_S, connect=CONNECT_S)
    async with httpx.AsyncClient(trust_env=False, timeout=timeout) as client:
        found = await asyncio.gather(*(_look_at(client, url) for url in urls))
    return tuple(server for server in found if server is not None)


async def _look_at(client: httpx.AsyncClient, url: str) -> LocalServer | None:
    try:
        async with asyncio.timeout(LOOK_S):
            bodies = await asyncio.gather(*(_fetch(client, "GET", url + path) for path in PATHS))
    except TimeoutError:
        return None
    server = read_server(url, dict(zip(PATHS, bodies, strict=True)))
    if server is None or server.problem:
        return server
    models = tuple(model for model in server.models if model.name)
    if server.kind == "ollama":
        models = await _add_details(client, url, models)
    judges = tuple(model for model in models if model.can_judge)
    return replace(server, models=judges, n_left_out=len(models) - len(judges))


async def _add_details(
    client: httpx.AsyncClient, url: str, models: Sequence[ServerModel]
) -> tuple[ServerModel, ...]:
    listed = models[:MOST_DETAILS]
    try:
        async with asyncio.timeout(LOOK_S):
            bodies = await asyncio.gather(
                *(_fetch(client, "POST", f"{url}/api/show", {"model": m.name}) for m in listed)
            )
    except TimeoutError:
        return tuple(models)
    detailed = map(read_ollama_details, listed, bodies)
    return (*detailed, *models[MOST_DETAILS:])


async def _fetch(
    client: httpx.AsyncClient, method: str, url: str, body: Mapping[str, str] | None = None
) -> Any:
    """Return the JSON response of a server, `REFUSED` if it requires a key, or None."""
    import httpx

    received = bytearray()
    try:
        async with client.stream(method, url, json=body) as response:
            if response.status_code in (401, 403):
                return REFUSED
            async for part in response.aiter_bytes():
                received += part
                if len(received) > MOST_BYTES:
                    return None
        return json.loads(received)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return None
