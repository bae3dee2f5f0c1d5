"""One index of the scripted OpenSearch: its settings, its mapping, its documents."""

from __future__ import annotations

import json
import uuid
from typing import Any
from urllib.parse import unquote

from ragassay.testing.opensearch_queries import score_of

Answer = tuple[int, Any]

_RESULTS = {True: "deleted", False: "not_found"}
_DEFAULTS = {"number_of_shards": "1", "number_of_replicas": "1"}


class ScriptedIndex:
    """An index as the REST API shows it. Not safe across threads.

    Args:
        name: Its name.
        body: Settings and mapping, as it was made.
    """

    def __init__(self, name: str, body: dict[str, Any]) -> None:
        self.name = name
        self.uuid = uuid.uuid4().hex[:20]
        self.mappings: dict[str, Any] = body["mappings"]
        self.settings = dict(_DEFAULTS)
        self.change_settings(body.get("settings", {}))
        self.failed_shards = 0
        self.documents: dict[str, dict[str, Any]] = {}
        self._searchable: dict[str, dict[str, Any]] = {}
        self._places: dict[str, int] = {}
        self._n_changes = 0

    def change_settings(self, given: dict[str, Any]) -> None:
        """Change settings; null is the default again."""
        for name, value in given.get("index", given).items():
            key = name.removeprefix("index.")
            if value is None:
                self.settings.pop(key, None)
            elif not isinstance(value, dict):
                self.settings[key] = str(value)
        self.settings = _DEFAULTS | self.settings

    def answer(self, method: str, rest: str, given: dict[str, str], body: str) -> Answer:
        """Answer a call on the index, but for bulk loads.

        Args:
            method: The HTTP method.
            rest: The path after the index's name.
            given: The parameters of the query string.
            body: The request's body.
        """
        if rest.startswith("_doc/"):
            key = unquote(rest.removeprefix("_doc/"))
            return self._got(key) if method in ("GET", "HEAD") else self._put(key, given, body)
        if rest == "_settings" and method == "PUT":
            self.change_settings(json.loads(body))
            return 200, {"acknowledged": True}
        if rest == "_refresh":
            self._searchable = dict(self.documents)
            return 200, {"_shards": {"total": 1, "successful": 1, "failed": 0}}
        answers = {
            "": lambda: {},
            "_settings": lambda: {
                self.name: {"settings": {"index": {**self.settings, "uuid": self.uuid}}}
            },
            "_mapping": lambda: {self.name: {"mappings": self.mappings}},
            "_count": lambda: {"count": len(self._searchable)},
            "_stats": self._stats,
            "_search": lambda: self._search(json.loads(body)),
        }
        if rest in answers:
            return 200, answers[rest]()
        return 400, error_body(400, "illegal_argument_exception", f"unknown request [{rest}]")

    def change(self, key: str, source: dict[str, Any] | None) -> dict[str, Any]:
        """Store a document, or delete it where there is no source; return the outcome."""
        if source is not None and (problem := self._problem(source)):
            return {"status": 400, "error": problem}
        was_there = self.documents.pop(key, None) is not None
        if source is not None:
            self.documents[key] = source
        self._places[key] = self._n_changes
        self._n_changes += 1
        numbers = {"_seq_no": self._places[key], "_primary_term": 1}
        if source is None:
            status = 200 if was_there else 404
            return {"status": status, "result": _RESULTS[was_there], **numbers}
        return {"status": 201, "result": "created", **numbers}

    def _problem(self, source: dict[str, Any]) -> dict[str, str] | None:
        properties = self.mappings["properties"]
        if unknown := source.keys() - properties.keys():
            reason = f"dynamic introduction of {sorted(unknown)} is not allowed"
            return {"type": "strict_dynamic_mapping_exception", "reason": reason}
        for name, about in properties.items():
            n = len(source.get(name, ())) if about.get("type") == "knn_vector" else None
            if name in source and n is not None and n != about["dimension"]:
                reason = f"Vector dimension mismatch. Expected: {about['dimension']}, Given: {n}"
                return {"type": "mapper_parsing_exception", "reason": reason}
        return None

    def _got(self, key: str) -> Answer:
        found = {"_index": self.name, "_id": key, "found": key in self.documents}
        if not found["found"]:
            return 404, found
        return 200, found | {"_source": self._shown(self.documents[key])}

    def _put(self, key: str, given: dict[str, str], body: str) -> Answer:
        is_there = key in self.documents
        asked = given.get("if_seq_no")
        is_late = asked is not None and int(asked) != self._places.get(key)
        if is_late or (given.get("op_type") == "create" and is_there):
            reason = f"[{key}]: version conflict"
            return 409, error_body(409, "version_conflict_engine_exception", reason)
        outcome = self.change(key, json.loads(body))
        if "error" in outcome:
            return 400, {"error": outcome["error"], "status": 400}
        return outcome["status"], {"_index": self.name, "_id": key, **outcome}

    def _stats(self) -> dict[str, Any]:
        shard = {"routing": {"primary": True}, "seq_no": {"max_seq_no": self._n_changes - 1}}
        return {"indices": {self.name: {"uuid": self.uuid, "shards": {"0": [shard]}}}}

    def _search(self, body: dict[str, Any]) -> dict[str, Any]:
        scored = [
            (score, key)
            for key, source in self._searchable.items()
            if (score := score_of(body["query"], source, self.mappings["properties"]))
        ]
        names = [name for order in body.get("sort", ()) for name in order]
        values = {key: [self._searchable[key][name] for name in names] for _, key in scored}
        scored.sort(key=lambda found: (values[found[1]], -found[0]))
        if after := body.get("search_after"):
            scored = [found for found in scored if values[found[1]] > after]
        hits = [
            {
                "_id": key,
                "_score": score,
                "_source": self._shown(self._searchable[key]),
                "_seq_no": self._places[key],
                "_primary_term": 1,
                **({"sort": values[key]} if names else {}),
            }
            for score, key in scored[: body["size"]]
        ]
        failed = self.failed_shards
        shards = {"total": 2, "successful": 2 - failed, "failed": failed}
        return {"took": 1, "timed_out": False, "_shards": shards, "hits": {"hits": hits}}

    def _shown(self, source: dict[str, Any]) -> dict[str, Any]:
        hidden = self.mappings.get("_source", {}).get("excludes", ())
        return {name: value for name, value in source.items() if name not in hidden}


def error_body(status: int, kind: str, reason: str) -> dict[str, Any]:
    """Return the body of an error, as OpenSearch writes it."""
    cause = {"type": kind, "reason": reason}
    return {"error": cause | {"root_cause": [cause]}, "status": status}
