"""A server on a port of this machine, until a signal ends it."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ragassay.errors import SettingsError

if TYPE_CHECKING:
    import uvicorn


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; with port 0 the operating system chooses one.

    Raises:
        SettingsError: The port is taken, or the host is none of this machine's.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error.strerror}; "
            "name another with --host and --port (0 has one chosen)"
        ) from error


def run_app(
    app: Any, listener: socket.socket, grace_s: float, on_ready: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT; finish open requests first.

    Args:
        app: An ASGI application.
        listener: From `bound`.
        grace_s: Seconds that open requests get at the end.
        on_ready: Called once requests are accepted.
    """
    server = server_of(app, grace_s, on_ready)
    with _ended_by_signals():
        server.run(sockets=[listener])


def server_of(app: Any, grace_s: float, on_ready: Callable[[], None]) -> uvicorn.Server:
    """Return a server of an application; see `run_app`."""
    import uvicorn

    class Server(uvicorn.Server):
        """A server that reports when it accepts requests."""

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
def _ended_by_signals() -> Iterator[None]:
    """Ignore the signal that uvicorn raises again after it has shut down."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
