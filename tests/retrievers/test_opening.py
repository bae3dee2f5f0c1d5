"""What a user may name as the corpus, and how it is then searched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from case_tables import each_case
from fakes import WordEmbedder
from opensearchpy import Urllib3HttpConnection

from ragassay.errors import CorpusError, InputError, SettingsError
from ragassay.records import Article
from ragassay.retrievers.cluster.corpus import ClusterCorpus
from ragassay.retrievers.cluster.nearest import ClusterVectors
from ragassay.retrievers.dense.embed import embed_corpus
from ragassay.retrievers.disk.build import build_corpus
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.hybrid import DenseCorpus, HybridCorpus
from ragassay.retrievers.memory import Corpus
from ragassay.retrievers.opening import Opened, open_literature
from ragassay.settings import load_settings
from ragassay.testing.opensearch import ScriptedOpenSearch

ROW = {"id": "1", "title": "Aspirin", "text": "Aspirin prevents stroke."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text(json.dumps(ROW))
    build_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus")
    return tmp_path / "corpus"


def opened(where: str | Path, **settings: object) -> Opened:
    return open_literature(where, load_settings(**settings), WordEmbedder())


def grow(folder: Path) -> None:
    (folder.parent / "b.jsonl").write_text(json.dumps(ROW | {"id": "2"}))
    build_corpus([folder.parent / "b.jsonl"], folder)


# --- a built corpus ------------------------------------------------------------------------


def test_without_vectors_it_is_searched_by_words(folder: Path) -> None:
    for search in (None, "auto", "bm25"):
        found = opened(folder, search=search)
        assert isinstance(found.literature, DiskCorpus)
        assert (found.stamp.name, found.stamp.n_items, found.stamp.format, found.note) == (
            "corpus",
            1,
            "corpus",
            "",
        )


def test_with_vectors_it_is_searched_as_the_settings_say(folder: Path) -> None:
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    kinds = {"auto": HybridCorpus, "hybrid": HybridCorpus, "dense": DenseCorpus, "bm25": DiskCorpus}
    found = {search: opened(folder, search=search) for search in kinds}
    assert {search: type(o.literature) for search, o in found.items()} == kinds
    assert [found[s].stamp.format for s in kinds] == [
        "corpus, hybrid",
        "corpus, hybrid",
        "corpus, dense",
        "corpus",
    ]
    assert len({o.stamp.sha256 for o in found.values()}) == 3, "kept verdicts tell the ways apart"
    for one in found.values():
        assert one.stamp.sha256 == one.literature.sha256
        assert [hit.document.id for hit in one.literature.search("stroke")] == ["1"]


@pytest.mark.parametrize("search", ["dense", "hybrid"])
def test_vectors_that_are_asked_for_and_missing_are_an_error(folder: Path, search: str) -> None:
    with pytest.raises(CorpusError, match=r"missing: `ragassay corpus embed .*corpus --embedder"):
        opened(folder, search=search)


@pytest.mark.parametrize("search", ["dense", "hybrid"])
def test_stale_vectors_are_refused(folder: Path, search: str) -> None:
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    grow(folder)
    with pytest.raises(CorpusError, match="older than the corpus"):
        opened(folder, search=search)


def test_auto_passes_stale_vectors_over_and_says_so(folder: Path) -> None:
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    grow(folder)
    found = opened(folder)
    assert isinstance(found.literature, DiskCorpus)
    assert "older than the corpus (`ragassay corpus embed" in found.note
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    assert isinstance(opened(folder).literature, HybridCorpus)


def test_vectors_by_another_model_are_not_taken(folder: Path) -> None:
    embed_corpus(DiskCorpus(folder), WordEmbedder(name="other"))
    assert isinstance(opened(folder).literature, DiskCorpus)
    with pytest.raises(CorpusError, match="by words are missing"):
        opened(folder, search="dense")


@pytest.mark.integration
def test_a_chroma_server_is_asked_only_of_a_corpus_that_has_vectors(folder: Path) -> None:
    down = "http://127.0.0.1:9"
    assert isinstance(opened(folder, chroma_url=down).literature, DiskCorpus)
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    with pytest.raises(CorpusError, match="cannot reach the Chroma server"):
        opened(folder, chroma_url=down)


# --- what has no vectors -------------------------------------------------------------------


@pytest.mark.parametrize("search", ["dense", "hybrid"])
@pytest.mark.parametrize("where", ["pubmed", "a.jsonl"])
def test_vectors_need_a_built_corpus(folder: Path, where: str, search: str) -> None:
    place = folder.parent / where if where.endswith("jsonl") else where
    with pytest.raises(SettingsError, match=r"no vectors: only a built corpus does \(`ragassay"):
        opened(place, search=search)


def test_a_corpus_that_is_not_there_is_missing_however_it_is_searched(tmp_path: Path) -> None:
    for search in ("auto", "dense"):
        with pytest.raises(InputError, match="nowhere"):
            opened(tmp_path / "nowhere", search=search)


def test_a_file_of_documents(folder: Path) -> None:
    found = opened(folder.parent / "a.jsonl")
    assert isinstance(found.literature, Corpus)
    assert (found.stamp.n_items, found.stamp.format) == (1, "jsonl")


# --- a cluster -----------------------------------------------------------------------------


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedOpenSearch]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ScriptedOpenSearch() as running:
        with ClusterCorpus(running.url, "pubmed") as corpus:
            corpus.load([Article.model_validate(ROW)])
        yield running


@pytest.mark.integration
@pytest.mark.parametrize("kind", [str, Path])
def test_an_address_is_an_index_in_a_cluster(
    cluster: ScriptedOpenSearch, kind: type[str] | type[Path]
) -> None:
    # A Path makes "//" into "/".
    found = opened(kind(f"{cluster.url}/pubmed"))
    assert isinstance(found.literature, ClusterCorpus)
    assert [hit.document.id for hit in found.literature.search("aspirin")] == ["1"]
    assert found.stamp.name == f"{cluster.url}/pubmed"
    assert (found.stamp.n_items, found.stamp.format) == (1, "cluster")
    assert found.stamp.sha256 == found.literature.sha256
    found.literature.close()


@pytest.mark.integration
def test_user_and_password_come_from_the_settings_and_are_kept_nowhere(
    cluster: ScriptedOpenSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    perform = Urllib3HttpConnection.perform_request

    def noted(self: Urllib3HttpConnection, *arguments: object, **options: object) -> object:
        sent.append(self.headers["authorization"])
        return perform(self, *arguments, **options)

    monkeypatch.setattr(Urllib3HttpConnection, "perform_request", noted)
    found = opened(f"{cluster.url}/pubmed", cluster_user="me", cluster_password="hush")
    assert isinstance(found.literature, ClusterCorpus)
    assert set(sent) == {"Basic bWU6aHVzaA=="}  # base64 of "me:hush"
    assert "hush" not in found.stamp.model_dump_json()
    found.literature.close()


@each_case("kind", [str, Path])
@each_case("secret", ["me:hush", "me:hu/hush", "me/hush", "hush", "a@b:hush"])
def test_a_password_in_the_address_is_refused_unseen(
    kind: type[str] | type[Path], secret: str
) -> None:
    where = kind(f"https://{secret}@localhost:9200/pubmed")
    for way in ("auto", "dense"):
        with pytest.raises(InputError, match=r"HOST:PORT|RAGASSAY_CLUSTER_PASSWORD") as caught:
            opened(where, search=way)
        assert "***@localhost:9200" in str(caught.value)
        assert "hu" not in str(caught.value)


@pytest.mark.parametrize(
    "where",
    ["https://localhost:9200", "https://h/a/b", "http://h/i?q=1", "http://h:port/i", "https://h/"],
)
def test_an_address_without_an_index_is_refused(where: str) -> None:
    with pytest.raises(InputError, match="https://HOST:PORT/INDEX"):
        opened(where)


@pytest.mark.parametrize("half", [{"cluster_user": "me"}, {"cluster_password": "hush"}])
def test_half_of_the_credentials_is_refused(half: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="both settings"):
        opened("https://localhost:9200/pubmed", **half)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("way", "kind", "named"),
    [
        ("auto", HybridCorpus, "cluster, hybrid"),
        ("hybrid", HybridCorpus, "cluster, hybrid"),
        ("dense", ClusterVectors, "cluster, dense"),
        ("bm25", ClusterCorpus, "cluster"),
    ],
)
def test_an_index_with_vectors_is_searched_as_the_settings_say(
    cluster: ScriptedOpenSearch, way: str, kind: type, named: str
) -> None:
    with ClusterCorpus(cluster.url, "both") as corpus:
        corpus.load([Article.model_validate(ROW)], WordEmbedder())
    found = opened(f"{cluster.url}/both", search=way)
    assert type(found.literature) is kind
    assert (found.stamp.format, found.note) == (named, "")
    assert [hit.document.id for hit in found.literature.search("aspirin")] == ["1"]


@pytest.mark.integration
def test_vectors_by_another_model_are_left_alone_with_a_note(cluster: ScriptedOpenSearch) -> None:
    with ClusterCorpus(cluster.url, "both") as corpus:
        corpus.load([Article.model_validate(ROW)], WordEmbedder("other"))
    found = opened(f"{cluster.url}/both")
    assert found.stamp.format == "cluster"
    assert "vectors by other (`--embedder other` searches them too)" in found.note
    with pytest.raises(CorpusError, match=r"has vectors by other, not by words.*--vectors"):
        opened(f"{cluster.url}/both", search="dense")
    with pytest.raises(CorpusError, match=r"was made without vectors, not by words.*--vectors"):
        opened(f"{cluster.url}/pubmed", search="hybrid")


@pytest.mark.integration
def test_a_missing_index_is_a_clear_error(cluster: ScriptedOpenSearch) -> None:
    with pytest.raises(CorpusError, match="no index 'other'"):
        opened(f"{cluster.url}/other")
