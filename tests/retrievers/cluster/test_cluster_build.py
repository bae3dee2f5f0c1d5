"""Files loaded into a cluster, against a scripted one: what is kept, and what a kill leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes import N_DIMENSIONS, WordEmbedder
from opensearchpy import OpenSearch

from ragassay.errors import CorpusError, InputError
from ragassay.retrievers.cluster import build, ledger
from ragassay.retrievers.cluster.build import build_in_cluster
from ragassay.retrievers.cluster.client import Cluster, connect
from ragassay.retrievers.cluster.ledger import ClusterLedger
from ragassay.retrievers.cluster.schema import INDEX_BODY
from ragassay.retrievers.disk.build import BuildEvent
from ragassay.testing.opensearch import ScriptedOpenSearch

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parents[3] / "examples" / "pubmed"
PUBMED = sorted(EXAMPLES.glob("pubmed99*.xml"))
RESTING = {"number_of_shards": "1", "number_of_replicas": "1"}
LOADING = RESTING | {"number_of_replicas": "0", "refresh_interval": "-1"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedOpenSearch]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ScriptedOpenSearch() as running:
        yield running


@pytest.fixture
def cluster(server: ScriptedOpenSearch) -> Iterator[Cluster]:
    found = connect(server.url, "pubmed")
    yield found
    found.client.close()


def written(path: Path, first: int, n: int, word: str = "aspirin") -> Path:
    rows = [{"id": str(k), "text": f"{word} {k}"} for k in range(first, first + n)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def count(cluster: Cluster) -> int:
    return cluster.client.count(index=cluster.index)["count"]


def n_bulks(server: ScriptedOpenSearch) -> int:
    return sum(path.endswith("_bulk") for _, path, _ in server.requests)


def test_files_go_in_by_their_numbers_and_are_counted(
    server: ScriptedOpenSearch, cluster: Cluster
) -> None:
    events: list[BuildEvent] = []
    kept = build_in_cluster(list(reversed(PUBMED)), cluster, events.append)
    counts = [(f.n_articles, f.n_deleted, f.n_rejected, f.is_complete) for f in kept.ledger.files]
    assert counts == [(13, 0, 1, True), (7, 1, 0, True)]
    assert count(cluster) == 15
    assert "99000909" not in server.documents("pubmed"), "deleted by the second file"
    assert events[-1] == BuildEvent("pubmed99n0002.xml", 2, 8)
    (line,) = kept.files["pubmed99n0001.xml"].rejected
    assert line.startswith("pubmed99n0001.xml:")


def test_a_file_is_loaded_once_and_a_new_one_is_added(
    server: ScriptedOpenSearch, cluster: Cluster, tmp_path: Path
) -> None:
    first, second = written(tmp_path / "a.jsonl", 0, 3), written(tmp_path / "b.jsonl", 2, 3)
    build_in_cluster([first], cluster)
    build_in_cluster([first], cluster)
    assert n_bulks(server) == 1
    kept = build_in_cluster([first, second], cluster)
    assert n_bulks(server) == 2
    assert [file.name for file in kept.ledger.files] == ["a.jsonl", "b.jsonl"]
    assert count(cluster) == 5


def test_a_file_that_changed_or_comes_too_late_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", 0, 3)
    build_in_cluster([path, PUBMED[1]], cluster)
    with pytest.raises(InputError, match="older than files that are in the corpus"):
        build_in_cluster([PUBMED[0]], cluster)
    written(path, 0, 4)
    with pytest.raises(InputError, match="differs from the file of this name"):
        build_in_cluster([path], cluster)


def test_an_index_that_is_made_again_is_loaded_again(cluster: Cluster, tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", 0, 3)
    build_in_cluster([path], cluster)
    cluster.client.indices.delete(index="pubmed")
    build_in_cluster([path], cluster)
    assert count(cluster) == 3


def test_an_index_made_by_hand_keeps_its_settings(
    server: ScriptedOpenSearch, cluster: Cluster, tmp_path: Path
) -> None:
    own = {"number_of_shards": 6, "number_of_replicas": 2, "refresh_interval": "30s"}
    body = INDEX_BODY | {"settings": INDEX_BODY["settings"] | own}
    cluster.client.indices.create(index="pubmed", body=body)
    build_in_cluster([written(tmp_path / "a.jsonl", 0, 3)], cluster)
    assert server.settings("pubmed") == {name: str(value) for name, value in own.items()}


def test_only_the_first_load_goes_without_copies(
    server: ScriptedOpenSearch, cluster: Cluster, tmp_path: Path
) -> None:
    seen: list[dict[str, str]] = []

    def look(event: BuildEvent) -> None:
        seen.append(server.settings("pubmed"))

    build_in_cluster([written(tmp_path / "a.jsonl", 0, 3)], cluster, look)
    assert seen[0] == LOADING and server.settings("pubmed") == RESTING
    seen.clear()
    build_in_cluster([written(tmp_path / "b.jsonl", 0, 3)], cluster, look)
    assert seen[0] == RESTING == server.settings("pubmed")


def test_an_error_leaves_the_settings_as_they_were_and_the_next_load_finishes(
    server: ScriptedOpenSearch, cluster: Cluster, tmp_path: Path
) -> None:
    files = [written(tmp_path / "a.jsonl", 0, 3), written(tmp_path / "b.jsonl", 3, 3)]

    def fail(event: BuildEvent) -> None:
        if event.file == "b.jsonl":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_in_cluster(files, cluster, fail)
    assert server.settings("pubmed") == RESTING
    seen: list[dict[str, str]] = []
    build_in_cluster(files, cluster, lambda event: seen.append(server.settings("pubmed")))
    assert seen[0] == LOADING, "it is still the first load"
    assert server.settings("pubmed") == RESTING
    assert count(cluster) == 6


def test_two_loads_at_once_are_noticed(cluster: Cluster, tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", 0, 3)
    build_in_cluster([path], cluster)
    one, other = ClusterLedger(cluster), ClusterLedger(cluster)
    file = one.ledger.files[0]
    one.write_file(file, [])
    with pytest.raises(CorpusError, match="another process loads into index 'pubmed'"):
        other.write_file(file, [])


def test_a_ledger_of_many_files_is_read_page_by_page(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_PAGE", 2)
    paths = [written(tmp_path / f"{n}.jsonl", n, 1) for n in range(5)]
    build_in_cluster(paths, cluster)
    # Entries of an index that was deleted share their places with those of the new one.
    cluster.client.indices.delete(index="pubmed")
    build_in_cluster(paths[::-1], cluster)
    found = [(file.name, file.is_complete) for file in ClusterLedger(cluster).ledger.files]
    assert found == [(path.name, True) for path in paths[::-1]]


def test_a_look_at_the_ledger_makes_none(cluster: Cluster) -> None:
    cluster.client.indices.create(index="pubmed", body=INDEX_BODY)
    assert ClusterLedger(cluster).ledger.files == ()
    assert not cluster.client.indices.exists(index="pubmed-ledger")


def test_vectors_are_loaded_with_their_articles(
    server: ScriptedOpenSearch, cluster: Cluster, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.jsonl", 0, 3)
    build_in_cluster([path], cluster, embedder=WordEmbedder())
    assert all(len(row["vector"]) == N_DIMENSIONS for row in server.documents("pubmed").values())
    with pytest.raises(CorpusError, match="has vectors by words: load with them"):
        build_in_cluster([path], cluster)


@pytest.mark.parametrize("n_sent", [1, 4, 10, 11])
def test_a_load_goes_on_where_the_ledger_says(
    server: ScriptedOpenSearch,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_sent: int,
) -> None:
    # 6,000 articles are 12 batches; the ledger is written after 10.
    path = written(tmp_path / "a.jsonl", 0, 6000)
    send, calls = build.send, iter(range(100))

    def breaking(*given: Any) -> int:
        if next(calls) == n_sent:
            raise CorpusError("the network went away")
        return send(*given)

    monkeypatch.setattr(build, "send", breaking)
    with pytest.raises(CorpusError, match="went away"):
        build_in_cluster([path], cluster)
    monkeypatch.setattr(build, "send", send)
    kept = build_in_cluster([path], cluster)
    assert n_bulks(server) == 12 + (n_sent if n_sent < 10 else n_sent - 10)
    assert (kept.ledger.files[0].n_items, kept.ledger.files[0].n_articles) == (6000, 6000)
    assert count(cluster) == 6000


def load_command(server: ScriptedOpenSearch, index: str, files: list[Path]) -> list[str]:
    words = ["corpus", "build", *map(str, files), "--out", f"{server.url}/{index}", "--quiet"]
    return [sys.executable, "-m", "ragassay", *words]


def test_a_load_that_is_killed_again_and_again_ends_with_the_same_documents(
    server: ScriptedOpenSearch, tmp_path: Path
) -> None:
    # Each file revises half of the one before; the last one deletes.
    files = [written(tmp_path / f"{k}.jsonl", 2000 * k, 4000, f"w{k}") for k in range(3)]
    files += [Path(shutil.copy(path, tmp_path)) for path in PUBMED]
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(load_command(server, "whole", files), env=environment, check=False)
    assert done.returncode == 3, "one record of the sample has no PMID"
    n_needed = n_bulks(server)
    n_killed = 0
    for n_more in (1, 3, 12, 5, 2):
        n_before = n_bulks(server)
        command = load_command(server, "killed", files)
        with subprocess.Popen(command, env=environment) as process:
            while process.poll() is None and n_bulks(server) < n_before + n_more:
                time.sleep(0.001)
            n_killed += process.poll() is None
            process.kill()
    assert n_killed >= 3
    assert server.settings("killed")["refresh_interval"] == "-1", "a kill restores nothing"
    done = subprocess.run(load_command(server, "killed", files), env=environment, check=False)
    assert done.returncode == 3
    assert server.settings("killed") == server.settings("whole") == RESTING
    assert server.documents("killed") == server.documents("whole")
    assert len(server.documents("killed")) == 8015
    with OpenSearch([server.url]) as client:
        kept = [ClusterLedger(Cluster(client, name)).ledger for name in ("killed", "whole")]
    assert kept[0] == kept[1]
    assert n_bulks(server) < (2 + n_killed) * n_needed
