"""Vectors of a built corpus: what is found, what is embedded again, and what is refused."""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest
from fakes import WordEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from waiting import wait_until

from ragassay.errors import CorpusError, SettingsError
from ragassay.records import Article, ArticleLink, Document
from ragassay.retrievers.dense.chroma import (
    build_embedded_text,
    build_replacement_facts,
    build_vector_facts,
    build_where_clause,
)
from ragassay.retrievers.dense.embed import EmbedEvent, embed_corpus
from ragassay.retrievers.dense.index import DenseIndex, check_vectors, describe_vectors
from ragassay.retrievers.disk import build
from ragassay.retrievers.disk.build import build_corpus
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.literature import Filters, is_kept
from ragassay.retrievers.pubmed.xml import Deletion

WORDS = "aspirin stroke migraine insulin glucose statin cancer placebo heart kidney".split()
TYPES = ("Review", "Randomized Controlled Trial", "Journal Article", "Preprint")
DATES = ("", "2019", "2020", "2020-03", "2020-03-09", "2021-12-31", "2022")


def article(n: int) -> Article:
    """One of endlessly many articles that differ in their words and facts."""
    words = np.random.default_rng(n).choice(WORDS, size=6)
    return Article(
        id=str(1000 + n),
        title=f"Study {n}",
        text=" ".join(words) + ".",
        published=DATES[n % len(DATES)],
        publication_types=tuple(TYPES[i] for i in range(4) if n >> i & 1),
        links=(ArticleLink(kind="retracted_by", id="9"),) if n % 5 == 0 else (),
    )


Add = Callable[[Sequence[Document | Deletion]], DiskCorpus]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Add:
    """Adds items to a corpus as one more file, and opens it."""
    given: dict[str, Sequence[Document | Deletion]] = {}
    monkeypatch.setattr(build, "iter_source", lambda path: iter(given[path.name]))
    numbers = itertools.count()

    def added(items: Sequence[Document | Deletion]) -> DiskCorpus:
        file = tmp_path / f"{next(numbers)}.jsonl"
        file.write_text(file.name)
        given[file.name] = items
        build_corpus([file], tmp_path / "corpus")
        return DiskCorpus(tmp_path / "corpus")

    return added


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("an embedded index opened a socket")

    monkeypatch.setattr(socket.socket, "connect", refused)


@functools.cache
def vector_of(text: str) -> NDArray[np.float32]:
    return WordEmbedder().encode([text])[0]


def cosines(query: str, articles: Sequence[Article]) -> NDArray[np.float32]:
    return np.stack([vector_of(build_embedded_text(one)) for one in articles]) @ vector_of(query)


# --- all articles of a corpus ---------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 7, 500])
def test_pages_hold_each_living_article_once(add: Add, n: int) -> None:
    add([article(i) for i in range(40)])
    revised = article(3).model_copy(update={"text": "Revised."})
    corpus = add([revised, article(40), Deletion(id="1007"), Deletion(id="1039")])
    pages = list(corpus.iter_pages(n))
    assert max(len(page) for page in pages) <= n
    found = {a.id: a for page in pages for a in page}
    assert sum(map(len, pages)) == len(found) == len(corpus) == 39
    assert found["1003"] == revised
    assert not found.keys() & {"1007", "1039"}


def test_an_empty_corpus_has_no_page(add: Add) -> None:
    assert list(add([]).iter_pages()) == []


def test_articles_are_selected_by_the_ids_that_they_were_given(add: Add) -> None:
    corpus = add([Article(id="10.1/x", text="A."), Article(id="PMID 5", text="B."), article(1)])
    assert corpus.select(["10.1/x", "PMID 5", "none"]).keys() == {"10.1/x", "PMID 5"}
    assert corpus.select([]) == {}


# --- search --------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_sockets")
@settings(max_examples=25)
@given(query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), k=st.integers(1, 80))
def test_a_search_is_brute_force_by_cosine(
    small: tuple[DiskCorpus, DenseIndex], query: list[str], k: int
) -> None:
    corpus, index = small
    articles = [a for page in corpus.iter_pages() for a in page]
    expected = cosines(" ".join(query), articles)
    found = index.find_nearest(" ".join(query), k)
    assert [score for _, score in found] == pytest.approx(sorted(expected)[::-1][:k], abs=1e-5)
    by_id = dict(zip((a.id for a in articles), expected, strict=True))
    assert all(by_id[name] == pytest.approx(score, abs=1e-5) for name, score in found)


