"""Vectors of a built corpus: what is found, what is embedded again, and what is refused."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from corpora import add_to_corpus
from fakes import WordEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import find_free_port, is_up, wait_until

from ragassay.errors import CorpusError, SettingsError
from ragassay.records import Article, ArticleLink
from ragassay.retrievers.dense.chroma import (
    build_embedded_text,
    build_replacement_facts,
    build_vector_facts,
    build_where_clause,
)
from ragassay.retrievers.dense.embed import EmbedEvent, embed_corpus
from ragassay.retrievers.dense.index import DenseIndex, check_vectors, describe_vectors
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.literature import Filters, is_kept
from ragassay.retrievers.pubmed.xml import Deletion

WORDS = "aspirin stroke migraine insulin glucose statin cancer placebo heart kidney".split()
TYPES = ("Review", "Randomized Controlled Trial", "Journal Article", "Preprint")
DATES = ("", "2019", "2020", "2020-03", "2020-03-09", "2021-12-31", "2022")
RETRACTED = {"links": (ArticleLink(kind="retracted_by", id="9"),)}


def article(n: int) -> Article:
    """One of endlessly many articles that differ in their words and facts."""
    words = np.random.default_rng(n).choice(WORDS, size=6)
    return Article(
        id=str(1000 + n),
        title=f"Study {n}",
        text=" ".join(words) + ".",
        published=DATES[n % len(DATES)],
        publication_types=tuple(TYPES[i] for i in range(4) if n >> i & 1),
        **(RETRACTED if n % 5 == 0 else {}),
    )


def articles(n: int) -> list[Article]:
    return [article(i) for i in range(n)]


@pytest.fixture
def add(tmp_path):
    return functools.partial(add_to_corpus, tmp_path)


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object):
        raise AssertionError("an embedded index opened a socket")

    monkeypatch.setattr(socket.socket, "connect", refused)


@functools.cache
def vector_of(text: str):
    return WordEmbedder().encode([text])[0]


def iterate(corpus: DiskCorpus) -> list[Article]:
    return [one for page in corpus.iter_pages() for one in page]


def search(corpus: DiskCorpus, query: str, k: int, *filters: Filters, url: str = "") -> list[str]:
    """Return the ids that vectors by words find."""
    with closing(DenseIndex(corpus, WordEmbedder(), url)) as index:
        return [name for name, _ in index.find_nearest(query, k, *filters)]


@pytest.mark.parametrize("n", [1, 7, 500])
def test_pages_hold_each_living_article_once(add, n):
    add(*articles(40))
    revised = article(3).model_copy(update={"text": "Revised."})
    corpus = add(revised, article(40), Deletion(id="1007"), Deletion(id="1039"))
    pages = list(corpus.iter_pages(n))
    assert max(len(page) for page in pages) <= n
    found = {a.id: a for page in pages for a in page}
    assert sum(map(len, pages)) == len(found) == len(corpus) == 39
    assert found["1003"] == revised
    assert not found.keys() & {"1007", "1039"}


def test_an_empty_corpus_has_no_page_complete_vectors_and_no_hits(add):
    corpus = add()
    assert list(corpus.iter_pages()) == []
    embed_corpus(corpus, WordEmbedder())
    assert search(corpus, "aspirin", 3) == []


def test_articles_are_selected_by_the_ids_that_they_were_given(add):
    corpus = add(Article(id="10.1/x", text="A."), Article(id="PMID 5", text="B."), article(1))
    assert corpus.select(["10.1/x", "PMID 5", "none"]).keys() == {"10.1/x", "PMID 5"}
    assert corpus.select([]) == {}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A corpus of 60 articles, and its vectors."""
    corpus = add_to_corpus(tmp_path_factory.mktemp("small"), *articles(60))
    embed_corpus(corpus, WordEmbedder())
    with closing(DenseIndex(corpus, WordEmbedder())) as index:
        yield corpus, index


