"""Address, key and local models of `ragassay serve`."""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import signal
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.errors import SettingsError
from ragassay.extras import EXTRAS, need
from ragassay.model_names import PROVIDER, is_local, split_endpoint

if TYPE_CHECKING:
    import uvicorn

    from ragassay.settings import Settings

LOOPBACK = ("127.0.0.1", "::1", "localhost")

N_KEY_CHARS_LEAST = 16
N_KEY_DIFFERENT_LEAST = 8

_KEY_HELP = (
    "unset RAGASSAY_OUTPUT__SERVER_KEY to generate one, or create one with "
    "`python -c 'import secrets; print(secrets.token_urlsafe())'`"
)

_GUESSED = re.compile(
    r"sk-?1234|password|passwort|change-?me|secret|example|your-?key|12345678|abcdefg"
)
"""Parts that are typical of guessable keys and rare in random keys."""


@dataclass(frozen=True)
class Address:
    """Address and models of a server.

    Attributes:
        port: Port on which the server listens, even if port 0 was requested.
        new_key: Key for clients that was generated for this run, or None if the settings contain a
            key.
    """

    host: str
    port: int
    models: tuple[str, ...]
    new_key: str | None = None

    @property
    def url(self) -> str:
        """Base URL for a client on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{bracketed}:{self.port}/v1"

    @property
    def is_public(self) -> bool:
        """Return whether other machines can reach the server."""
        return self.host not in LOOPBACK


def serve(
    models: Sequence[str],
    host: str,
    port: int,
    settings: Settings,
    on_ready: Callable[[Address], None],
) -> None:
    """Serve until SIGTERM or SIGINT is received, then finish open requests.

    Args:
        models: LiteLLM names, optionally with an endpoint: `NAME@http://HOST/v1`.
        host: Host name or address to listen on.
        port: Port to listen on, or 0 for a free port.
        settings: Settings with the key, the cache, the dtype of local models and the timeout.
        on_ready: Function called when requests are accepted.

    Raises:
        SettingsError: The key is weak, the port is in use, or a local model is not installed.
        ExtraError: The server's libraries are not installed.
    """
    need(*EXTRAS["server"], *EXTRAS["local"])
    server_key = settings.output.server_key
    if server_key is not None:
        check_server_key(server_key.get_secret_value())
    key = server_key.get_secret_value() if server_key is not None else make_server_key()
    endpoints = dict(split_endpoint(model) for model in models)
    prepare_local_models(endpoints, settings)
    with bound(host, port) as listener:
        new_key = key if server_key is None else None
        address = Address(host, listener.getsockname()[1], tuple(endpoints), new_key)
        app = _build_app(endpoints, key, settings)
        run_app(app, listener, settings.judge.timeout_s, lambda: on_ready(address))


def make_server_key() -> str:
    """Return a new key of 256 random bits."""
    return f"sk-{secrets.token_urlsafe(32)}"


def check_server_key(key: str) -> None:
    """Raise `SettingsError` if a key is guessable or cannot be sent in a header."""
    problem = _find_weakness(key)
    if problem:
        raise SettingsError(f"setting 'server_key': {problem}; {_KEY_HELP}")


def _find_weakness(key: str) -> str:
    if not key.strip():
        return "the key is empty"
    if not key.isascii() or not key.isprintable() or " " in key:
        return "the key contains spaces or characters that are not allowed in a header"
    if len(key) < N_KEY_CHARS_LEAST:
        return (
            f"the key is weak: it has only {len(key)} characters, but {N_KEY_CHARS_LEAST} are "
            "required"
        )
    if len(set(key)) < N_KEY_DIFFERENT_LEAST:
        return f"the key is weak: it has only {len(set(key))} different characters"
    if found := _GUESSED.search(key.lower()):
        return f"the key is weak: it contains {found.group()!r}, which is easy to guess"
    return ""


def prepare_local_models(names: Iterable[str], settings: Settings) -> None:
    """Convert the packaged weights early, so that a missing package is reported at startup."""
    local = [name.removeprefix(f"{PROVIDER}/") for name in names if is_local(name)]
    if not all((Path(name) / "config.json").is_file() for name in local):
        from ragassay.models.weights import prepare_smollm2

        prepare_smollm2(settings.literature.cache_dir)


def _build_app(endpoints: Mapping[str, str | None], key: str, settings: Settings) -> Any:
    from ragassay.models.litellm_library import import_litellm
    from ragassay.models.local.provider import register_provider
    from ragassay.models.serving.app import ChatServer

    litellm = import_litellm()
    # LiteLLM would log a traceback and the content of every refused request.
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    register_provider(settings.literature.cache_dir, settings.prompting.local_dtype)
    return ChatServer(key, endpoints, litellm.acompletion, settings.judge.timeout_s).create_app()


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises `SettingsError` if the address is unavailable."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error.strerror}; "
            "pass another --host or --port (0 selects a free port)"
        ) from error


def run_app(
    app: Any, listener: socket.socket, grace_s: float, on_ready: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT, then finish open requests for up to `grace_s` seconds."""
    server = build_server(app, grace_s, on_ready)
    with _ignore_signals():
        server.run(sockets=[listener])


def build_server(app: Any, grace_s: float, on_ready: Callable[[], None]) -> uvicorn.Server:
    """Return a uvicorn server for an application. See `run_app`."""
    import uvicorn

    class Server(uvicorn.Server):
        """Server that reports when it accepts requests."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_ready()

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=int(grace_s),
    )
    return Server(config)


@contextlib.contextmanager
def _ignore_signals() -> Iterator[None]:
    """Ignore the signal that uvicorn raises a second time after its shutdown."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
