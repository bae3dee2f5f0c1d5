"""Serve the part of OpenSearch's REST API that `ClusterCorpus` uses, from a real HTTP server."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl

from ragassay.errors import InputError
from ragassay.testing.opensearch_index import ScriptedIndex, error_body

_HOST = "127.0.0.1"


class ScriptedOpenSearch:
    """A one-node cluster on loopback, in memory.

    It creates indices, accepts bulk loads and deletions under a strict mapping, returns documents
    by id at once and by search and count after a refresh, changes settings, refuses writes that
    name an old version, and uses the statuses and error bodies of the real one. A score is the sum
    of the boosts of the fields that contain a word of the query, word by word; words are compared
    in lower case, without stemming. The nearest vectors are the true ones.

    Attributes:
        requests: Method, path and body of each request, in order of arrival.
        statuses: Statuses of the next responses, in place of the proper ones.
        n_busy: How many of the next bulk items are rejected with a 429.
        failed_shards: The failed shards that each search reports.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str]] = []
        self.statuses: list[int] = []
        self.n_busy = 0
        self.failed_shards = 0
        self._indices: dict[str, ScriptedIndex] = {}
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """A host for `ClusterCorpus`.

        Raises:
            InputError: The server is not running.
        """
        if self._server is None:
            raise InputError("the scripted cluster is not running: use it in a with statement")
        return f"http://{_HOST}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        """Start serving."""
        scripted = self

        class Handler(_Handler):
            cluster = scripted

        self._server = _Server((_HOST, 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), name="scripted-cluster", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving; do nothing if it does not serve."""
        self.close()

    def close(self) -> None:
        """Stop serving; do nothing if it does not serve."""
        if self._server and self._thread:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = self._thread = None

    def documents(self, index: str) -> dict[str, dict[str, Any]]:
        """Return an index's documents by id, whether or not a search sees them yet."""
        with self._lock:
            return dict(self._indices[index].documents)

    def settings(self, index: str) -> dict[str, str]:
        """Return an index's settings."""
        with self._lock:
            return dict(self._indices[index].settings)

    def _answer(self, method: str, path: str, body: str) -> tuple[int, Any]:
        with self._lock:
            self.requests.append((method, path, body))
            if self.statuses:
                status = self.statuses.pop(0)
                return status, error_body(status, "made_up_exception", f"scripted {status}")
            where, _, query = path.partition("?")
            name, _, rest = where.strip("/").partition("/")
            if rest == "_bulk" or name == "_bulk":
                return 200, self._bulk(body, "" if name == "_bulk" else name)
            if method == "PUT" and not rest:
                self._indices[name] = ScriptedIndex(name, json.loads(body))
                return 200, {"acknowledged": True, "index": name}
            index = self._indices.get(name)
            if index is None:
                reason = f"no such index [{name}]"
                return 404, error_body(404, "index_not_found_exception", reason)
            if method == "DELETE" and not rest:
                del self._indices[name]
                return 200, {"acknowledged": True}
            index.failed_shards = self.failed_shards
            return index.answer(method, rest, dict(parse_qsl(query)), body)

    def _bulk(self, body: str, name: str) -> dict[str, Any]:
        if not body.endswith("\n"):
            raise InputError("a bulk body must end with a line end")
        items: list[dict[str, Any]] = []
        # Not `splitlines`: a text may hold other line ends.
        lines = iter(body.split("\n")[:-1])
        for line in lines:
            ((action, about),) = json.loads(line).items()
            source = json.loads(next(lines)) if action == "index" else None
            index = self._indices[about.get("_index", name)]
            outcome = self._busy() or index.change(about["_id"], source)
            items.append({action: {"_id": about["_id"], **outcome}})
        failed = any("error" in result for item in items for result in item.values())
        return {"took": 1, "errors": failed, "items": items}

    def _busy(self) -> dict[str, Any] | None:
        if not self.n_busy:
            return None
        self.n_busy -= 1
        problem = {"type": "rejected_execution_exception", "reason": "queue is full"}
        return {"status": 429, "error": problem}


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # Many clients connect at once.


class _Handler(BaseHTTPRequestHandler):
    cluster: ScriptedOpenSearch

    def do_DELETE(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        """Keep standard error clean."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or "0")).decode()
        status, reply = self.cluster._answer(self.command, self.path, body)
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