@pytest.mark.usefixtures("no_sockets")
@settings(max_examples=25)
@given(query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), k=st.integers(1, 80))
def test_a_search_is_brute_force_by_cosine(small, query, k):
    corpus, index = small
    texts = {one.id: build_embedded_text(one) for one in iterate(corpus)}
    expected = {name: vector_of(text) @ vector_of(" ".join(query)) for name, text in texts.items()}
    found = index.find_nearest(" ".join(query), k)
    best = sorted(expected.values(), reverse=True)[:k]
    assert [score for _, score in found] == pytest.approx(best, abs=1e-5)
    assert all(expected[name] == pytest.approx(score, abs=1e-5) for name, score in found)


KINDS = ("review", "REVIEW", "Randomized controlled trial", "journal article", "no such type")


@settings(max_examples=60)
@given(
    since=st.sampled_from(DATES),
    until=st.sampled_from((*DATES, "2020-02")),
    types=st.lists(st.sampled_from(KINDS), max_size=3),
    no_retracted=st.booleans(),
)
def test_filters_keep_what_is_kept_in_memory(small, since, until, types, no_retracted):
    corpus, index = small
    filters = Filters(since, until, tuple(types), no_retracted)
    kept = {one.id for one in iterate(corpus) if is_kept(one, filters)}
    assert {name for name, _ in index.find_nearest("aspirin", 100, filters)} == kept


@pytest.mark.parametrize(("query", "k"), [("", 3), (" \n", 3), ("aspirin", 0), ("aspirin", -1)])
def test_nothing_asked_finds_nothing(small, query, k):
    assert small[1].find_nearest(query, k) == []


def test_an_article_without_words_does_no_harm(add):
    corpus = add(Article(id="1", text=""), Article(id="2", text="Aspirin."))
    assert embed_corpus(corpus, WordEmbedder()).n_vectors == 2
    assert search(corpus, "aspirin", 1) == ["2"]


@pytest.mark.parametrize(
    ("title", "abstract", "text"),
    [
        ("Why?", "So.", "Why? So."),
        (" A trial ", " It went well. ", "A trial. It went well."),
        ("", "Only text.", "Only text."),
        ("Only title", "", "Only title."),
        ("", "", ""),
    ],
)
def test_the_embedded_text_is_title_and_abstract(title, abstract, text):
    assert build_embedded_text(Article(id="1", title=title, text=abstract)) == text


def test_retracted_articles_crowd_nobody_out(add):
    plain = [Article(id=str(i), text="Aspirin." + " Heart." * i) for i in range(40)]
    corpus = add(*(a.model_copy(update=RETRACTED) if int(a.id) < 30 else a for a in plain))
    embed_corpus(corpus, WordEmbedder())
    assert all(int(name) < 30 for name in search(corpus, "aspirin", 10))
    for k in (1, 5, 10, 40):
        kept = search(corpus, "aspirin", k, Filters(no_retracted=True))
        assert kept == [str(i) for i in range(30, 40)][:k]


def test_no_filter_is_no_where():
    assert build_where_clause(Filters()) is None
    assert build_where_clause(Filters(no_retracted=True)) is None
    assert build_where_clause(Filters(types=("A",))) == {"types": {"$contains": "a"}}


def test_facts_that_are_gone_are_forgotten():
    plain = Article(id="1", text="a")
    stored = build_vector_facts(plain.model_copy(update={"publication_types": ("Review",)}))
    assert build_replacement_facts(build_vector_facts(plain), stored)["types"] is None


@pytest.mark.usefixtures("no_sockets")
def test_an_update_embeds_what_is_new_or_changed_and_no_more(add):
    embed_corpus(add(*articles(12)), WordEmbedder())
    revised = article(2).model_copy(update={"text": "Kidney, revised."})
    retracted = article(3).model_copy(update=RETRACTED | {"publication_types": ()})
    corpus = add(revised, retracted, article(12), Deletion(id="1004"), Deletion(id="1005"))
    embedder = WordEmbedder()
    with pytest.raises(CorpusError, match=r"are older than the corpus; run `ragassay corpus embed"):
        DenseIndex(corpus, embedder)
    state = embed_corpus(corpus, embedder)
    assert set(embedder.asked) == {build_embedded_text(one) for one in (revised, article(12))}
    assert len(embedder.asked) == 2
    assert (state.check_status(corpus), state.n_vectors) == ("complete", 11)
    assert set(search(corpus, "aspirin", 50)) == {one.id for one in iterate(corpus)}
    assert "1003" not in search(corpus, "aspirin", 50, Filters(no_retracted=True))
    assert "1003" not in search(corpus, "aspirin", 50, Filters(types=TYPES))
    assert search(corpus, "kidney revised", 1) == ["1002"]
    again = WordEmbedder()
    assert embed_corpus(corpus, again) == state
    assert again.asked == []


