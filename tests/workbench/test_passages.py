"""Passages to grade, from any form in which users have them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from rows import write_rows

from ragassay.errors import InputError
from ragassay.records import BANK, Document, Review
from ragassay.retrievers.literature import Corpus
from ragassay.runs.banks import read_bank_file
from ragassay.runs.journal import open_journal
from ragassay.workbench.passages import Passages, read_passages

LONG = " ".join(f"Sentence number {n} says what it says." for n in range(1, 41))
"""40 sentences of 7 words."""


def bank(folder: Path, *queries: str) -> Path:
    return write_rows(
        folder / "bank.jsonl",
        (
            {
                "query_id": q,
                "query_text": f"what of {q}?",
                "items": [{"question_text": f"Why {q}?"}],
            }
            for q in queries
        ),
    )


def run_file(folder: Path, tag: str, *documents: str) -> Path:
    path = folder / f"{tag}.run"
    lines = (f"q1 Q0 {d} {n} {10 - n} {tag}" for n, d in enumerate(documents, 1))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


CORPUS = Corpus([Document(id="d1", text="One."), Document(id="d2", text="Two.", title="Title")])


def ids(found: Passages) -> list[str]:
    return [one.paragraph_id for one in found.queries[0].paragraphs]


def test_rankings_of_several_systems_give_each_passage_once(tmp_path: Path):
    runs = [run_file(tmp_path, "a", "d1", "d2"), run_file(tmp_path, "b", "d2", "d9")]
    found = read_passages(runs, testbank=bank(tmp_path, "q1"), corpus=CORPUS)
    (query,) = found.queries
    assert ids(found) == ["d1", "d2"]
    assert query.paragraphs[1].text == "Title\nTwo."
    places = [(p.method, p.rank) for p in query.paragraphs[1].paragraph_data.rankings]
    assert places == [("a", 2), ("b", 1)]
    (missing,) = found.rejections
    assert "d9 is not in the corpus" in missing.problem
    (first, _) = found.records
    assert (first.id, first.question, first.answer) == ("q1/d1", "what of q1?", "One.")
    assert [item.text for item in first.exam] == ["Why q1?"]


def test_a_bad_line_of_a_ranking_does_not_stop_the_others(tmp_path: Path):
    path = run_file(tmp_path, "a", "d1", "d2")
    path.write_text(f"{path.read_text()}\nq1 Q0 d3 three 1 a\n", encoding="utf-8")
    found = read_passages([path], corpus=CORPUS)
    assert ids(found) == ["d1", "d2"]
    (rejection,) = found.rejections
    assert (rejection.file, rejection.line, rejection.field) == (str(path), 3, "rank")
    # Only the first of a ranking are graded.
    assert ids(read_passages([path], corpus=CORPUS, depth=1)) == ["d1"]


def test_an_answer_is_its_systems_response_in_passages(tmp_path: Path):
    row = {"id": "a1", "topic": "q1", "system": "gpt", "question": "Why?", "answer": LONG}
    path = write_rows(tmp_path / "answers.jsonl", [row])
    found = read_passages([path], testbank=bank(tmp_path, "q1"), most_words=100)
    passages = found.queries[0].paragraphs
    assert " ".join(one.text for one in passages) == LONG
    ranks = [one.paragraph_data.rankings[0] for one in passages]
    assert ids(found) == [r.paragraph_id for r in ranks] == ["a1#1", "a1#2", "a1#3"]
    assert [(r.method, r.rank) for r in ranks] == [("gpt", 1), ("gpt", 2), ("gpt", 3)]
    # The answer's own question is what was asked.
    assert found.records[0].question == "Why?"


def test_the_pieces_of_a_ranked_document_share_its_rank(tmp_path: Path):
    corpus = Corpus([Document(id="d1", text="One."), Document(id="d2", text=LONG)])
    found = read_passages([run_file(tmp_path, "a", "d1", "d2")], corpus=corpus, most_words=150)
    ranks = [
        (p.paragraph_id, p.paragraph_data.rankings[0].rank) for p in found.queries[0].paragraphs
    ]
    assert ranks == [("d1", 1), ("d2#1", 2), ("d2#2", 2)]


def test_graded_passages_stay_whole_and_keep_what_they_have(tmp_path: Path):
    path = tmp_path / "graded.jsonl.gz"
    grade = {"correctAnswered": True, "llm": "x", "answer": "yes"}
    one = {"paragraph_id": "p", "text": LONG, "paragraph_data": {}, "grades": [grade]}
    with gzip.open(path, "wt") as file:
        file.write(json.dumps(["q1", [one]]))
    found = read_passages([path], testbank=bank(tmp_path, "q1"), most_words=10)
    assert ids(found) == ["p"]
    assert found.records[0].question == "what of q1?"


def test_what_people_changed_in_the_bank_is_what_grades(tmp_path: Path):
    path = bank(tmp_path, "q1")
    (item,) = read_bank_file(path).banks[0].items
    place = {"evaluator": BANK, "record": "q1", "item": item.id, "field": "text"}
    open_journal(path).add(Review(who="Ada", value="How come?", **place))
    found = read_passages([run_file(tmp_path, "a", "d1")], testbank=path, corpus=CORPUS)
    assert [(one.id, one.text) for one in found.records[0].exam] == [(item.id, "How come?")]


def test_what_cannot_be_graded_is_said(tmp_path: Path):
    run = run_file(tmp_path, "a", "d1")
    with pytest.raises(InputError, match="contains only document ids; pass the documents"):
        read_passages([run])
    with pytest.raises(InputError, match="the passages have q1, the test bank has q7"):
        read_passages([run], testbank=bank(tmp_path, "q7"), corpus=CORPUS)
    with pytest.raises(InputError, match=r"no passages to grade: .*d1 is not in the corpus"):
        read_passages([run], corpus=Corpus())
