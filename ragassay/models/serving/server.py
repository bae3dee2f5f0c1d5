"""`ragassay serve`: LiteLLM's proxy with ragassay's own models, in this process."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import signal
import socket
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.errors import SettingsError
from ragassay.model_names import PROVIDER, is_local, split_endpoint
from ragassay.models.serving.keys import ServerKey, server_key
from ragassay.models.serving.settings import enter_environment, proxy_config, write_config

if TYPE_CHECKING:
    from ragassay.settings import Settings

LOOPBACK = ("127.0.0.1", "::1", "localhost")

_LOUD = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")


@dataclass(frozen=True)
class Address:
    """Where a server listens, what it serves and for which key.

    Attributes:
        host: As the user gave it.
        port: The port that it got, also where 0 was asked for.
        models: The names that clients ask by.
        key: What they must show.
    """

    host: str
    port: int
    models: tuple[str, ...]
    key: ServerKey

    @property
    def url(self) -> str:
        """What a client on this machine is told as base URL."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{bracketed}:{self.port}/v1"

    @property
    def is_public(self) -> bool:
        """Whether other machines can reach it."""
        return self.host not in LOOPBACK


def serve(
    models: Sequence[str],
    host: str,
    port: int,
    settings: Settings,
    on_ready: Callable[[Address], None],
) -> None:
    """Serve until SIGTERM or SIGINT; what is under way then is finished first.

    Args:
        models: LiteLLM names, each perhaps with its endpoint: `NAME@http://HOST/v1`.
        host: Name or address of the network interface.
        port: 0 has the operating system choose one.
        settings: Give the key, the cache, the local models' arithmetic and the time limit.
        on_ready: Called once requests are accepted.

    Raises:
        SettingsError: The key is weak, the port is taken, a local model or the proxy's libraries
            are not installed.
    """
    given = settings.server_key
    key = server_key(given.get_secret_value() if given is not None else None)
    names = tuple(dict.fromkeys(split_endpoint(model)[0] for model in models))
    _prepare_local_models(names, settings)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(_bound(host, port))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ragassay-serve-")))
        enter_environment(write_config(proxy_config(models, settings.timeout_s), folder), key.value)
        address = Address(host, listener.getsockname()[1], names, key)
        gate = _gate(address, settings)
        stack.enter_context(_ended_by_signals())
        _run(gate, listener, settings.timeout_s, lambda: on_ready(address))


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error.strerror}; "
            "name another with --host and --port (0 has one chosen)"
        ) from error


def _prepare_local_models(names: Sequence[str], settings: Settings) -> None:
    """Convert the packaged weights now: a missing package is told before a client asks."""
    local = [name.removeprefix(f"{PROVIDER}/") for name in names if is_local(name)]
    if not all((Path(name) / "config.json").is_file() for name in local):
        from ragassay.models.weights import smollm2_folder

        smollm2_folder(settings.cache_dir)


def _gate(address: Address, settings: Settings) -> Any:
    """The application: the gate, and the proxy behind it."""
    from ragassay.models.gateway import import_litellm
    from ragassay.models.local.provider import register_provider
    from ragassay.models.serving.gate import Gate
    from ragassay.models.serving.handler import serve_local_models

    with _named_when_missing():
        import_litellm()
        proxy = importlib.import_module("litellm.proxy.proxy_server")
        from ragassay.models.serving.metrics import ServerMetrics, watch_tokens

        metrics = ServerMetrics()
    for name in _LOUD:
        # A traceback for every refused request, with what was asked, is nothing for a log.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    register_provider(settings.cache_dir, settings.local_dtype)
    serve_local_models()
    watch_tokens(metrics, address.models)
    return Gate(proxy.app, address.key.value, address.models, metrics)


@contextlib.contextmanager
def _named_when_missing() -> Any:
    """Turn a library that is not there into what to install."""
    try:
        yield
    except ImportError as error:
        raise SettingsError(
            f"`ragassay serve` needs LiteLLM's proxy, and of that {error.name or error} is not "
            "installed: run `pip install 'ragassay[server]'`"
        ) from error


def _run(app: Any, listener: socket.socket, grace_s: float, on_ready: Callable[[], None]) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        """Tells when it accepts requests; LiteLLM's own banner goes unseen."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                await super().startup(sockets)
            if self.started:
                on_ready()

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=int(grace_s)
    )
    Server(config).run(sockets=[listener])


@contextlib.contextmanager
def _ended_by_signals() -> Any:
    """Uvicorn, once shut down, raises the signal again that ended it; here that ends nothing."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
