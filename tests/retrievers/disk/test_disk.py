"""A corpus on disk: what is found, what is kept, and what a kill leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from case_tables import each_case
from corpora import add_to_corpus
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.errors import CorpusError, InputError
from ragassay.records import Article, ArticleLink, Document, Rejection
from ragassay.retrievers.disk import build
from ragassay.retrievers.disk.build import build_corpus
from ragassay.retrievers.disk.corpus import DiskCorpus, read_ledger
from ragassay.retrievers.disk.schema import build_index_row, read_stored_article
from ragassay.retrievers.literature import Corpus, Filters, Literature, is_kept, strip_article_id
from ragassay.retrievers.opening import open_literature
from ragassay.retrievers.pubmed.xml import Deletion
from ragassay.settings import load_settings

ARTICLES = (
    Article(
        id="1",
        title="Aspirin and headache",
        text="Aspirin relieved headache in adults.",
        published="2019-05-02",
        publication_types=("Randomized Controlled Trial", "Journal Article"),
        doi="10.1000/one",
    ),
    Article(
        id="2",
        title="Headaches in children",
        text="Headaches were common; ibuprofen helped.",
        published="2021",
        publication_types=("Review",),
    ),
    Article(
        id="3",
        title="Aspirin again",
        text="Aspirin cured all.",
        published="2020",
        links=(ArticleLink(kind="retracted_by", id="9"),),
    ),
    Article(id="4", title="", text="Migraine without a date, aspirin."),
)
ROW = '{"id": "1", "title": "T", "text": "aspirin", "doi": "10.1000/X"}\n'


@pytest.fixture
def built(tmp_path: Path) -> DiskCorpus:
    return add_to_corpus(tmp_path, *ARTICLES)


@pytest.fixture(params=["memory", "disk"])
def literature(request: pytest.FixtureRequest, built: DiskCorpus) -> Literature:
    return Corpus(ARTICLES) if request.param == "memory" else built


def ids(literature: Literature, query: str, **filters: object) -> set[str]:
    return {h.document.id for h in literature.search(query, 10, Filters(**filters))}  # type: ignore[arg-type]


def test_each_article_comes_back_whole(built):
    assert len(built) == 4
    assert tuple(built.get(article.id) for article in ARTICLES) == ARTICLES


@each_case("name", ["1", "PMID 1", "pmid:1", " 1 ", "10.1000/one", "doi:10.1000/ONE"])
def test_an_article_is_found_by_any_spelling_of_its_id_and_by_no_other(literature, name):
    assert literature.get(name).id == literature.get("https://doi.org/10.1000/one").id == "1"
    assert [literature.get(x) for x in ("5", "10.1000/two", "", "aspirin")] == [None] * 4


def test_words_are_found_by_their_stem_and_best_first(literature):
    hits = literature.search("headache")
    assert {h.document.id for h in hits} == {"1", "2"}
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
    assert len(literature.search("aspirin", 2)) == 2


@each_case(
    ("filters", "kept"),
    [
        ({}, {"1", "3", "4"}),
        ({"since": "2019-05-02"}, {"1", "3"}),
        ({"since": "2019-05-03"}, {"3"}),
        ({"since": "2020"}, {"3"}),
        ({"until": "2019"}, {"1"}),
        ({"until": "2019-05"}, {"1"}),
        ({"until": "2019-04"}, set()),
        ({"since": "2019", "until": "2020"}, {"1", "3"}),
        ({"types": ("randomized controlled trial",)}, {"1"}),
        ({"types": ("Review",)}, set()),
        ({"types": ("Review", "Journal Article")}, {"1"}),
        ({"no_retracted": True}, {"1", "4"}),
    ],
)
def test_filters(literature, filters, kept):
    assert ids(literature, "aspirin", **filters) == kept


def test_a_filter_changes_no_score(built):
    free = {h.document.id: h.score for h in built.search("aspirin")}
    for hit in built.search("aspirin", 10, Filters(since="2019", no_retracted=True)):
        assert hit.score == pytest.approx(free[hit.document.id])


@each_case(
    "query", ["", "   ", "the of and", "()", "aspirin AND", 'title:"x', "a" * 5000, "\x00", "🩺"]
)
def test_nothing_in_a_query_is_an_operator(literature, query):
    assert {h.document.id for h in literature.search(query)} <= {"1", "3", "4"}


@settings(max_examples=40)
@given(title=st.text(max_size=40), text=st.text(max_size=80))
def test_any_text_survives_the_index(title, text):
    try:
        (title + text).encode()
    except UnicodeEncodeError:
        return
    document = Article(id="7", title=title, text=text)
    assert read_stored_article(build_index_row(document)) == document


def test_a_plain_document_passes_only_filters_that_ask_nothing_of_it():
    plain = Document(id="1", text="x")
    assert is_kept(plain, Filters(no_retracted=True))
    assert not is_kept(plain, Filters(since="2000"))
    assert not is_kept(plain, Filters(types=("Review",)))


def rejection(problem: str) -> Rejection:
    return Rejection(file="f", line=1, field="", problem=problem, expected="", content="")


def test_later_records_replace_and_deletions_remove(tmp_path, monkeypatch):
    revised = ARTICLES[0].model_copy(update={"text": "Aspirin did nothing."})
    items = {
        "pubmed26n0001.xml": [*ARTICLES, ARTICLES[1].model_copy(update={"text": "Same file."})],
        "pubmed26n0002.xml": [revised, Deletion(id="3"), Deletion(id="99"), rejection("x")],
    }
    for name in items:
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(build, "iter_source", lambda path: iter(items[path.name]))
    # Handed in the wrong order: they go in by their numbers.
    files = [tmp_path / name for name in sorted(items, reverse=True)]
    ledger = build_corpus(files, tmp_path / "corpus")
    corpus = DiskCorpus(tmp_path / "corpus")
    assert [f.name for f in ledger.files] == sorted(items)
    counts = [(f.n_items, f.n_articles, f.n_deleted, f.n_rejected) for f in ledger.files]
    assert counts == [(5, 5, 0, 0), (4, 1, 2, 1)]
    assert len(corpus) == 3
    assert corpus.get("1") == revised
    assert corpus.get("2").text == "Same file."
    assert corpus.get("3") is None
    assert corpus.search("cured") == []
    assert list_problems(tmp_path / "corpus") == ["x"]


def list_problems(corpus: Path) -> list[str]:
    lines = (corpus / "rejected.jsonl").read_text().splitlines()
    return [json.loads(line)["problem"] for line in lines]


def test_a_file_is_read_once_and_a_new_one_is_added(tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(ROW)
    build_corpus([first], tmp_path / "corpus")
    before = DiskCorpus(tmp_path / "corpus").sha256
    seen: list[str] = []
    second.write_text('{"id": "2", "text": "ibuprofen"}\n')
    build_corpus([first, second], tmp_path / "corpus", lambda event: seen.append(event.file))
    assert set(seen) == {"b.jsonl"}
    corpus = DiskCorpus(tmp_path / "corpus")
    assert len(corpus) == 2
    assert corpus.sha256 != before
    first.write_text(ROW.replace("aspirin", "ibuprofen"))
    with pytest.raises(InputError, match="differs from the file with this name"):
        build_corpus([first], tmp_path / "corpus")


def test_an_older_update_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "iter_source", lambda path: iter(ARTICLES[:1]))
    old, new = tmp_path / "pubmed26n0009.xml", tmp_path / "pubmed26n0010.xml"
    old.write_text("old")
    new.write_text("new")
    build_corpus([new], tmp_path / "corpus")
    with pytest.raises(InputError, match="older than some files in the corpus"):
        build_corpus([old], tmp_path / "corpus")


@each_case("killed_at", [1, 5, 7, 8, 15, 19])
@each_case("after", ["read", "index"])
def test_a_killed_build_goes_on_and_ends_the_same(tmp_path, monkeypatch, killed_at, after):
    items = [
        rejection(f"line {n}") if n % 6 == 5 else Document(id=str(n % 14), text=f"word{n}")
        for n in range(20)
    ]
    (tmp_path / "a.jsonl").write_text("")
    monkeypatch.setattr(build, "N_ITEMS_A_COMMIT", 4)
    n_reads = killed_at if after == "read" else len(items)
    real, n_written = build.write_ledger, iter(range(100))

    def killed(path: Path):
        yield from items[:n_reads]
        raise KeyboardInterrupt

    def breaking(folder: Path, ledger: object) -> None:
        # The ledger is written once when the corpus is made, then after each commit.
        if next(n_written) == 1 + killed_at % 5:
            raise KeyboardInterrupt
        real(folder, ledger)

    with monkeypatch.context() as kill:
        kill.setattr(build, "iter_source", killed)
        if after == "index":
            kill.setattr(build, "write_ledger", breaking)
        with pytest.raises(KeyboardInterrupt):
            build_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus")
    monkeypatch.setattr(build, "iter_source", lambda path: iter(items))
    (file,) = build_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus").files
    assert (file.n_items, file.n_articles, file.n_rejected, file.is_complete) == (20, 17, 3, True)
    corpus = DiskCorpus(tmp_path / "corpus")
    last = {item.id: item.text for item in items if isinstance(item, Document)}
    assert len(corpus) == len(last)
    assert {name: corpus.get(name).text for name in last} == last
    assert list_problems(tmp_path / "corpus") == ["line 5", "line 11", "line 17"]


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "a.jsonl").write_text(ROW)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(CorpusError, match="is not a corpus and contains"):
        build_corpus([tmp_path / "a.jsonl"], tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir() if p.name != ".lock"] == ["thesis.txt"]


def test_what_is_no_corpus_says_so(tmp_path):
    with pytest.raises(CorpusError, match="ragassay corpus build"):
        DiskCorpus(tmp_path)
    (tmp_path / "corpus.json").write_text("{}")
    with pytest.raises(CorpusError, match="cannot be opened"):
        DiskCorpus(tmp_path)
    (tmp_path / "corpus.json").write_text("[1")
    with pytest.raises(CorpusError, match="cannot be read"):
        read_ledger(tmp_path)


def test_two_builds_at_once_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text("")

    def nested(path: Path):
        with pytest.raises(CorpusError, match="another process"):
            build_corpus([path], tmp_path / "corpus")
        yield ARTICLES[0]

    monkeypatch.setattr(build, "iter_source", nested)
    build_corpus([tmp_path / "a.jsonl"], tmp_path / "corpus")


@pytest.mark.parametrize(
    ("name", "message"),
    [("gone.jsonl", "does not exist"), ("a.pdf", "unsupported file type"), (".", "has no")],
)
def test_bad_sources_are_named(tmp_path, name, message):
    (tmp_path / "a.pdf").write_text("%PDF")
    with pytest.raises(InputError, match=message):
        build_corpus([tmp_path / name], tmp_path / "corpus")


def test_a_user_names_a_corpus_by_folder_or_file(tmp_path):
    (tmp_path / "docs.jsonl").write_text(ROW)
    build_corpus([tmp_path / "docs.jsonl"], tmp_path / "corpus")
    for where in (tmp_path / "corpus", tmp_path / "docs.jsonl"):
        opened = open_literature(where, load_settings())
        assert opened.fingerprint.n_items == 1
        assert opened.literature.get("https://doi.org/10.1000/x") is not None
        assert isinstance(opened.literature, Literature)


def test_bare_identifier_leaves_other_ids_alone():
    assert strip_article_id("abs-10.5") == "abs-10.5"
