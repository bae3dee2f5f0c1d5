"""Every field of the formats that are written comes back, unknown ones at any depth included.

A null is the same as an absent field, and a text that looks like JSON may come back as that value,
in formats whose unknown fields are kept as text. What a format's reader normalises is in the
samples as it is written.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.formats import (
    read_assignments,
    read_graded_paragraphs,
    read_nugget_banks,
    read_qrels,
    read_records,
    read_run,
    read_test_banks,
    write_answers,
    write_assignments,
    write_graded_paragraphs,
    write_nugget_banks,
    write_qrels,
    write_run,
    write_test_banks,
)

QUERY = {"qid": "1", "text": "Q?"}
DOC = {"url": "u", "segment": "S", "title": "T"}
SCORE_NAMES = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")
NUGGETS = [
    {"text": "n1", "importance": "vital", "assignment": "support"},
    {"text": "n2", "importance": "failed", "assignment": "failed"},
    {"text": "n3", "importance": "strong prose", "assignment": "supporter"},
]
CREATED = {
    "query": "Q?",
    "qid": "1",
    "nuggets": [
        {"text": "n1", "importance": "vital"},
        {"text": "n2"},
        {"text": "n3", "importance": "failed"},
    ],
}
ASSIGNED = {
    "query": "Q?",
    "qid": "1",
    "answer_text": "A.",
    "response_length": 9,
    "run_id": "r",
    "nuggets": NUGGETS,
}
RETRIEVED = {"text": "Q?", "qid": "1", "candidate_text": "A.", "docid": "d", "nuggets": NUGGETS}
CREATE = {
    "query": QUERY,
    "candidates": [
        {"docid": "d", "score": 1.5, "judgment": 1, "doc": DOC},
        {"docid": "d", "score": 0.5, "doc": {"segment": "S2"}},
    ],
}
RAG_2024 = {
    "run_id": "r",
    "topic_id": "2024-1",
    "topic": "Q?",
    "references": ["d1", "d2", "d3"],
    "response_length": 7,
    "answer": [{"text": "One two.", "citations": [1, 0]}, {"text": "Three.", "citations": []}],
}
RAG_2025 = {
    "metadata": {
        "team_id": "t",
        "run_id": "r",
        "narrative_id": "14",
        "narrative": "Q?",
        "type": "automatic",
        "prompt": "P",
    },
    "references": ["d1", "d2"],
    "answer": [{"text": "S1.", "citations": [1, "d9"]}],
}
BIOGEN_2024 = {
    "team_id": "t",
    "run_name": "r",
    "contact_email": "a@b.c",
    "results": [
        {
            "topic_id": "116",
            "answer": "S1 [111,222, 333,444].",
            "references": ["9", "111", "222", "333", "444"],
        },
    ],
}
BIOGEN_A = {
    "metadata": {
        "team_id": "t",
        "run_id": "r",
        "qa_id": "116",
        "question": "Q?",
        "existing_supported_citations": [1, 2],
    },
    "answer": [
        {"text": "S1.", "supported_citations": ["1"], "contradicted_citations": ["2"]},
    ],
}
BIOGEN_B = {
    "metadata": {
        "team_id": "t",
        "run_id": "r",
        "topic_id": "116",
        "question": "Q?",
        "answer": "S1.",
    },
    "responses": [{"text": "S1.", "citations": ["1", "2"]}],
}
BANK = {
    "query_id": "q",
    "facet_id": "f",
    "facet_text": "F",
    "test_collection": "c",
    "query_text": "Q?",
    "info": {"gpt_model": "m"},
    "hash": 1,
    "items": [
        {
            "query_id": "q",
            "facet_id": "f",
            "info": None,
            "question_id": "q/1",
            "question_text": "?",
            "gold_answers": ["a", "b"],
        },
    ],
}
GRADED = [
    "q",
    [
        {
            "paragraph_id": "p",
            "text": "T",
            "paragraph": {"markup": None},
            "paragraph_data": {
                "judgments": [
                    {"paragraphId": "p", "query": "q", "relevance": 1, "titleQuery": "q"}
                ],
                "rankings": [
                    {"method": "m", "paragraphId": "p", "queryId": "q", "rank": 1, "score": 2.5}
                ],
            },
            "exam_grades": [
                {
                    "correctAnswered": ["q/1"],
                    "wrongAnswered": [],
                    "self_ratings": [{"question_id": "q/1", "self_rating": 4}],
                    "answers": [["q/1", "A"]],
                    "llm": "m",
                    "llm_options": {"seed": None},
                    "prompt_info": {"prompt_class": "x"},
                    "exam_ratio": 1.0,
                    "llm_response_errors": None,
                    "prompt_type": "question",
                }
            ],
            "grades": [
                {
                    "correctAnswered": True,
                    "self_ratings": 3,
                    "answer": "yes",
                    "llm": "m",
                    "llm_options": {},
                    "prompt_info": None,
                }
            ],
        }
    ],
]


def answers(form: str) -> Callable[[Path, Path], object]:
    def through(given: Path, again: Path) -> None:
        topics = given.with_name("topics.json")
        topics.write_text('{"116": "Q?"}')
        found = read_records(given, questions=topics if form == "biogen-2024" else None)
        assert found.rejections == ()
        write_answers(found.records, again, form)

    return through


Through = Callable[[Path, Path], object]
FORMS: dict[str, tuple[object, Through]] = {
    "create": (CREATE, answers("nuggetizer-create")),
    "created": (CREATED, lambda a, b: write_nugget_banks(read_nugget_banks(a)[0], b)),
    "assigned": (ASSIGNED, lambda a, b: write_assignments(read_assignments(a)[0], b)),
    "retrieved": (RETRIEVED, lambda a, b: write_assignments(read_assignments(a)[0], b)),
    "rag-2024": (RAG_2024, answers("trec-rag-2024")),
    "rag-2025": (RAG_2025, answers("trec-rag-2025")),
    "biogen-2024": (BIOGEN_2024, answers("biogen-2024")),
    "biogen-2025-a": (BIOGEN_A, answers("biogen-2025-a")),
    "biogen-2025-b": (BIOGEN_B, answers("biogen-2025-b")),
    "bank": (BANK, lambda a, b: write_test_banks(read_test_banks(a).banks, b)),
    "graded": (GRADED, lambda a, b: write_graded_paragraphs(read_graded_paragraphs(a).queries, b)),
}
FREE = {"info", "llm_options", "prompt_info", "paragraph"}
"""Objects of any content: what is added there is no unknown field of the format."""


def objects(value: Any, name: str = "") -> Iterator[dict[str, object]]:
    """Yield the objects of a sample, the outermost first."""
    if isinstance(value, dict):
        yield value
        for key, part in value.items():
            if key not in FREE:
                yield from objects(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from objects(part, name)


WORDS = st.text(st.characters(categories=["L"]), min_size=1, max_size=6)
NAMES = WORDS.map("x_{}".format)
PLAIN = st.one_of(WORDS.map("text {}".format), st.integers(), st.booleans(), st.floats(-9, 9))
VALUES = st.one_of(PLAIN, st.lists(PLAIN, max_size=2), st.dictionaries(WORDS, PLAIN, max_size=2))


@pytest.mark.parametrize("form", sorted(FORMS))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_field_comes_back(tmp_path: Path, form: str, data: st.DataObject):
    sample, through = FORMS[form]
    row = copy.deepcopy(sample)
    for place in objects(row):
        place.update(data.draw(st.dictionaries(NAMES, VALUES, max_size=2)))
    given_file, again = tmp_path / "given", tmp_path / "again"
    given_file.write_text(json.dumps(row))
    through(given_file, again)
    assert json.loads(again.read_text()) == row


def test_every_column_of_rankings_and_judgments_comes_back(tmp_path: Path):
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("q Q0 d1 1 2.5 tag\nq Q0 d2 2 1.25 tag\np Q0 d1 1 0.5 tag\n")
    qrels.write_text("q 0 d1 3\nq 0 d2 0\np 0 d1 -1\n")
    write_run(read_run(run)[0], tmp_path / "run.again")
    write_qrels(read_qrels(qrels)[0], tmp_path / "qrels.again")
    assert (tmp_path / "run.again").read_text() == run.read_text()
    assert (tmp_path / "qrels.again").read_text() == qrels.read_text()
