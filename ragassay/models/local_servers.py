"""Find language model servers on this machine, and the judges that they offer.

Only lists of models are requested, so that servers load no model. Requests ignore proxies set in
the environment.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ragassay.errors import InputError
from ragassay.model_names import VLLM
from ragassay.models.local_answers import (
    REFUSED,
    ServerAnswers,
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


@dataclass(frozen=True)
class ServerKind:
    """Kind of server.

    Attributes:
        provider: LiteLLM provider that supports schemas and log-probabilities for this server.
        key: Environment variable of the API key that LiteLLM sends.
        port: Default port, or 0 if there is none.
        variables: Environment variables that may contain the server's address.
    """

    name: str
    provider: str
    key: str
    port: int = 0
    variables: tuple[str, ...] = ()


KINDS = {
    # LiteLLM's ollama_chat drops log-probabilities. Ollama's OpenAI API returns them.
    "ollama": ServerKind(
        "Ollama", "openai", "OPENAI_API_KEY", 11434, ("OLLAMA_HOST", "OLLAMA_API_BASE")
    ),
    "lm_studio": ServerKind(
        "LM Studio", "lm_studio", "LM_STUDIO_API_KEY", 1234, ("LM_STUDIO_API_BASE",)
    ),
    "vllm": ServerKind("vLLM", VLLM, "HOSTED_VLLM_API_KEY", 8000, ("HOSTED_VLLM_API_BASE",)),
    # A llamafile is a single-file llama.cpp server.
    "llama_cpp": ServerKind(
        "llama.cpp", "llamafile", "LLAMAFILE_API_KEY", 8080, ("LLAMAFILE_API_BASE",)
    ),
    "other": ServerKind("OpenAI-compatible server", "openai", "OPENAI_API_KEY"),
}
"""Server kinds. `other` is any server with an OpenAI model list."""

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Wildcard addresses on which a server can listen, and the host to connect to."""


@dataclass(frozen=True)
class LocalServer:
    """Server that responded.

    Attributes:
        kind: Key of `KINDS`.
        url: Address of the server, without a path.
        version: Server version. Empty if unknown.
        n_left_out: Number of models that cannot be judges, such as embedding models.
        problem: Reason why the models are unknown, or "" if they are known.
    """

    kind: str
    url: str
    version: str = ""
    models: tuple[ServerModel, ...] = ()
    n_left_out: int = 0
    problem: str = ""

    @property
    def api_base(self) -> str:
        """Return the value of `--api-base` for the server's models."""
        return f"{self.url}/v1"

    def build_judge_name(self, model: ServerModel) -> str:
        """Return the value of `--model` for a model of the server."""
        return f"{KINDS[self.kind].provider}/{model.name}"


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
    description = read_server(ServerAnswers(dict(zip(PATHS, bodies, strict=True))))
    if description is None:
        return None
    server = LocalServer(description.kind, url, description.version)
    if description.models is None:
        key = KINDS[description.kind].key
        return replace(server, problem=f"listing its models requires a key (set {key})")
    models = tuple(model for model in description.models if model.name)
    if description.kind == "ollama":
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
