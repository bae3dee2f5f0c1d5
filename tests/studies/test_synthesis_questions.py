"""The questions that answers are written to, and their papers."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case
from fakes import WordEmbedder
from synthesizing import write_questions, write_rows

from ragassay.errors import InputError
from ragassay.process import run_sync
from ragassay.records import Article, Document, Record
from ragassay.retrievers.literature import Corpus
from ragassay.settings import load_settings
from ragassay.studies.synthesis_questions import (
    PaperSearch,
    Questions,
    find_missing_papers,
    read_synthesis_questions,
)

COUGH = Document(id="31452104", title="Safety", text="Cough was seen in patients on drug A.")
PRESSURE = Document(id="2", title="Trial", text="Drug A lowered blood pressure in adults.")
WITHDRAWN = Article(
    id="3",
    title="Drug A and cough",
    text="Cough was not seen with drug A.",
    publication_types=("Retracted Publication",),
)
TITLE_ONLY = Document(id="4", title="Cough under drug A", text="")
OTHER = Document(id="5", text="Statins and muscle pain.")
CORPUS = Corpus([OTHER, TITLE_ONLY, WITHDRAWN, PRESSURE, COUGH])


def read(queries: Any, **options: Any) -> Questions:
    return read_synthesis_questions(queries, options, load_settings())  # type: ignore[arg-type]


def kept(questions: Questions, search: PaperSearch | None = None, **more: Any) -> Questions:
    return run_sync(find_missing_papers(questions, search, **more))


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> PaperSearch:
    """Words first, then reranked by an embedder without a model."""
    monkeypatch.setattr("ragassay.studies.synthesis_questions.Embedder", WordEmbedder)
    return PaperSearch.open_search(CORPUS, load_settings(), 2)


def test_questions_of_yescieval_have_their_papers(tmp_path):
    found = kept(read(write_questions(tmp_path / "questions.jsonl")))
    assert [record.id for record in found.records] == ["q1", "q2", "q3"]
    assert found.bare == ("q4",)
    assert found.warnings == ("skipped questions without papers: 1 (q4)",)
    assert [source.title for source in found.records[0].sources] == ["Trial", "Safety"]


def test_the_released_questions_are_read(shared):
    found = kept(read(shared / "data" / "yescieval" / "bioasq-train-questions.jsonl.gz"))
    assert (len(found.records), found.bare, found.rejections) == (51, (), ())


def test_a_question_of_several_answers_has_the_sources_of_all(tmp_path):
    rows = [
        {"id": "a", "topic": "t", "question": "Q?", "answer": "x", "sources": ["One.", "Two."]},
        {"id": "b", "topic": "t", "question": "Q?", "answer": "y", "sources": ["One.", "Three."]},
        {"id": "c", "topic": "u", "question": "R?", "answer": "z"},
    ]
    rows[1]["nuggets"], rows[0]["date"], rows[0]["variant"] = ["One fact."], "2024", "benign"
    found = kept(read(write_rows(tmp_path / "answers.jsonl", rows)))
    (record,) = found.records
    assert [source.text for source in record.sources] == ["One.", "Two.", "Three."]
    assert len({source.id for source in record.sources}) == 3
    assert (record.id, record.answer, record.date, record.metadata) == ("t", "", None, {})
    assert [nugget.text for nugget in record.nuggets] == ["One fact."]
    assert found.bare == ("u",)


def test_questions_without_answers_are_kept_apart_and_whole(tmp_path):
    rows = [
        {"id": name, "question": "Q?", "sources": ["One."], "reference": "R.", "kind": "summary"}
        for name in ("a", "b")
    ]
    found = read(write_rows(tmp_path / "questions.jsonl", rows))
    assert [record.id for record in found.records] == ["a", "b"]
    assert found.records[0].reference == "R."
    assert found.records[0].metadata == {"kind": "summary"}


@each_case(
    ("name", "text"),
    [
        ("topics.json", '{"topics": [{"id": 116, "question": "Why?"}]}'),
        ("topics.csv", "topic_id,title,question,narrative\n116,t,Why?,n\n"),
        ("topics.tsv", "116\tWhy?\n"),
        ("bioasq.json", '{"questions": [{"id": "116", "body": "Why?", "type": "summary"}]}'),
        ("queries.json", '{"116": "Why?"}'),
    ],
)
def test_topics_are_questions_without_papers(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    (record,) = read(path).records
    assert (record.id, record.question, record.sources) == ("116", "Why?", ())


def test_texts_rows_and_records_are_questions():
    texts = read(["Why?", "How?"]).records
    assert [(r.id, r.question) for r in texts] == [("q1", "Why?"), ("q2", "How?")]
    row = {"id": "a", "question": "Why?", "sources": ["One."]}
    assert read([row]).records[0].sources[0].text == "One."
    assert read([Record.model_validate(row | {"answer": "", "sources": ()})]).records[0].id == "a"
    (named,) = read([{"q": "Why?"}], column_map={"question": "q"}).records
    assert named.question == "Why?"


def test_a_file_without_a_question_is_one_clear_error(tmp_path):
    path = tmp_path / "questions.jsonl"
    with pytest.raises(InputError, match="does not exist"):
        read(path)
    row = {"id": "t", "question": "Q?", "sources": ["One."]}
    for rows, problem in (
        ([], "is empty"),
        ([{"id": "a", "qestion": "Why?"}], "qestion"),
        ([row, row | {"id": "b", "topic": "t", "question": "R?"}], "2 questions have the id 't'"),
    ):
        with pytest.raises(InputError, match=problem):
            read(write_rows(path, rows))
    with pytest.raises(InputError, match="no question has sources; pass a corpus"):
        kept(read(write_rows(path, [{"id": "a", "question": "Why?"}])))


def test_a_question_without_sources_gets_the_best_of_the_corpus(search):
    own = {"id": "b", "question": "Does drug A cause cough?", "sources": ["Mine."]}
    found = kept(read([{"id": "a", "question": "Does drug A cause cough?"}, own]), search)
    sources = [[source.id for source in record.sources] for record in found.records]
    assert sources == [["31452104", "2"], ["1"]]  # neither the retracted one nor a bare title
    assert found.records[0].sources[0] == COUGH
    assert kept(read(["Zebras?", "cough"]), search).bare == ("q1",)
    with pytest.raises(InputError, match="nothing was found for any question"):
        kept(read(["Zebras?"]), search)


def test_papers_are_searched_only_for_the_questions_that_are_asked(search, monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(
        PaperSearch, "find", lambda self, question: asked.append(question) or (COUGH,)
    )
    found = kept(read(["One?", "Two?", "Three?"]), search, limit=2)
    assert (len(found.records), asked) == (2, ["One?", "Two?"])


def test_papers_that_were_found_are_not_searched_for_again(search, tmp_path, monkeypatch):
    states = tmp_path / "out" / "answers.jsonl.state.sqlite"
    first = kept(read(["cough?"]), search, states=states)
    monkeypatch.setattr(PaperSearch, "find", lambda self, question: pytest.fail("searched again"))
    assert kept(read(["cough?"]), search, states=states) == first


def test_a_corpus_says_what_of_it_could_not_be_read(tmp_path):
    path = write_rows(tmp_path / "corpus.jsonl", [{"id": "1", "text": "Cough."}, {"text": 3}])
    found = kept(read(["cough"]), PaperSearch.open_search(path, load_settings(reranker="none"), 5))
    assert [rejection.line for rejection in found.rejections] == [2]
