"""Serve the part of OpenSearch's REST API that `ClusterCorpus` uses, from a real HTTP server."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from ragassay.errors import InputError

_HOST = "127.0.0.1"
_RESULTS = {True: "deleted", False: "not_found"}


@dataclass
class _Index:
    properties: dict[str, Any]
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    searchable: dict[str, dict[str, Any]] = field(default_factory=dict)
    n_changes: int = 0


class ScriptedOpenSearch:
    """A one-node cluster on loopback, in memory.

    It creates indices, accepts bulk loads and deletions under a strict mapping, returns documents
    by id at once and by search and count after a refresh, and uses the statuses and error bodies of
    the real one. A score is the sum of the boosts of the fields that contain a word of the query,
    word by word; words are compared in lower case, without stemming.

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
        self._indices: dict[str, _Index] = {}
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

        self._server = ThreadingHTTPServer((_HOST, 0), Handler)
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

    def _answer(self, method: str, path: str, body: str) -> tuple[int, Any]:
        with self._lock:
            self.requests.append((method, path, body))
            if self.statuses:
                status = self.statuses.pop(0)
                return status, _error(status, "made_up_exception", f"scripted {status}")
            name, _, rest = path.partition("?")[0].strip("/").partition("/")
            if name == "_bulk":
                return 200, self._bulk(body, "")
            if rest == "_bulk":
                return 200, self._bulk(body, name)
            if method == "PUT" and not rest:
                self._indices[name] = _Index(json.loads(body)["mappings"]["properties"])
                return 200, {"acknowledged": True, "index": name}
            if name not in self._indices:
                reason = f"no such index [{name}]"
                return 404, _error(404, "index_not_found_exception", reason)
            return self._of_index(name, self._indices[name], rest, body)

    def _of_index(self, name: str, index: _Index, rest: str, body: str) -> tuple[int, Any]:
        if not rest:
            return 200, {}
        if rest.startswith("_doc/"):
            key = rest.removeprefix("_doc/")
            found = {"_index": name, "_id": key, "found": key in index.documents}
            if not found["found"]:
                return 404, found
            return 200, found | {"_source": index.documents[key]}
        if rest == "_refresh":
            index.searchable = dict(index.documents)
            return 200, {"_shards": {"total": 1, "successful": 1, "failed": 0}}
        if rest == "_count":
            return 200, {"count": len(index.searchable)}
        if rest == "_stats":
            shard = {"routing": {"primary": True}, "seq_no": {"max_seq_no": index.n_changes - 1}}
            return 200, {"indices": {name: {"uuid": f"uuid-{name}", "shards": {"0": [shard]}}}}
        if rest == "_search":
            return 200, self._search(index, json.loads(body))
        return 400, _error(400, "illegal_argument_exception", f"unknown request [{rest}]")

    def _bulk(self, body: str, name: str) -> dict[str, Any]:
        if not body.endswith("\n"):
            raise InputError("a bulk body must end with a line end")
        items: list[dict[str, Any]] = []
        lines = iter(body.splitlines())
        for line in lines:
            ((action, about),) = json.loads(line).items()
            index = self._indices[about.get("_index", name)]
            source = json.loads(next(lines)) if action == "index" else None
            items.append({action: {"_id": about["_id"], **self._change(index, about, source)}})
        failed = any("error" in result for item in items for result in item.values())
        return {"took": 1, "errors": failed, "items": items}

    def _change(
        self, index: _Index, about: dict[str, Any], source: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Add a document, or delete it where there is no source; return the outcome."""
        if self.n_busy:
            self.n_busy -= 1
            problem = {"type": "rejected_execution_exception", "reason": "queue is full"}
            return {"status": 429, "error": problem}
        if source is None:
            was_there = index.documents.pop(about["_id"], None) is not None
            index.n_changes += 1
            return {"status": 200 if was_there else 404, "result": _RESULTS[was_there]}
        if unknown := source.keys() - index.properties.keys():
            reason = f"dynamic introduction of {sorted(unknown)} is not allowed"
            problem = {"type": "strict_dynamic_mapping_exception", "reason": reason}
            return {"status": 400, "error": problem}
        index.documents[about["_id"]] = source
        index.n_changes += 1
        return {"status": 201, "result": "created"}

    def _search(self, index: _Index, body: dict[str, Any]) -> dict[str, Any]:
        scored = [
            (score, key)
            for key, source in index.searchable.items()
            if (score := _score(body["query"], source, index.properties))
        ]
        best = sorted(scored, key=lambda found: -found[0])[: body["size"]]
        hits = [{"_id": k, "_score": s, "_source": index.searchable[k]} for s, k in best]
        shards = {"total": 2, "successful": 2 - self.failed_shards, "failed": self.failed_shards}
        return {"took": 1, "timed_out": False, "_shards": shards, "hits": {"hits": hits}}


class _Handler(BaseHTTPRequestHandler):
    cluster: ScriptedOpenSearch

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


def _error(status: int, kind: str, reason: str) -> dict[str, Any]:
    cause = {"type": kind, "reason": reason}
    return {"error": cause | {"root_cause": [cause]}, "status": status}


def _score(query: dict[str, Any], source: dict[str, Any], properties: dict[str, Any]) -> float:
    """Return how well a document matches; 0 where it does not."""
    ((kind, asked),) = query.items()
    if kind == "bool":
        barred = any(_score(one, source, properties) for one in asked.get("must_not", ()))
        kept = all(_score(one, source, properties) for one in asked.get("filter", ()))
        scores = [_score(one, source, properties) for one in asked.get("must", ())]
        return sum(scores) if kept and not barred and all(scores) else 0.0
    if kind == "multi_match":
        words = set(re.findall(r"\w+", asked["query"].lower()))
        return sum(_field_score(one, words, source, properties) for one in asked["fields"])
    ((name, wanted),) = asked.items()
    if kind == "range":
        value = source.get(name)
        return float(value is not None and wanted.get("gte", 0) <= value <= wanted.get("lte", 1e9))
    folds = "normalizer" in properties[name]
    given = source.get(name, [])
    had = set(given if isinstance(given, list) else [given])
    want = set(wanted if kind == "terms" else [wanted])
    if folds:
        had, want = {value.lower() for value in had}, {value.lower() for value in want}
    return float(bool(had & want))


def _field_score(
    boosted: str, words: set[str], source: dict[str, Any], properties: dict[str, Any]
) -> float:
    name, _, boost = boosted.partition("^")
    parts = [key for key, about in properties.items() if about.get("copy_to") == name] or [name]
    text = " ".join(source.get(key, "") for key in parts).lower()
    return float(boost or 1) * len(words & set(re.findall(r"\w+", text)))
