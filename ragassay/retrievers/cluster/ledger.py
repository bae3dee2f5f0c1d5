"""The ledger of what was loaded into an index, kept in the cluster beside it.

It is an index of its own, `NAME-ledger`: any machine finds it where it finds the articles, and
neither the articles' strict mapping nor their count and hash know of it. Each entry names the
identity of the articles' index, so that one that was deleted and made again starts anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ragassay.errors import CorpusError
from ragassay.records import Frozen
from ragassay.retrievers.cluster.client import Cluster
from ragassay.retrievers.disk.ledger import Ledger, SourceFile

LEDGER_BODY: Final[dict[str, Any]] = {
    "settings": {"number_of_shards": 1},
    "mappings": {
        "dynamic": "strict",
        "properties": {
            "index_uuid": {"type": "keyword"},
            "kind": {"type": "keyword"},
            "place": {"type": "integer"},
            "entry": {"type": "object", "enabled": False},
        },
    },
}
"""Settings and mapping of the ledger's index."""

_PAGE = 1_000
"""Entries that one search returns."""


class FirstLoad(Frozen):
    """The settings that an index had before its first load, and shall have after it.

    Attributes:
        refresh_interval: None for the cluster's own.
        number_of_replicas: None for the cluster's own.
        is_complete: Whether the load has reached its end.
    """

    refresh_interval: str | None = None
    number_of_replicas: str | None = None
    is_complete: bool = False


class LoadedFile(Frozen):
    """A file's entry.

    Attributes:
        file: What was read of it.
        rejected: Its first items that could not be read, each as a line.
    """

    file: SourceFile
    rejected: tuple[str, ...] = ()


@dataclass
class ClusterLedger:
    """The ledger of an index; reads once, then writes through; made at the first write.

    Another process that loads at the same time is noticed at its first write: each write names the
    version that it replaces.

    Args:
        cluster: The articles' index, which exists.

    Raises:
        CorpusError: The cluster cannot be reached, or refuses.
    """

    cluster: Cluster
    files: dict[str, LoadedFile] = field(default_factory=dict, init=False)
    first_load: FirstLoad | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._name = f"{self.cluster.index}-ledger"
        self._uuid: str = self.cluster.settings()["uuid"]
        self._versions: dict[str, tuple[int, int]] = {}
        with self.cluster.explained():
            self._is_made = bool(self._client.indices.exists(index=self._name))
            if self._is_made:
                self._client.indices.refresh(index=self._name)
                for hit in self._entries():
                    self._take(hit)

    @property
    def ledger(self) -> Ledger:
        """The files, in the order in which they were loaded."""
        return Ledger(files=tuple(loaded.file for loaded in self.files.values()))

    def write_file(self, file: SourceFile, rejected: Sequence[str]) -> None:
        """Write a file's entry.

        Raises:
            CorpusError: Another process loads too, or the cluster cannot be reached.
        """
        loaded = LoadedFile(file=file, rejected=tuple(rejected))
        self.files[file.name] = loaded
        place = list(self.files).index(file.name)
        self._write("file", file.name, place, loaded)

    def write_first_load(self, state: FirstLoad) -> None:
        """Write which settings the index shall have after its first load.

        Raises:
            CorpusError: Another process loads too, or the cluster cannot be reached.
        """
        self.first_load = state
        self._write("first-load", "", -1, state)

    @property
    def _client(self) -> Any:
        return self.cluster.client

    def _entries(self) -> Iterator[dict[str, Any]]:
        """Yield all entries, a page a search; no two have both place and identity in common."""
        last: dict[str, Any] = {}
        while True:
            found = self._client.search(
                index=self._name,
                body={
                    "query": {"match_all": {}},
                    "sort": [{"place": "asc"}, {"index_uuid": "asc"}],
                    "size": _PAGE,
                    "seq_no_primary_term": True,
                    **last,
                },
            )
            if found["_shards"]["failed"]:
                raise CorpusError(f"the ledger {self._name!r} answered in part only: try again")
            hits = found["hits"]["hits"]
            yield from hits
            if len(hits) < _PAGE:
                return
            last = {"search_after": hits[-1]["sort"]}

    def _take(self, hit: dict[str, Any]) -> None:
        self._versions[hit["_id"]] = (hit["_seq_no"], hit["_primary_term"])
        source = hit["_source"]
        if source["index_uuid"] != self._uuid:
            return
        if source["kind"] == "file":
            loaded = LoadedFile.model_validate(source["entry"])
            self.files[loaded.file.name] = loaded
        else:
            self.first_load = FirstLoad.model_validate(source["entry"])

    def _write(self, kind: str, name: str, place: int, entry: Frozen) -> None:
        from opensearchpy.exceptions import ConflictError

        # A name may be longer than an id, and hold anything.
        key = hashlib.sha256(f"{kind} {name}".encode(errors="replace")).hexdigest()
        seen = self._versions.get(key)
        params = {"if_seq_no": seen[0], "if_primary_term": seen[1]} if seen else {}
        body = {
            "index_uuid": self._uuid,
            "kind": kind,
            "place": place,
            "entry": entry.model_dump(mode="json"),
        }
        options = params or {"op_type": "create"}
        with self.cluster.explained():
            if not self._is_made:
                self._client.indices.create(index=self._name, body=LEDGER_BODY)
                self._is_made = True
            try:
                reply = self._client.index(index=self._name, id=key, body=body, params=options)
            except ConflictError as error:
                raise CorpusError(
                    f"another process loads into index {self.cluster.index!r}: wait for its end"
                ) from error
        self._versions[key] = (reply["_seq_no"], reply["_primary_term"])
