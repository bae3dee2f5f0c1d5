"""A judge that sends arbitrary bytes and HTTP violations, chosen by the test."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MIB = 2**20


@dataclass
class RawJudge:
    """A server with a minimal version of OpenAI's protocol.

    Attributes:
        answer: Function that answers a request, called in its own thread.
        probed: Function that answers the one-token probe at the start of a run.
        base_url: Base URL of the judge.
        asked: Prompt texts so far, without probes.
        headers: Headers of all requests so far.
        n_sent: Number of bytes sent by `send_endlessly`.
        is_closing: Event set when the judge closes, for delayed answers.
    """

    answer: Callable[[Exchange], None]
    probed: Callable[[Exchange], None] = lambda exchange: exchange.send(completion("OK"))
    base_url: str = ""
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    n_sent: int = 0
    is_closing: threading.Event = field(default_factory=threading.Event)


class Exchange(BaseHTTPRequestHandler):
    """A request and methods to answer it."""

    protocol_version = "HTTP/1.1"
    judge: RawJudge
    prompt: str

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.prompt = json.dumps(body.get("messages") or body)
        self.judge.headers.append({name.lower(): text for name, text in self.headers.items()})
        is_probe = body.get("max_tokens") == 1
        if not is_probe:
            self.judge.asked.append(self.prompt)
        with suppress(ConnectionError):
            (self.judge.probed if is_probe else self.judge.answer)(self)

    def send(self, body: object, status: int = 200, **headers: str) -> None:
        """Send a complete response. Objects are sent as JSON, including NaN and surrogates."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_head(len(sent), status, **headers)
        self.wfile.write(sent)

    def send_head(self, length: int, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        given = {"Content-Type": "application/json", "Content-Length": str(length)}
        for name, text in (given | {k.replace("_", "-"): v for k, v in headers.items()}).items():
            self.send_header(name, text)
        self.end_headers()

    def send_endlessly(self, n_mib: int, status: int = 200) -> None:
        """Send whitespace until done or until the client disconnects."""
        self.send_head(n_mib * MIB, status)
        for _ in range(n_mib):
            self.wfile.write(b" " * MIB)
            self.judge.n_sent += MIB

    def reset(self) -> None:
        """Reset the connection, discarding data in flight."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        socket.socket(fileno=self.connection.detach()).close()

    def log_message(self, format: str, *args: object) -> None:
        """Suppress logging."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Suppress messages about connections broken by a test."""


@contextmanager
def judging(
    answer: Callable[[Exchange], None], certificate: Path | None = None
) -> Iterator[RawJudge]:
    """Serve on a free local port, over TLS if a certificate (with its key) is passed."""
    judge = RawJudge(answer)
    server = _Server(("127.0.0.1", 0), type("Bound", (Exchange,), {"judge": judge}))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "https" if certificate else "http"
    judge.base_url = f"{scheme}://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield judge
    finally:
        judge.is_closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def completion(content: object, **more: object) -> dict[str, Any]:
    """Return a chat completion. `more` replaces its parts."""
    message = {"role": "assistant", "content": content}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        **more,
    }


def rated(rating: str, rationale: str = "It reads well.") -> dict[str, Any]:
    """Return a completion with a rating, written as JSON text."""
    return completion(f'{{"rating": {rating}, "rationale": "{rationale}"}}')


def error(message: str, **more: object) -> Mapping[str, object]:
    return {"error": {"message": message, "type": "error", "param": None, **more}}
