"""What a user may name as the corpus, and how it is then searched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes import WordEmbedder

from ragassay.errors import CorpusError, InputError, SettingsError
from ragassay.retrievers.dense.embed import embed_corpus
from ragassay.retrievers.disk.build import build_corpus
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.literature import Corpus
from ragassay.retrievers.opening import DenseCorpus, HybridCorpus, OpenedCorpus, open_literature
from ragassay.settings import load_settings

ROW = {"id": "1", "title": "Aspirin", "text": "Aspirin prevents stroke."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text(json.dumps(ROW))
    build_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus")
    return tmp_path / "corpus"


def opened(where: str | Path, **settings: object) -> OpenedCorpus:
    return open_literature(where, load_settings(**settings), WordEmbedder())


def grow(folder: Path) -> None:
    (folder.parent / "b.jsonl").write_text(json.dumps(ROW | {"id": "2"}))
    build_corpus([folder.parent / "b.jsonl"], folder)


def test_without_vectors_it_is_searched_by_words(folder):
    for search in (None, "auto", "bm25"):
        found = opened(folder, search=search)
        assert isinstance(found.literature, DiskCorpus)
        assert (found.fingerprint.name, found.fingerprint.n_items) == ("corpus", 1)
        assert (found.fingerprint.format, found.note) == ("corpus", "")


def test_with_vectors_it_is_searched_as_the_settings_say(folder):
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    hashes = set()
    for search, kind, name in (
        ("auto", HybridCorpus, "corpus, hybrid"),
        ("hybrid", HybridCorpus, "corpus, hybrid"),
        ("dense", DenseCorpus, "corpus, dense"),
        ("bm25", DiskCorpus, "corpus"),
    ):
        found = opened(folder, search=search)
        assert (type(found.literature), found.fingerprint.format) == (kind, name)
        assert found.fingerprint.sha256 == found.literature.sha256
        assert [hit.document.id for hit in found.literature.search("stroke")] == ["1"]
        hashes.add(found.fingerprint.sha256)
    assert len(hashes) == 3, "kept verdicts tell the ways apart"


@pytest.mark.parametrize("search", ["dense", "hybrid"])
def test_vectors_that_are_asked_for_and_missing_or_stale_are_an_error(folder, search):
    with pytest.raises(CorpusError, match=r"missing; run `ragassay corpus .*corpus --embedder"):
        opened(folder, search=search)
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    grow(folder)
    with pytest.raises(CorpusError, match="older than the corpus"):
        opened(folder, search=search)


def test_auto_passes_stale_vectors_over_and_says_so(folder):
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    grow(folder)
    found = opened(folder)
    assert isinstance(found.literature, DiskCorpus)
    assert "older than the corpus; run `ragassay corpus embed" in found.note
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    assert isinstance(opened(folder).literature, HybridCorpus)


def test_vectors_by_another_model_are_not_taken(folder):
    embed_corpus(DiskCorpus(folder), WordEmbedder(name="other"))
    assert isinstance(opened(folder).literature, DiskCorpus)
    with pytest.raises(CorpusError, match="for words are missing"):
        opened(folder, search="dense")


@pytest.mark.integration
def test_a_chroma_server_is_asked_only_of_a_corpus_that_has_vectors(folder):
    down = "http://127.0.0.1:9"
    assert isinstance(opened(folder, chroma_url=down).literature, DiskCorpus)
    embed_corpus(DiskCorpus(folder), WordEmbedder())
    with pytest.raises(CorpusError, match="cannot reach the Chroma server"):
        opened(folder, chroma_url=down)


@pytest.mark.parametrize("search", ["dense", "hybrid"])
@pytest.mark.parametrize("where", ["pubmed", "a.jsonl"])
def test_vectors_need_a_built_corpus(folder, where, search):
    place = folder.parent / where if where.endswith("jsonl") else where
    with pytest.raises(SettingsError, match=r"no vectors; build a corpus with `ragassay"):
        opened(place, search=search)


def test_a_corpus_that_is_not_there_is_missing_however_it_is_searched(tmp_path):
    for search in ("auto", "dense"):
        with pytest.raises(InputError, match="nowhere"):
            opened(tmp_path / "nowhere", search=search)


def test_a_file_of_documents(folder):
    found = opened(folder.parent / "a.jsonl")
    assert isinstance(found.literature, Corpus)
    assert (found.fingerprint.n_items, found.fingerprint.format) == (1, "jsonl")


@pytest.mark.parametrize("kind", [str, Path])
def test_an_address_is_refused_without_its_password(kind):
    with pytest.raises(InputError, match="pass a LangChain retriever") as caught:
        opened(kind("https://me:hush@localhost:9200/pubmed"))
    assert "***@localhost:9200/pubmed is a URL" in str(caught.value)
    assert "hush" not in str(caught.value)
