"""Find servers of language models on this machine, and the judges that they offer.

Only lists are read: no model is loaded by looking. The requests go straight to the address, past
any proxy of the environment.
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
"""Longest wait for a connection, and for all that an address is asked."""

MOST_BYTES = 4 * 2**20
"""Longest list that is read."""

MOST_DETAILS = 100
"""Most models of an Ollama whose details are asked for."""

PATHS = ("/v1/models", "/api/version", "/api/tags", "/api/v0/models", "/version", "/props")
"""Paths that every address is asked for; the answers tell its kind."""


@dataclass(frozen=True)
class ServerKind:
    """A kind of server.

    Attributes:
        provider: LiteLLM's provider for it that takes a schema and gives log-probabilities.
        key: Environment variable of the key that LiteLLM sends it, where it asks for one.
        port: The port that it listens on by default; 0 for none of its own.
        variables: Environment variables that hold an address of it.
    """

    name: str
    provider: str
    key: str
    port: int = 0
    variables: tuple[str, ...] = ()


KINDS = {
    # LiteLLM's ollama_chat drops log-probabilities; Ollama's other interface has them.
    "ollama": ServerKind(
        "Ollama", "openai", "OPENAI_API_KEY", 11434, ("OLLAMA_HOST", "OLLAMA_API_BASE")
    ),
    "lm_studio": ServerKind(
        "LM Studio", "lm_studio", "LM_STUDIO_API_KEY", 1234, ("LM_STUDIO_API_BASE",)
    ),
    "vllm": ServerKind("vLLM", VLLM, "HOSTED_VLLM_API_KEY", 8000, ("HOSTED_VLLM_API_BASE",)),
    # A llamafile is llama.cpp's server in one file.
    "llama_cpp": ServerKind(
        "llama.cpp", "llamafile", "LLAMAFILE_API_KEY", 8080, ("LLAMAFILE_API_BASE",)
    ),
    "other": ServerKind("OpenAI-compatible server", "openai", "OPENAI_API_KEY"),
}
"""Kinds of servers; `other` is any that lists its models as OpenAI does."""

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Hosts that a server listens on, and the one to ask it at."""


@dataclass(frozen=True)
class LocalServer:
    """A server that answered.

    Attributes:
        kind: Key of `KINDS`.
        url: Its address, without a path.
        version: Its version; empty where it does not say.
        n_left_out: The number of other models, such as those that only embed.
        problem: Why its models are unknown; empty where they are known.
    """

    kind: str
    url: str
    version: str = ""
    models: tuple[ServerModel, ...] = ()
    n_left_out: int = 0
    problem: str = ""

    @property
    def api_base(self) -> str:
        """Return the value of `--api-base` for its models."""
        return f"{self.url}/v1"

    def judge_name(self, model: ServerModel) -> str:
        """Return the value of `--model` for one of its models."""
        return f"{KINDS[self.kind].provider}/{model.name}"


def default_urls(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the addresses to look at: those that the environment names, and the usual ports."""
    named = [
        as_url(environment[variable], kind.port)
        for kind in KINDS.values()
        for variable in kind.variables
        if environment.get(variable, "").strip()
    ]
    usual = [f"http://127.0.0.1:{kind.port}" for kind in KINDS.values() if kind.port]
    same = {url.replace("//localhost:", "//127.0.0.1:") for url in named}
    return tuple(dict.fromkeys([*named, *(url for url in usual if url not in same)]))


def as_url(text: str, port: int = 80) -> str:
    """Return an address without its path, from any form that people write.

    Args:
        port: Its port where it names neither a port nor a scheme.

    Raises:
        InputError: It is no address.

    Example:
        >>> as_url("0.0.0.0:11434"), as_url("localhost", 11434), as_url("http://gpu:8000/v1/")
        ('http://127.0.0.1:11434', 'http://localhost:11434', 'http://gpu:8000')
    """
    address = text.strip().strip("\"'")
    has_scheme = "://" in address
    try:
        parts = urlsplit(address if has_scheme else f"http://{address}")
        host = EVERYWHERE.get(parts.hostname or "", parts.hostname or "")
        chosen = parts.port or (None if has_scheme else port)
    except ValueError as error:
        raise InputError(f"{text!r} is not an address: write http://HOST:PORT ({error})") from error
    if parts.scheme not in ("http", "https") or any(map(str.isspace, address)):
        raise InputError(f"{text!r} is not an address: write http://HOST:PORT")
    keep_address(address)
    shown = f"[{host}]" if ":" in host else host
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return f"{parts.scheme}://{user}{shown}" + (f":{chosen}" if chosen else "")


def find_servers(urls: Sequence[str]) -> tuple[LocalServer, ...]:
    """Return the servers that answer, all asked at the same time.

    Args:
        urls: Addresses, as `as_url` returns them. Where nobody listens, or what listens is no
            server of models, nothing is returned.
    """
    return asyncio.run(_find_servers(urls))


async def _find_servers(urls: Sequence[str]) -> tuple[LocalServer, ...]:
    import httpx

    timeout = httpx.Timeout(LOOK_S, connect=CONNECT_S)
    async with httpx.AsyncClient(trust_env=False, timeout=timeout) as client:
        found = await asyncio.gather(*(_look_at(client, url) for url in urls))
    return tuple(server for server in found if server is not None)


async def _look_at(client: httpx.AsyncClient, url: str) -> LocalServer | None:
    """Return the server at an address; None where there is none of models."""
    try:
        async with asyncio.timeout(LOOK_S):
            bodies = await asyncio.gather(*(_fetch(client, "GET", url + path) for path in PATHS))
    except TimeoutError:
        return None
    read = read_server(ServerAnswers(dict(zip(PATHS, bodies, strict=True))))
    if read is None:
        return None
    server = LocalServer(read.kind, url, read.version)
    if read.models is None:
        key = KINDS[read.kind].key
        return replace(server, problem=f"it lists its models only with a key (set {key})")
    models = tuple(model for model in read.models if model.name)
    if read.kind == "ollama":
        models = await _with_details(client, url, models)
    judges = tuple(model for model in models if model.can_judge)
    return replace(server, models=judges, n_left_out=len(models) - len(judges))


async def _with_details(
    client: httpx.AsyncClient, url: str, models: Sequence[ServerModel]
) -> tuple[ServerModel, ...]:
    """Return an Ollama's models with what it knows of each; unchanged where it is slow."""
    asked = models[:MOST_DETAILS]
    try:
        async with asyncio.timeout(LOOK_S):
            bodies = await asyncio.gather(
                *(_fetch(client, "POST", f"{url}/api/show", {"model": m.name}) for m in asked)
            )
    except TimeoutError:
        return tuple(models)
    detailed = map(read_ollama_details, asked, bodies)
    return (*detailed, *models[MOST_DETAILS:])


async def _fetch(
    client: httpx.AsyncClient, method: str, url: str, body: Mapping[str, str] | None = None
) -> Any:
    """Return what a server answers: JSON, `REFUSED` where it wants a key, else None."""
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
