"""Every reader of lines has the same guard: a bad line is rejected alone, damage ends a file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from case_tables import each_case

from ragassay.formats import (
    read_assignments,
    read_corpus,
    read_graded_paragraphs,
    read_labels,
    read_nugget_banks,
    read_qrels,
    read_records,
    read_test_banks,
)
from ragassay.records import Rejection

Read = tuple[Sequence[object], Sequence[Rejection]]
NUGGET = {"text": "n", "importance": "vital", "assignment": "support"}
ASSIGNED = {"query": "Q?", "qid": "1", "answer_text": "A.", "run_id": "r", "nuggets": [NUGGET]}
RUN = {"team_id": "t", "run_id": "r"}
MACHINE = {"answer": "A.", "answer_sentences": [{"answer_sentence": "S."}]}


def answers(path: Path, questions: Path | None = None) -> Read:
    found = read_records(path, questions=questions)
    return found.records, found.rejections


def answers_on_topics(path: Path) -> Read:
    topics = path.with_name("topics.json")
    topics.write_text('{"116": "Q?"}')
    return answers(path, topics)


def both(read: Callable[[Path], Any], name: str) -> Callable[[Path], Read]:
    """A reader whose values are in the attribute of this name."""

    def read_both(path: Path) -> Read:
        found = read(path)
        return getattr(found, name), found.rejections

    return read_both


READERS: dict[str, tuple[Callable[[Path], Read], dict[str, Any]]] = {
    "ragassay": (answers, {"id": "1", "question": "Q?", "answer": "A."}),
    "deepeval": (answers, {"input": "Q?", "actual_output": "A.", "retrieval_context": ["C"]}),
    "ragchecker": (answers, {"query_id": "1", "query": "Q?", "response": "A."}),
    "create": (answers, {"query": {"qid": "1", "text": "Q?"}, "candidates": ["S"]}),
    "assigned answers": (answers, ASSIGNED),
    "bioasq": (answers, {"id": "1", "type": "yesno", "body": "Q?", "ideal_answer": "I."}),
    "medaesqa": (
        answers,
        {"question_id": "1", "question": "Q?", "machine_generated_answers": {"M1": MACHINE}},
    ),
    "trec-rag-2024": (
        answers,
        {"run_id": "r", "topic_id": "1", "topic": "Q?", "answer": [{"text": "S."}]},
    ),
    "trec-rag-2025": (
        answers,
        {
            "metadata": RUN | {"narrative_id": "1", "narrative": "Q?"},
            "answer": [{"text": "S."}],
        },
    ),
    "biogen-2024": (
        answers_on_topics,
        {"team_id": "t", "run_name": "r", "results": [{"topic_id": "116", "answer": "A."}]},
    ),
    "biogen-2025-a": (
        answers,
        {
            "metadata": RUN | {"qa_id": "1", "question": "Q?"},
            "answer": [{"text": "S.", "supported_citations": ["1"]}],
        },
    ),
    "labels": (
        both(read_labels, "labels"),
        {"task": "nugget", "label": "support", "record_id": "1", "item": "n"},
    ),
    "nuggets": (read_nugget_banks, {"query": "Q?", "qid": "1", "nuggets": [NUGGET]}),
    "assignments": (read_assignments, ASSIGNED),
    "banks": (both(read_test_banks, "banks"), {"query_id": "1", "items": [{"nugget_text": "n"}]}),
    "corpus": (both(read_corpus, "documents"), {"id": "1", "text": "T"}),
}
BAD = {
    "NaN": b'{"x": NaN, ',
    "an infinite number": b'{"x": 1e999, ',
    "lone surrogate": b'{"x": "\\ud800", ',
    "NUL character": b'{"x": "\\u0000", ',
    "a NUL byte": b'{"x": "\x00", ',
    "too many digits": b'{"x": ' + b"9" * 9000 + b", ",
    "too deeply": b'{"x": ' + b"[" * 400 + b"]" * 400 + b", ",
    "not UTF-8": b'{"x": "\xff", ',
    "not JSON": b'{"x": [, ',
}


@each_case("name", READERS)
@each_case("problem", BAD)
def test_a_hostile_line_is_rejected_alone(tmp_path: Path, name: str, problem: str):
    read, row = READERS[name]
    path, good = tmp_path / "lines", json.dumps(row).encode()
    path.write_bytes(good + b"\n")
    alone, _ = read(path)
    path.write_bytes(BAD[problem] + good[1:] + b"\n" + good + b"\n")
    found, rejections = read(path)
    assert len(found) == len(alone) > 0
    # The results of a damaged header are read, and those of the second line repeat them.
    assert {one.line for one in rejections} <= ({1, 2} if "results" in row else {1})
    assert problem in rejections[0].problem and rejections[0].expected
    assert all(one.model_dump_json().encode("utf-8") for one in rejections)


def packed(path: Path, lines: Sequence[str]) -> Path:
    whole = gzip.compress("\n".join(lines).encode(), mtime=0)
    path.write_bytes(whole[: len(whole) // 2])
    return path


@each_case("name", READERS)
def test_a_packed_file_that_is_cut_off_gives_what_stands_before(tmp_path: Path, name: str):
    read, row = READERS[name]
    ids = ("id", "qid", "query_id", "question_id", "topic_id", "record_id")
    key = next((one for one in ids if one in row), "n")
    lines = [json.dumps(row | {key: str(n * n)}) for n in range(1000)]
    found, rejections = read(packed(tmp_path / "cut", lines))
    assert 0 < len(found) < 1000
    assert rejections[-1].line > 1 and "is truncated" in rejections[-1].problem


def test_other_packed_files_that_are_cut_off_do_so_too(tmp_path: Path):
    qrels, rejections = read_qrels(
        packed(tmp_path / "qrels", [f"q{n} 0 d{n * n} 1" for n in range(9000)])
    )
    assert 0 < len(qrels) < 9000
    assert "is truncated" in rejections[-1].problem
    rows = [json.dumps([str(n), [{"paragraph_id": "p", "text": str(n * n)}]]) for n in range(4000)]
    graded = read_graded_paragraphs(packed(tmp_path / "graded", rows))
    assert 0 < len(graded.queries) < 4000
    assert "is truncated" in graded.rejections[-1].problem