class Stopped(Exception):
    """Ends an embedding midway."""


@pytest.mark.usefixtures("no_sockets")
def test_a_build_that_was_stopped_goes_on(add):
    corpus, n_before = add(*articles(200)), 0

    def stop(event: EmbedEvent) -> None:
        nonlocal n_before
        n_before = event.n_embedded
        if n_before >= 128:  # the index may lie in two parts: a batch ends with its part
            raise Stopped

    with pytest.raises(Stopped):
        embed_corpus(corpus, WordEmbedder(), listen=stop)
    assert check_vectors(corpus, WordEmbedder()) == "unfinished"
    with pytest.raises(CorpusError, match="are not finished"):
        DenseIndex(corpus, WordEmbedder())
    embedder, events = WordEmbedder(), list[EmbedEvent]()
    embed_corpus(corpus, embedder, listen=events.append)
    assert len(embedder.asked) == 200 - n_before > 0
    assert events[-1] == EmbedEvent(n_done=200, n_articles=200, n_embedded=200 - n_before)
    assert len(search(corpus, "aspirin", 500)) == 200


def test_vectors_of_several_embedders_stand_side_by_side(add):
    corpus, other = add(*articles(5)), WordEmbedder(name="other", digest="d")
    with pytest.raises(CorpusError, match=r"for other are missing; run `.* --embedder other`"):
        DenseIndex(corpus, other)
    embed_corpus(corpus, WordEmbedder())
    assert check_vectors(corpus, other) == "missing"
    embed_corpus(corpus, other)
    states = describe_vectors(corpus.folder)
    assert [(s.embedder, s.n_vectors, s.check_status(corpus)) for s in states] == [
        ("other", 5, "complete"),
        ("words", 5, "complete"),
    ]
    assert DenseIndex(corpus, WordEmbedder()).sha256 != DenseIndex(corpus, other).sha256


def test_a_corpus_can_be_moved_with_its_vectors(add, tmp_path):
    corpus = add(*articles(5))
    embed_corpus(corpus, WordEmbedder())
    corpus.folder.rename(tmp_path / "elsewhere")
    assert len(search(DiskCorpus(tmp_path / "elsewhere"), "aspirin", 9)) == 5


def test_two_at_a_time_are_refused(add):
    corpus = add(article(1))

    def again(event: EmbedEvent) -> None:
        embed_corpus(corpus, WordEmbedder())

    with pytest.raises(CorpusError, match="another process is embedding"):
        embed_corpus(corpus, WordEmbedder(), listen=again)


def test_a_damaged_name_is_an_error_that_says_what_to_do(add):
    corpus = add(article(1))
    (corpus.folder / "vectors.json").write_text("{")
    with pytest.raises(CorpusError, match=r"vectors\.json cannot be read; remove it"):
        embed_corpus(corpus, WordEmbedder())


@pytest.mark.parametrize("file", ["chroma.sqlite3", "header.bin", "index_metadata.pickle"])
@pytest.mark.parametrize("content", [b"junk" * 1000, None])
def test_damaged_vectors_are_an_error_that_says_what_to_do(add, file, content):
    corpus = add(*articles(30))
    embed_corpus(corpus, WordEmbedder())
    (path,) = (corpus.folder / "vectors").rglob(file)
    path.write_bytes(content) if content else path.unlink()
    with pytest.raises(CorpusError, match=r"remove .*vectors and run `|are missing; run `"):
        search(corpus, "aspirin", 20)
    # Chroma keeps what it knows of a path for the life of a process: the mend is another one's.
    mended = corpus.folder.with_name("mended")
    shutil.copytree(corpus.folder, mended, ignore=shutil.ignore_patterns("vectors"))
    assert embed_corpus(DiskCorpus(mended), WordEmbedder()).n_vectors == 30
    assert len(search(DiskCorpus(mended), "aspirin", 20)) == 20


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host", "http://", "http://h:port", "http://h/path"]
)
def test_an_address_that_is_none_is_a_setting_at_fault(add, url):
    with pytest.raises(SettingsError, match="chroma_url"):
        embed_corpus(add(article(1)), WordEmbedder(), url)


