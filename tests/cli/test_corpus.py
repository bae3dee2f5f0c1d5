"""`ragassay corpus` on the PubMed files that the repository ships."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import calls
import pytest
from fakes import WordEmbedder

run = partial(calls.run, "corpus")


def search(folder: Path, query: str, *options: str) -> list[dict[str, Any]]:
    out, _ = run("search", folder, query, "--json", *options)
    return [json.loads(line) for line in out.splitlines()]


def ids(folder: Path, query: str, *options: str) -> list[str]:
    return [found["id"] for found in search(folder, query, *options)]


EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "pubmed"
SOURCES = sorted(EXAMPLES.glob("pubmed99*.xml"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "built"
    # 3: one record of the sample has no PMID.
    out, err = run("build", *SOURCES, "--out", folder, "--quiet", code=3)
    assert "15 articles" in out
    assert "1 record could not be read" in err
    return folder


def test_building_again_changes_nothing(corpus: Path) -> None:
    before = (corpus / "corpus.json").read_bytes()
    run("build", *SOURCES, "--out", corpus, "--quiet", code=3)
    assert (corpus / "corpus.json").read_bytes() == before


def test_info_names_the_files(corpus: Path) -> None:
    assert "pubmed99n0002.xml" in run("info", corpus)[0]
    files = json.loads(run("info", corpus, "--json")[0])["files"]
    counts = [(file["n_articles"], file["n_deleted"], file["n_rejected"]) for file in files]
    assert counts == [(13, 0, 1), (7, 1, 0)]


def test_get_shows_revisions_and_misses_deletions(corpus: Path) -> None:
    found = json.loads(run("get", corpus, "PMID 99000304")[0])
    assert found["links"] == [
        {"kind": "retracted_by", "id": "99000904", "source": found["links"][0]["source"]}
    ]
    out, err = run("get", corpus, "99000909", "99000101", code=1)
    assert "99000909 is not in" in err
    assert json.loads(out)["id"] == "99000101"


def test_search_and_its_filters(corpus: Path) -> None:
    query = "brelozant migraine"
    assert {"99000101", "99000901", "99000902"} <= set(ids(corpus, query))
    assert len(ids(corpus, query, "--k", "1")) == 1
    assert "99000101" not in ids(corpus, query, "--since", "2024")
    assert ids(corpus, query, "--type", "preprint") == ["99000901"]
    text, _ = run("search", corpus, "brelozant preprint migraine days")
    assert "preprint; medRxiv" in text
    assert "no results" in run("search", corpus, "zzzz")[0]


def test_a_retracted_article_is_left_out_when_asked(corpus: Path) -> None:
    title = json.loads(run("get", corpus, "99000304")[0])["title"]
    every, rest = (ids(corpus, title, "--k", "15", *more) for more in ((), ("--no-retracted",)))
    assert set(every) - set(rest) == {"99000304"}


@pytest.fixture
def judged(tmp_path: Path) -> tuple[object, ...]:
    """Options that name two queries with their relevant articles; one is not answered."""
    queries, qrels = tmp_path / "q.tsv", tmp_path / "qrels"
    queries.write_text("a\tbrelozant migraine preprint interim report\nb\tno such\n")
    qrels.write_text("a 0 99000901 1\nb 0 1 1\n")
    return "--queries", queries, "--qrels", qrels, "--json"


def test_evaluate_prints_measures(corpus: Path, judged: tuple[object, ...]) -> None:
    rows = [json.loads(line) for line in run("evaluate", corpus, *judged)[0].splitlines()]
    assert [row["measure"] for row in rows] == ["nDCG@10", "R@100", "RR", "AP"]
    assert [row["value"] for row in rows] == [0.5] * 4, "one query of two is answered in full"
    assert {row["n"] for row in rows} == {2}


def test_evaluate_says_what_it_could_not_read_and_measures_the_rest(corpus, judged) -> None:
    _, queries, _, qrels, _ = judged
    queries.write_text(queries.read_text().replace("b\tno such", "no tab"))
    qrels.write_text(qrels.read_text().replace("b 0 1 1", "b 0 1 yes"))
    out, err = run("evaluate", corpus, *judged, code=3)
    assert [json.loads(line)["value"] for line in out.splitlines()] == [1.0] * 4
    assert f'rejected {qrels}:2: grade: found the text "yes", expected a whole number' in err
    assert f"rejected {queries}:2: found 1 columns, expected `qid TAB text`" in err


def test_an_address_is_no_corpus() -> None:
    address = "https://localhost:9200/pubmed"
    for arguments in (("build", SOURCES[0], "--out", address), ("get", address, "1")):
        assert "pass a LangChain retriever" in run(*arguments, code=1)[1]


def test_what_is_no_corpus_is_one_line(tmp_path: Path) -> None:
    _, err = run("search", tmp_path, "x", code=1)
    assert err.startswith("error: ") and "ragassay corpus build" in err
    assert len(err.splitlines()) == 1


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragassay.models.embeddings.Embedder", lambda name: WordEmbedder(name))


@pytest.fixture
def own(corpus: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(corpus, tmp_path / "own"))


@pytest.mark.usefixtures("words")
def test_embed_makes_vectors_that_info_and_search_know_of(own: Path) -> None:
    assert f"no vectors; create them with `ragassay corpus embed {own}`" in run("info", own)[0]
    _, err = run("search", own, "migraine", "--by", "dense", code=1)
    assert "are missing; run `ragassay corpus embed" in err and len(err.splitlines()) == 1
    out, _ = run("embed", own, "--quiet")
    assert out == "vectors by all-MiniLM-L6-v2: 15, up to date\n"
    # A long folder's name breaks the line.
    assert "15 articles" in " ".join(run("info", own)[0].split())
    assert out in run("info", own)[0]
    words, dense, hybrid = (search(own, "brelozant migraine", "--by", by) for by in WAYS)
    assert words != dense != hybrid != words
    assert search(own, "brelozant migraine") == hybrid, "auto is hybrid"
    assert len(dense) == 10, "a search by meaning finds something for anything"


WAYS = ("bm25", "dense", "hybrid")


@pytest.mark.usefixtures("words")
def test_vectors_that_the_corpus_has_outgrown_are_named(own: Path, tmp_path: Path) -> None:
    run("embed", own, "--quiet")
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "7", "title": "Whales", "text": "Whales sing."}))
    run("build", more, "--out", own, "--quiet", code=3)
    assert "vectors by all-MiniLM-L6-v2: 15, older than the corpus" in run("info", own)[0]
    out, err = run("search", own, "whales", "--json")
    assert json.loads(out)["id"] == "7"
    assert "only keyword search is used" in err and "ragassay corpus embed" in err
    assert "older than the corpus" in run("search", own, "x", "--by", "hybrid", code=1)[1]
    assert "16, up to date" in run("embed", own, "--quiet")[0]


@pytest.mark.usefixtures("words")
def test_hits_are_reranked_when_asked(own: Path) -> None:
    plain, embedded, none = (
        ids(own, "brelozant migraine days", *more)
        for more in ((), ("--rerank", "embedded"), ("--rerank", "none"))
    )
    assert sorted(embedded) == sorted(plain)
    assert none == plain != embedded


@pytest.mark.usefixtures("words")
def test_embed_shows_progress_on_stderr(own: Path) -> None:
    out, err = run("embed", own, "--embedder", "another")
    assert out == "vectors by another: 15, up to date\n"
    assert "embedding" in err and "15/15" in err and "articles/s" in err


@pytest.mark.usefixtures("words")
def test_evaluate_compares_ways_of_searching(own: Path, judged: tuple[object, ...]) -> None:
    run("embed", own, "--quiet")
    for way in (*(("--by", way) for way in WAYS), ("--rerank", "embedded")):
        rows = [json.loads(line) for line in run("evaluate", own, *judged, *way)[0].splitlines()]
        assert [row["measure"] for row in rows] == ["nDCG@10", "R@100", "RR", "AP"]
        assert rows[1]["value"] == 0.5


def test_what_has_no_vectors_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "7", "text": "Whales sing."}))
    _, err = run("search", tmp_path / "a.jsonl", "whales", "--by", "dense", code=1)
    assert "has no vectors; build a corpus" in err
    _, err = run("embed", tmp_path, code=1)
    assert "ragassay corpus build" in err


@pytest.mark.integration
def test_a_search_by_meaning_with_the_packaged_model(own: Path) -> None:
    run("embed", own, "--quiet")
    found = search(own, "medicine against attacks of headache", "--by", "dense")
    assert "migraine" in (found[0]["title"] + found[0]["text"]).lower()
    assert found[0]["score"] > found[-1]["score"]