@pytest.mark.parametrize("filters", [
    Filters(since="2020"),
    Filters(since="2020-03"),
    Filters(until="2020"),
    Filters(until="2020-02"),
    Filters(since="2020", until="2020-03"),
    Filters(types=("review",)),
    Filters(types=("REVIEW", "preprint")),
    Filters(types=("no such type",)),
    Filters(no_retracted=True),
    Filters("2019", "2021", ("Randomized controlled trial",), no_retracted=True),
])  # fmt: skip
def test_filters_keep_what_is_kept_in_memory(
    small: tuple[DiskCorpus, DenseIndex], filters: Filters
) -> None:
    corpus, index = small
    kept = {a.id for page in corpus.iter_pages() for a in page if is_kept(a, filters)}
    assert {name for name, _ in index.find_nearest("aspirin", 100, filters)} == kept


@settings(max_examples=40)
@given(
    since=st.sampled_from(DATES),
    until=st.sampled_from(DATES),
    types=st.lists(st.sampled_from([t.upper() for t in TYPES]), max_size=3),
    no_retracted=st.booleans(),
)
def test_any_filters_keep_what_is_kept_in_memory(
    small: tuple[DiskCorpus, DenseIndex],
    since: str,
    until: str,
    types: list[str],
    no_retracted: bool,
) -> None:
    test_filters_keep_what_is_kept_in_memory(
        small, Filters(since, until, tuple(types), no_retracted)
    )


@pytest.mark.parametrize(("query", "k"), [("", 3), (" \n", 3), ("aspirin", 0), ("aspirin", -1)])
def test_nothing_asked_finds_nothing(
    small: tuple[DiskCorpus, DenseIndex], query: str, k: int
) -> None:
    assert small[1].find_nearest(query, k) == []


def test_an_empty_corpus_has_complete_vectors_and_no_hits(add: Add) -> None:
    corpus = add([])
    embed_corpus(corpus, WordEmbedder())
    assert DenseIndex(corpus, WordEmbedder()).find_nearest("aspirin", 3) == []


def test_an_article_without_words_does_no_harm(add: Add) -> None:
    corpus = add([Article(id="1", text=""), Article(id="2", text="Aspirin.")])
    assert embed_corpus(corpus, WordEmbedder()).n_vectors == 2
    assert DenseIndex(corpus, WordEmbedder()).find_nearest("aspirin", 1)[0][0] == "2"


def test_the_embedded_text_is_title_and_abstract() -> None:
    def text(title: str, abstract: str) -> str:
        return build_embedded_text(Article(id="1", title=title, text=abstract))

    assert text("Why?", "So.") == "Why? So."
    assert text(" A trial ", " It went well. ") == "A trial. It went well."
    assert text("", "Only text.") == "Only text."
    assert text("Only title", "") == "Only title."
    assert text("", "") == ""


@pytest.mark.parametrize("k", [1, 5, 10, 40])
def test_retracted_articles_crowd_nobody_out(add: Add, k: int) -> None:
    retracted = {"links": (ArticleLink(kind="retracted_by", id="9"),)}
    plain = [Article(id=str(i), text="Aspirin." + " Heart." * i) for i in range(40)]
    corpus = add([a.model_copy(update=retracted) if int(a.id) < 30 else a for a in plain])
    embed_corpus(corpus, WordEmbedder())
    index = DenseIndex(corpus, WordEmbedder())
    assert {int(name) < 30 for name, _ in index.find_nearest("aspirin", 10)} == {True}
    found = index.find_nearest("aspirin", k, Filters(no_retracted=True))
    assert [name for name, _ in found] == [str(i) for i in range(30, 40)][:k]


def test_no_filter_is_no_where() -> None:
    assert build_where_clause(Filters()) is None
    assert build_where_clause(Filters(no_retracted=True)) is None
    assert build_where_clause(Filters(types=("A",))) == {"types": {"$contains": "a"}}


def test_facts_that_are_gone_are_forgotten() -> None:
    plain = Article(id="1", text="a")
    stored = build_vector_facts(plain.model_copy(update={"publication_types": ("Review",)}))
    assert build_replacement_facts(build_vector_facts(plain), stored)["types"] is None


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DiskCorpus, DenseIndex]]:
    folder = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "iter_source", lambda path: iter([article(i) for i in range(60)]))
        (folder / "a.jsonl").write_text("")
        build_corpus([folder / "a.jsonl"], folder / "corpus")
    corpus = DiskCorpus(folder / "corpus")
    embed_corpus(corpus, WordEmbedder())
    index = DenseIndex(corpus, WordEmbedder())
    yield corpus, index
    index.close()