def test_a_password_in_the_address_is_refused_unseen(add):
    with pytest.raises(SettingsError, match="must not contain a user name") as caught:
        embed_corpus(add(article(1)), WordEmbedder(), "http://me:secret@host:1")
    assert "secret" not in str(caught.value)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a Chroma server."""
    folder, port = tmp_path_factory.mktemp("chroma"), find_free_port()
    chroma = Path(sys.executable).with_name("chroma")
    if not chroma.exists():
        pytest.skip("no chroma command beside this Python")
    process = subprocess.Popen(
        [chroma, "run", "--path", folder / "data", "--host", "127.0.0.1", "--port", str(port)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: is_up(f"{url}/api/v2/heartbeat"), process)
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.integration
@pytest.mark.usefixtures("no_proxy")
def test_a_server_answers_as_the_embedded_index_does(add, server):
    corpus = add(*articles(80))
    embed_corpus(corpus, WordEmbedder())
    embed_corpus(corpus, WordEmbedder(), server)
    here, there = (DenseIndex(corpus, WordEmbedder(), url) for url in ("", server))
    assert here.sha256 == there.sha256
    for query in WORDS:
        for filters in (Filters(), Filters("2020", "", ("Review",), no_retracted=True)):
            found = [index.find_nearest(query, 20, filters) for index in (here, there)]
            scores = [[score for _, score in ranking] for ranking in found]
            assert scores[0] == pytest.approx(scores[1], abs=1e-5)
            assert found[0]
    whole = [dict(index.find_nearest("aspirin", 80)) for index in (here, there)]
    assert whole[0].keys() == whole[1].keys()


@pytest.mark.integration
@pytest.mark.usefixtures("no_proxy")
def test_a_server_keeps_up_and_keeps_corpora_apart(add, server):
    embed_corpus(add(*articles(10)), WordEmbedder(), server)
    corpus = add(article(10), Deletion(id="1001"))
    with pytest.raises(CorpusError, match="older"):
        DenseIndex(corpus, WordEmbedder(), server)
    embedder = WordEmbedder()
    embed_corpus(corpus, embedder, server)
    assert embedder.asked == [build_embedded_text(article(10))]
    found = search(corpus, "aspirin", 99, url=server)
    assert set(found) == {str(1000 + i) for i in range(11) if i != 1}
    assert len(describe_vectors(corpus.folder, server)) == 1
    assert describe_vectors(corpus.folder) == [], "nothing was written beside the corpus"


@pytest.mark.integration
@pytest.mark.usefixtures("no_proxy")
def test_a_server_that_is_down_is_a_clear_error(add):
    with pytest.raises(CorpusError, match="cannot reach the Chroma server at http://127"):
        embed_corpus(add(article(1)), WordEmbedder(), f"http://127.0.0.1:{find_free_port()}")


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from fakes import WordEmbedder
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.dense.embed import embed_corpus

def listen(event):
    if event.n_embedded >= 128:
        print(event.n_embedded, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

embed_corpus(DiskCorpus(Path(sys.argv[1])), WordEmbedder(), listen=listen)
"""


@pytest.mark.integration
def test_a_build_that_was_killed_goes_on(add):
    corpus, tests = add(*articles(300)), Path(__file__).parents[2]
    command = [sys.executable, "-c", KILLED, corpus.folder, tests]
    killed = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    assert killed.returncode == -signal.SIGKILL
    embedder = WordEmbedder()
    assert check_vectors(corpus, embedder) == "unfinished"
    embed_corpus(corpus, embedder)
    n_before = int(killed.stdout)
    assert len(embedder.asked) == 300 - n_before, "what was stored before is not embedded again"
    assert len(search(corpus, "aspirin", 400)) == 300
