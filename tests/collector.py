"""A trace collector: a real HTTP server on loopback that decodes OTLP protobuf."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Seen:
    """A span as received by a collector."""

    name: str
    trace: str
    id: str
    parent: str
    kind: int
    is_error: bool
    told: str
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    resource: dict[str, Any]


@dataclass
class Collector:
    """Received paths, headers and bodies."""

    port: int = 0
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[Seen]:
        return [span for body in self.bodies for span in _spans(body)]

    def named(self, start: str) -> list[Seen]:
        return [span for span in self.spans if span.name.startswith(start)]

    def parent(self, span: Seen) -> Seen:
        (found,) = (one for one in self.spans if one.id == span.parent)
        return found

    def holds(self, words: str) -> bool:
        return any(words.encode() in body for body in self.bodies)


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers.get("Content-Encoding") == "gzip"
            collector.paths.append(self.path)
            collector.headers.append({name.lower(): text for name, text in self.headers.items()})
            collector.bodies.append(gzip.decompress(body) if packed else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Suppress logging."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _spans(body: bytes) -> Iterator[Seen]:
    for part in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = _values(part.resource.attributes)
        for span in (span for scope in part.scope_spans for span in scope.spans):
            yield Seen(
                name=span.name,
                trace=span.trace_id.hex(),
                id=span.span_id.hex(),
                parent=span.parent_span_id.hex(),
                kind=span.kind,
                is_error=span.status.code == 2,
                told=span.status.message,
                attributes=_values(span.attributes),
                events=[(event.name, _values(event.attributes)) for event in span.events],
                resource=resource,
            )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [_value(item) for item in found.values] if kind == "array_value" else found