# --- keeping up with the corpus -------------------------------------------------------------


@pytest.mark.usefixtures("no_sockets")
def test_an_update_embeds_what_is_new_or_changed_and_no_more(add: Add) -> None:
    articles = [article(i) for i in range(12)]
    embed_corpus(add(articles), WordEmbedder())
    revised = articles[2].model_copy(update={"text": "Kidney, revised."})
    retracted = articles[3].model_copy(
        update={"links": (ArticleLink(kind="retracted_by", id="9"),), "publication_types": ()}
    )
    corpus = add([revised, retracted, article(12), Deletion(id="1004"), Deletion(id="1005")])
    embedder = WordEmbedder()
    with pytest.raises(CorpusError, match=r"are older than the corpus; run `ragassay corpus embed"):
        DenseIndex(corpus, embedder)
    state = embed_corpus(corpus, embedder)
    assert sorted(embedder.asked) == sorted(
        [build_embedded_text(revised), build_embedded_text(article(12))]
    )
    assert (state.check_status(corpus), state.n_vectors) == ("complete", 11)
    index = DenseIndex(corpus, WordEmbedder())
    names = {name for name, _ in index.find_nearest("aspirin", 50)}
    assert names == {a.id for page in corpus.iter_pages() for a in page}
    kept = Filters(no_retracted=True)
    assert "1003" not in {name for name, _ in index.find_nearest("aspirin", 50, kept)}
    typed = Filters(types=TYPES)
    assert "1003" not in {name for name, _ in index.find_nearest("aspirin", 50, typed)}
    assert index.find_nearest("kidney revised", 1)[0][0] == "1002"


def test_embedding_again_embeds_nothing(add: Add) -> None:
    corpus = add([article(i) for i in range(5)])
    first = embed_corpus(corpus, WordEmbedder())
    embedder = WordEmbedder()
    assert embed_corpus(corpus, embedder) == first
    assert embedder.asked == []


class Stopped(Exception):
    """Ends an embedding midway."""


@pytest.mark.usefixtures("no_sockets")
def test_a_build_that_was_stopped_goes_on(add: Add) -> None:
    corpus = add([article(i) for i in range(200)])
    n_before = 0

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
    assert len(DenseIndex(corpus, WordEmbedder()).find_nearest("aspirin", 500)) == 200


def test_vectors_of_several_embedders_stand_side_by_side(add: Add) -> None:
    corpus = add([article(i) for i in range(5)])
    other = WordEmbedder(name="other", digest="d")
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
    hashes = {DenseIndex(corpus, e).sha256 for e in (WordEmbedder(), other)}
    assert len(hashes) == 2


def test_a_corpus_can_be_moved_with_its_vectors(add: Add, tmp_path: Path) -> None:
    corpus = add([article(i) for i in range(5)])
    embed_corpus(corpus, WordEmbedder())
    corpus.folder.rename(tmp_path / "elsewhere")
    moved = DiskCorpus(tmp_path / "elsewhere")
    assert len(DenseIndex(moved, WordEmbedder()).find_nearest("aspirin", 9)) == 5


def test_two_at_a_time_are_refused(add: Add) -> None:
    corpus = add([article(1)])

    def again(event: EmbedEvent) -> None:
        embed_corpus(corpus, WordEmbedder())

    with pytest.raises(CorpusError, match="another process is embedding"):
        embed_corpus(corpus, WordEmbedder(), listen=again)


def test_a_damaged_name_is_an_error_that_says_what_to_do(add: Add) -> None:
    corpus = add([article(1)])
    (corpus.folder / "vectors.json").write_text("{")
    with pytest.raises(CorpusError, match=r"vectors\.json cannot be read; remove it"):
        embed_corpus(corpus, WordEmbedder())


