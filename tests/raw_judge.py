"""A judge that sends whatever a test wants: any bytes, any breach of HTTP, for each question."""

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
    """A server that speaks OpenAI's protocol as far as it is told to.

    Attributes:
        answer: Answers a question; called in a thread of its own.
        probed: Answers a request for one token, by which a run finds out if the judge is there.
        base_url: What judges are asked at.
        asked: The texts of the prompts so far; a probe is none.
        headers: The headers of all requests so far.
        n_sent: Bytes that `send_endlessly` could send.
        is_closing: Set when the judge is closed, for answers that wait.
    """

    answer: Callable[[Exchange], None]
    probed: Callable[[Exchange], None] = lambda exchange: exchange.send(completion("OK"))
    base_url: str = ""
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    n_sent: int = 0
    is_closing: threading.Event = field(default_factory=threading.Event)


class Exchange(BaseHTTPRequestHandler):
    """A request and the ways to answer it."""

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
        """Send a whole response; what is not bytes goes as JSON, NaN and surrogates included."""
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
        """Send white space, or as much of it as is taken."""
        self.send_head(n_mib * MIB, status)
        for _ in range(n_mib):
            self.wfile.write(b" " * MIB)
            self.judge.n_sent += MIB

    def reset(self) -> None:
        """Break the connection off, in the way that loses what is under way."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        socket.socket(fileno=self.connection.detach()).close()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a connection that a test broke."""


@contextmanager
def judging(
    answer: Callable[[Exchange], None], certificate: Path | None = None
) -> Iterator[RawJudge]:
    """Serve on a free port of this machine; with a certificate (and its key), over TLS."""
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
    """A chat completion; `more` takes the place of its parts."""
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
    """A completion that rates, with a rating as it is written in JSON."""
    return completion(f'{{"rating": {rating}, "rationale": "{rationale}"}}')


def error(message: str, **more: object) -> Mapping[str, object]:
    """An error's body as OpenAI words it."""
    return {"error": {"message": message, "type": "error", "param": None, **more}}
