"""Articles in a cluster, against a scripted one on loopback that the real client talks to."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from case_tables import each_case
from opensearchpy import OpenSearch

from ragassay.errors import CorpusError, ExtraError, InputError
from ragassay.records import Article, ArticleLink
from ragassay.retrievers.cluster.corpus import ClusterCorpus
from ragassay.retrievers.cluster.schema import (
    INDEX_BODY,
    article_of,
    bulk_lines,
    query_body,
    source_of,
)
from ragassay.retrievers.literature import Filters, Literature
from ragassay.retrievers.pubmed.xml import Deletion
from ragassay.testing.opensearch import ScriptedOpenSearch

pytestmark = pytest.mark.integration

TRIAL = Article(
    id="101",
    title="Aspirin for stroke",
    text="METHODS: Aspirin & placebo.\nRESULTS: \u201cFewer\u201d strokes.",
    journal="Lancet",
    published="2019-06-30",
    doi="10.1016/s0140-6736(19)1",
    publication_types=("Journal Article", "Randomized Controlled Trial"),
    mesh=("Aspirin", "Stroke"),
    version=2,
)
RETRACTED = Article(
    id="202",
    title="A cure",
    text="We gave aspirin.",
    published="2020",
    publication_types=("Journal Article", "Retracted Publication"),
    links=(ArticleLink(kind="retracted_by", id="303", source="Lancet. 2021"),),
)
UNDATED = Article(id="404", title="Aspirin", text="")
ARTICLES = (TRIAL, RETRACTED, UNDATED)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedOpenSearch]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ScriptedOpenSearch() as running:
        yield running


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr("opensearchpy.helpers.actions.time.sleep", waits.append)
    return waits


@pytest.fixture
def empty(server: ScriptedOpenSearch) -> Iterator[ClusterCorpus]:
    with ClusterCorpus(server.url) as corpus:
        yield corpus


@pytest.fixture
def corpus(empty: ClusterCorpus) -> ClusterCorpus:
    assert empty.load(iter(ARTICLES)) == 3
    return empty


def test_it_is_a_place_to_look_literature_up(corpus: ClusterCorpus) -> None:
    assert isinstance(corpus, Literature)


@pytest.mark.parametrize("article", ARTICLES, ids=lambda article: article.id)
def test_articles_come_back_as_they_went_in(corpus: ClusterCorpus, article: Article) -> None:
    assert article_of(json.loads(json.dumps(source_of(article)))) == article
    assert corpus.get(article.id) == article


@pytest.mark.parametrize(
    "identifier",
    ["PMID: 101", " 101 ", "10.1016/S0140-6736(19)1", "https://doi.org/10.1016/s0140-6736(19)1"],
)
def test_an_article_by_any_of_its_names(corpus: ClusterCorpus, identifier: str) -> None:
    assert corpus.get(identifier) == TRIAL


@pytest.mark.parametrize(
    "identifier", ["", "999", "10.1016/none", "_search", "../pubmed", "a b/c?"]
)
def test_what_is_not_there_is_none(corpus: ClusterCorpus, identifier: str) -> None:
    assert corpus.get(identifier) is None


def test_a_search_gives_articles_best_first(corpus: ClusterCorpus) -> None:
    # "aspirin" and "stroke" in title and abstract together 1 each, in the title 0.2 each.
    hits = corpus.search("Aspirin, stroke?")
    assert [(hit.document.id, hit.score) for hit in hits] == [
        ("101", pytest.approx(2.4)),
        ("404", pytest.approx(1.2)),
        ("202", pytest.approx(1.0)),
    ]
    assert hits[0].document == TRIAL


@each_case(
    ("filters", "expected"),
    [
        (Filters(), {"101", "202", "404"}),
        (Filters(no_retracted=True), {"101", "404"}),
        (Filters(types=("randomized controlled TRIAL", "Review")), {"101"}),
        (Filters(since="2019-07"), {"202"}),
        (Filters(since="2020-01"), set()),
        (Filters(until="2019-06"), {"101"}),
        (Filters(until="2019-06-29"), set()),
        (Filters(since="2019", until="2020"), {"101", "202"}),
    ],
)
def test_filters(corpus: ClusterCorpus, filters: Filters, expected: set[str]) -> None:
    assert {hit.document.id for hit in corpus.search("aspirin", 10, filters)} == expected


@pytest.mark.parametrize(("query", "k"), [("", 5), ("  ", 5), ("aspirin", 0), ("aspirin", -1)])
def test_nothing_asked_is_nothing_sent(
    corpus: ClusterCorpus, server: ScriptedOpenSearch, query: str, k: int
) -> None:
    n_before = len(server.requests)
    assert corpus.search(query, k) == []
    assert len(server.requests) == n_before


def test_k_is_the_most(corpus: ClusterCorpus) -> None:
    assert len(corpus.search("aspirin", 2)) == 2


def test_many_clients_search_at_once(corpus: ClusterCorpus) -> None:
    with ThreadPoolExecutor(64) as clients:
        found = list(clients.map(corpus.search, ["aspirin stroke"] * 256))
    assert all(hits == found[0] for hits in found) and len(found[0]) == 3


def test_a_query_is_text_and_bounded() -> None:
    asked = query_body('title:x" AND (y* ' + "word " * 2000, 50_000, Filters())
    match = asked["query"]["bool"]["must"][0]["multi_match"]
    assert match["query"].startswith('title:x" AND (y* word')
    assert len(match["query"].split()) == 400
    assert asked["size"] == 10_000


def test_every_field_that_is_stored_is_mapped() -> None:
    properties = INDEX_BODY["mappings"]["properties"]
    assert properties.keys() >= Article.model_fields.keys()
    assert all(source_of(article).keys() <= properties.keys() for article in ARTICLES)


def test_bulk_lines_are_what_the_api_takes(server: ScriptedOpenSearch) -> None:
    lines = list(bulk_lines(ARTICLES))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    pairs = [(json.loads(a), json.loads(b)) for a, b in zip(lines[::2], lines[1::2], strict=True)]
    assert [action for action, _ in pairs] == [{"index": {"_id": a.id}} for a in ARTICLES]
    assert [article_of(source) for _, source in pairs] == list(ARTICLES)
    assert pairs[1][1]["notices"] == ["retracted"]
    assert pairs[1][1]["day"] == 20200000
    assert list(bulk_lines([])) == []
    assert list(bulk_lines([Deletion(id="7")])) == ['{"delete":{"_id":"7"}}\n']


def test_loading_again_replaces(corpus: ClusterCorpus) -> None:
    newer = TRIAL.model_copy(update={"title": "Aspirin after all", "version": 3})
    before = corpus.sha256
    assert corpus.load([newer]) == 1
    assert corpus.get("101") == newer
    assert len(corpus.search("aspirin")) == 3
    assert corpus.sha256 != before


def test_deletions_take_articles_out(corpus: ClusterCorpus) -> None:
    before = corpus.sha256
    assert corpus.load([Deletion(id="101"), Deletion(id="999"), Deletion(id="404")]) == 0
    assert corpus.get("101") is None
    assert [hit.document.id for hit in corpus.search("aspirin")] == ["202"]
    assert corpus.count() == 1
    assert corpus.sha256 != before


def test_update_files_are_carried_out_in_their_order(empty: ClusterCorpus) -> None:
    revised = UNDATED.model_copy(update={"title": "Aspirin, revised"})
    items = [TRIAL, UNDATED, Deletion(id="101"), RETRACTED, Deletion(id="202"), revised, RETRACTED]
    assert empty.load(iter(items)) == 2, "each id once, as it was last"
    assert empty.get("101") is None
    assert (empty.get("202"), empty.get("404")) == (RETRACTED, revised)


def test_what_a_busy_cluster_is_sent_again_undoes_no_deletion(
    empty: ClusterCorpus, server: ScriptedOpenSearch, slept: list[float]
) -> None:
    server.n_busy = 1
    assert empty.load([TRIAL, Deletion(id="101")]) == 0
    assert slept == [1]
    assert empty.get("101") is None


def test_a_deletion_that_is_refused_is_an_error(
    corpus: ClusterCorpus, server: ScriptedOpenSearch, slept: list[float]
) -> None:
    server.n_busy = 1000
    with pytest.raises(CorpusError, match="does not delete article '101'"):
        corpus.load([Deletion(id="101")])


@pytest.mark.parametrize("n", [499, 500, 501, 1203])
def test_many_articles_are_loaded_batch_by_batch(
    empty: ClusterCorpus, server: ScriptedOpenSearch, n: int
) -> None:
    assert empty.load(Article(id=str(i), text="Aspirin.") for i in range(n)) == n
    assert empty.count() == n
    assert sum(path.endswith("_bulk") for _, path, _ in server.requests) == -(-n // 500)


def test_the_hash_stays_while_nothing_changes(corpus: ClusterCorpus) -> None:
    assert corpus.sha256 == corpus.sha256
    assert len(corpus.sha256) == 64


def test_an_index_is_made_once_and_as_documented(
    empty: ClusterCorpus, server: ScriptedOpenSearch
) -> None:
    assert empty.load([]) == 0
    assert empty.load([TRIAL]) == 1
    made = [json.loads(body) for method, _, body in server.requests if method == "PUT"]
    assert made == [INDEX_BODY]


def test_a_busy_cluster_is_waited_for(
    empty: ClusterCorpus, server: ScriptedOpenSearch, slept: list[float]
) -> None:
    server.n_busy = 4
    assert empty.load(ARTICLES) == 3
    assert slept == [1, 2]
    assert len(empty.search("aspirin")) == 3


def test_a_cluster_that_stays_busy_is_an_error(
    empty: ClusterCorpus, server: ScriptedOpenSearch, slept: list[float]
) -> None:
    server.n_busy = 1000
    with pytest.raises(CorpusError, match=r"does not take article '101'.*queue is full"):
        empty.load([TRIAL])
    assert slept == [1, 2, 4, 8, 16, 32, 60, 60]


def test_an_article_that_the_mapping_refuses_is_named(server: ScriptedOpenSearch) -> None:
    narrow = {"mappings": {"properties": {"id": {}, "title": {}, "text": {}}}}
    with OpenSearch([server.url]) as client:
        client.indices.create(index="narrow", body=narrow)
    with ClusterCorpus(server.url, "narrow") as corpus:
        with pytest.raises(CorpusError, match=r"'101' \(after 1 others\).*not allowed"):
            corpus.load([UNDATED, TRIAL])


def test_a_missing_index_is_no_missing_article(empty: ClusterCorpus) -> None:
    for ask in (lambda: empty.get("101"), lambda: empty.search("aspirin"), lambda: empty.sha256):
        with pytest.raises(CorpusError, match="no index 'pubmed': make it with"):
            ask()


def test_a_refusal_is_an_error_with_the_clusters_words(
    corpus: ClusterCorpus, server: ScriptedOpenSearch
) -> None:
    server.statuses = [403]
    with pytest.raises(CorpusError, match=r"refuses: .*scripted 403"):
        corpus.search("aspirin")


def test_a_passing_gateway_error_passes(corpus: ClusterCorpus, server: ScriptedOpenSearch) -> None:
    server.statuses = [502, 503]
    assert corpus.get("101") == TRIAL


def test_a_search_of_some_shards_only_is_an_error(
    corpus: ClusterCorpus, server: ScriptedOpenSearch
) -> None:
    server.failed_shards = 1
    with pytest.raises(CorpusError, match="answered in part only"):
        corpus.search("aspirin")


def test_a_cluster_that_is_down_is_an_error(
    corpus: ClusterCorpus, server: ScriptedOpenSearch
) -> None:
    server.close()
    with pytest.raises(CorpusError, match="cannot reach the cluster: check its address"):
        corpus.get("101")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    with pytest.raises(ExtraError, match=r'pip install "ragassay\[cluster\]"'):
        ClusterCorpus("http://127.0.0.1:9200")


def test_hosts_that_make_no_sense_are_named_without_their_password() -> None:
    with pytest.raises(InputError, match="cannot be connected to") as caught:
        ClusterCorpus("http://me:secret@127.0.0.1:port")
    assert "secret" not in str(caught.value)