@pytest.mark.parametrize("file", ["chroma.sqlite3", "header.bin", "index_metadata.pickle"])
@pytest.mark.parametrize("content", [b"junk" * 1000, None])
def test_damaged_vectors_are_an_error_that_says_what_to_do(
    add: Add, file: str, content: bytes | None
) -> None:
    corpus = add([article(i) for i in range(30)])
    embed_corpus(corpus, WordEmbedder())
    (path,) = (corpus.folder / "vectors").rglob(file)
    path.write_bytes(content) if content else path.unlink()
    with pytest.raises(CorpusError, match=r"remove .*vectors and run `|are missing; run `"):
        with closing(DenseIndex(corpus, WordEmbedder())) as index:
            index.find_nearest("aspirin", 20)
    # Chroma keeps what it knows of a path for the life of a process: the mend is another one's.
    mended = corpus.folder.with_name("mended")
    shutil.copytree(corpus.folder, mended, ignore=shutil.ignore_patterns("vectors"))
    assert embed_corpus(DiskCorpus(mended), WordEmbedder()).n_vectors == 30
    assert len(DenseIndex(DiskCorpus(mended), WordEmbedder()).find_nearest("aspirin", 20)) == 20


# --- a server ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host", "http://", "http://h:port", "http://h/path"]
)
def test_an_address_that_is_none_is_a_setting_at_fault(add: Add, url: str) -> None:
    with pytest.raises(SettingsError, match="chroma_url"):
        embed_corpus(add([article(1)]), WordEmbedder(), url)


def test_a_password_in_the_address_is_refused_unseen(add: Add) -> None:
    with pytest.raises(SettingsError, match="must not contain a user name") as caught:
        embed_corpus(add([article(1)]), WordEmbedder(), "http://me:secret@host:1")
    assert "secret" not in str(caught.value)


@dataclass(frozen=True)
class Server:
    url: str
    process: subprocess.Popen[bytes]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, port = tmp_path_factory.mktemp("chroma"), free_port()
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
        wait_until(lambda: beats(url), process)
        yield Server(url, process)
    finally:
        process.kill()
        process.wait()


def beats(url: str) -> bool:
    try:
        with httpx.Client(trust_env=False) as client:
            return client.get(f"{url}/api/v2/heartbeat").is_success
    except httpx.HTTPError:
        return False


@pytest.fixture
def at_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return server.url


@pytest.mark.integration
def test_a_server_answers_as_the_embedded_index_does(add: Add, at_server: str) -> None:
    corpus = add([article(i) for i in range(80)])
    embed_corpus(corpus, WordEmbedder())
    embed_corpus(corpus, WordEmbedder(), at_server)
    here, there = (DenseIndex(corpus, WordEmbedder(), url) for url in ("", at_server))
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
def test_a_server_keeps_up_and_keeps_corpora_apart(
    add: Add, at_server: str, tmp_path: Path
) -> None:
    articles = [article(i) for i in range(10)]
    embed_corpus(add(articles), WordEmbedder(), at_server)
    corpus = add([article(10), Deletion(id="1001")])
    with pytest.raises(CorpusError, match="older"):
        DenseIndex(corpus, WordEmbedder(), at_server)
    embedder = WordEmbedder()
    embed_corpus(corpus, embedder, at_server)
    assert embedder.asked == [build_embedded_text(article(10))]
    names = {
        n for n, _ in DenseIndex(corpus, WordEmbedder(), at_server).find_nearest("aspirin", 99)
    }
    assert names == {str(1000 + i) for i in range(11) if i != 1}
    assert len(describe_vectors(corpus.folder, at_server)) == 1
    assert describe_vectors(corpus.folder) == [], "nothing was written beside the corpus"


@pytest.mark.integration
def test_a_server_that_is_down_is_a_clear_error(add: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(CorpusError, match="cannot reach the Chroma server at http://127"):
        embed_corpus(add([article(1)]), WordEmbedder(), f"http://127.0.0.1:{free_port()}")


# --- a kill --------------------------------------------------------------------------------

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
def test_a_build_that_was_killed_goes_on(tmp_path: Path) -> None:
    rows = [article(i).model_dump(mode="json", include={"id", "title", "text"}) for i in range(300)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus")
    tests = Path(__file__).parents[2]
    command = [sys.executable, "-c", KILLED, tmp_path / "corpus", tests]
    killed = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    assert killed.returncode == -signal.SIGKILL
    corpus, embedder = DiskCorpus(tmp_path / "corpus"), WordEmbedder()
    assert check_vectors(corpus, embedder) == "unfinished"
    embed_corpus(corpus, embedder)
    n_before = int(killed.stdout)
    assert len(embedder.asked) == 300 - n_before, "what was stored before is not embedded again"
    assert len(DenseIndex(corpus, WordEmbedder()).find_nearest("aspirin", 400)) == 300
