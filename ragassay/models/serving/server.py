"""`ragassay serve`: an address, a key, and the models that answer in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.extras import EXTRAS, need
from ragassay.model_names import PROVIDER, is_local, split_endpoint
from ragassay.models.serving.keys import ServerKey, server_key
from ragassay.models.serving.listening import bound, run_app

if TYPE_CHECKING:
    from ragassay.settings import Settings

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Address:
    """A server's address, models and key.

    Attributes:
        host: The host as the user gave it.
        port: The actual port, even if 0 was requested.
        models: The models' names for clients.
        key: The clients' key.
    """

    host: str
    port: int
    models: tuple[str, ...]
    key: ServerKey

    @property
    def url(self) -> str:
        """The base URL for a client on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{bracketed}:{self.port}/v1"

    @property
    def is_public(self) -> bool:
        """Return whether other machines can reach it."""
        return self.host not in LOOPBACK


def serve(
    models: Sequence[str],
    host: str,
    port: int,
    settings: Settings,
    on_ready: Callable[[Address], None],
) -> None:
    """Serve until SIGTERM or SIGINT; finish open requests first.

    Args:
        models: LiteLLM names, optionally with an endpoint: `NAME@http://HOST/v1`.
        host: Name or address of the network interface.
        port: The port; with 0 the operating system chooses one.
        settings: The key, the cache, the local models' arithmetic and the time limit.
        on_ready: Called once requests are accepted.

    Raises:
        SettingsError: The key is weak, the port is taken, or a local model is not installed.
        ExtraError: The server's libraries are not installed.
    """
    need(*EXTRAS["server"], *EXTRAS["local"])
    given = settings.output.server_key
    key = server_key(given.get_secret_value() if given is not None else None)
    endpoints = dict(split_endpoint(model) for model in models)
    _prepare_local_models(endpoints, settings)
    with bound(host, port) as listener:
        address = Address(host, listener.getsockname()[1], tuple(endpoints), key)
        app = _app(endpoints, key.value, settings)
        run_app(app, listener, settings.judge.timeout_s, lambda: on_ready(address))


def _prepare_local_models(names: Iterable[str], settings: Settings) -> None:
    """Convert the packaged weights now, so that a missing package is reported at once."""
    local = [name.removeprefix(f"{PROVIDER}/") for name in names if is_local(name)]
    if not all((Path(name) / "config.json").is_file() for name in local):
        from ragassay.models.weights import smollm2_folder

        smollm2_folder(settings.literature.cache_dir)


def _app(endpoints: Mapping[str, str | None], key: str, settings: Settings) -> Any:
    from ragassay.models.litellm_library import import_litellm
    from ragassay.models.local.provider import register_provider
    from ragassay.models.serving.app import build_app
    from ragassay.models.serving.completions import Completions
    from ragassay.models.serving.requests import Gate

    litellm = import_litellm()
    # A log must not contain a traceback and the content of every refused request.
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    register_provider(settings.literature.cache_dir, settings.prompting.local_dtype)
    gate = Gate(key, endpoints)
    return build_app(gate, Completions(gate, litellm.acompletion, settings.judge.timeout_s))
