"""Every released file is read whole, or what is rejected names its line and reason, alone."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
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
    write_assignments,
    write_graded_paragraphs,
    write_nugget_banks,
    write_qrels,
    write_test_banks,
)
from ragassay.formats.exam_queries import read_exam_queries
from ragassay.formats.topics import read_topics
from ragassay.optimizers.finetuning.claims import read_claims
from ragassay.qa.evaluate import read_paper_pairs
from ragassay.records import Rejection

Read = tuple[int, Sequence[Rejection]]

read_graded = functools.cache(read_graded_paragraphs)
"""Some take seconds to read, and two tests read them."""


@pytest.fixture(scope="module", autouse=True)
def _forget() -> Iterator[None]:
    """Leave no large objects for collections of garbage in other tests."""
    yield
    read_graded.cache_clear()


def records(path: Path) -> Read:
    found = read_records(path)
    return len(found.records), found.rejections


def labels(path: Path) -> Read:
    found = read_labels(path)
    return len(found.labels), found.rejections


def banks(path: Path) -> Read:
    found = read_test_banks(path)
    return sum(len(bank.items) for bank in found.banks), found.rejections


def nuggets(path: Path) -> Read:
    found, rejections = read_nugget_banks(path)
    return sum(len(bank.nuggets) for bank in found), rejections


def pairs(read: Callable[[Path], tuple[object, Sequence[Rejection]]]) -> Callable[[Path], Read]:
    def count(path: Path) -> Read:
        found, rejections = read(path)
        return len(found), rejections  # type: ignore[arg-type]

    return count


def qrels(path: Path) -> Read:
    found, rejections = read_qrels(path)
    return sum(map(len, found.values())), rejections


def corpus(path: Path) -> Read:
    found = read_corpus(path)
    return len(found.documents), found.rejections


def graded(path: Path) -> Read:
    found = read_graded(path)
    return sum(len(query.paragraphs) for query in found.queries), found.rejections


def queries(path: Path) -> Read:
    found = read_exam_queries(path)
    return len(found.queries), found.rejections


def claims(path: Path) -> Read:
    found, rejections = read_claims(path)
    return len(found), rejections


def paper_pairs(path: Path) -> Read:
    found = read_paper_pairs(path)
    return len(found.pairs), found.rejections


def rows(path: Path) -> list[Any]:
    """Return the lines of a file, parsed where they are JSON; of one document its parts."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.name.endswith(".gz") else data
    if path.name.endswith(".json"):
        document = json.loads(text)
        return document["topics"] if "topics" in document else list(document.items())
    lines = text.splitlines()
    return [json.loads(line) for line in lines] if ".jsonl" in path.name else lines


def parts(key: str | int) -> Callable[[Path], int]:
    return lambda path: sum(len(row[key]) for row in rows(path))


def each(path: Path) -> int:
    return len(rows(path))


assignments, topics = pairs(read_assignments), pairs(read_topics)
FILES: dict[str, tuple[Callable[[Path], Read], Callable[[Path], int], int]] = {
    "bioasq/questions.jsonl.gz": (records, each, 0),
    "bioasq/snippet_documents.jsonl.gz": (corpus, each, 0),
    "medaesqa/accurate_machine_answers.jsonl.gz": (records, each, 0),
    "medaesqa/contradicting_evidence.jsonl.gz": (records, each, 0),
    "medaesqa/expert_answers.jsonl.gz": (records, each, 0),
    "medaesqa/inaccurate_machine_answers.jsonl.gz": (records, each, 0),
    "medaesqa/neutral_evidence.jsonl.gz": (records, each, 0),
    "nuggetizer/assignments-gpt4o.jsonl.gz": (assignments, each, 13),
    "nuggetizer/nuggets-mistral.jsonl.gz": (nuggets, parts("nuggets"), 7),
    "nuggetizer/trec-rag-2025-queries.jsonl": (topics, each, 0),
    "trec-biogen/topics2024.json": (topics, each, 0),
    "workbench/dl20-fagb.qrel.gz": (qrels, each, 0),
    "workbench/dl20-nuggets.jsonl.gz": (banks, parts("items"), 0),
    "workbench/dl20-queries.json": (queries, each, 0),
    "workbench/dl20-questions.jsonl.gz": (banks, parts("items"), 0),
    "workbench/dl20-self-rated.qrel.gz": (qrels, each, 0),
    "workbench/graded-llmjudge-test.jsonl.gz": (graded, parts(1), 0),
}
"""What reads a file, what it is made of, and on how many lines a label cannot be used."""

COUNTED: dict[str, tuple[tuple[Callable[[Path], Read], int, int], ...]] = {
    "yescieval/orkg-synthesis-train-answers.jsonl.gz": ((records, 10108, 0), (labels, 57456, 0)),
    "usr/topical_chat.json": ((records, 360, 0), (labels, 3600, 0)),
    "sciqag/papers.jsonl.gz": ((paper_pairs, 350, 0),),
    "evidence-inference/train.jsonl.gz": ((claims, 6572, 0),),
    "evidence-inference/dev.jsonl.gz": ((claims, 796, 0),),
    "scifact/claims_train.jsonl": ((claims, 919, 0),),
    "scifact/pairs_train.jsonl": ((claims, 918, 1),),
    "scifact/corpus.jsonl.gz": ((corpus, 5183, 0),),
    "scifact/qrels_train.tsv": ((qrels, 919, 0),),
    "citation-integrity/claims_train.jsonl": ((claims, 2138, 0),),
    "citation-integrity/claims_dev.jsonl": ((claims, 316, 0),),
    "citation-integrity/corpus.jsonl.gz": ((corpus, 3063, 0),),
    "healthver/dev.jsonl": ((claims, 1917, 0),),
    "pubmedqa/train.jsonl.gz": ((records, 500, 0),),
}
"""How much of each file each reader reads, and rejects."""

WITH_OTHERS = {
    "yescieval/bioasq-train-questions.jsonl.gz",
    "yescieval/orkg-synthesis-train-questions.jsonl.gz",
}
"""Files that are read with their answers."""

BY_OTHERS = {"yescieval/bioasq-train-answers.jsonl.gz", "corpus/abstracts.jsonl.gz"}
"""Files that test_labels.py and test_other_formats.py read whole."""

REFERENCE = {"nuggetizer/scores-gpt4o.jsonl"}
"""Figures of other tools, which tests compare with ours; no command reads them."""

FOLDERS = (
    *("bioasq", "medaesqa", "nuggetizer", "trec-biogen", "workbench", "yescieval", "usr"),
    *("sciqag", "evidence-inference", "scifact", "citation-integrity", "healthver", "pubmedqa"),
    "corpus",
)


@each_case("name", sorted(FILES))
def test_a_released_file_is_read_whole(shared_data: Path, name: str):
    read, count, n_rejected = FILES[name]
    n_read, rejections = read(shared_data / name)
    assert n_read == count(shared_data / name)
    assert len(rejections) == n_rejected
    assert all(one.line and one.field and one.problem and one.expected for one in rejections)


@each_case("name", COUNTED)
def test_a_counted_file_is_read_whole_or_rejected_by_line_and_reason(shared_data: Path, name: str):
    for read, n_read, n_rejected in COUNTED[name]:
        found, rejections = read(shared_data / name)
        assert (found, len(rejections)) == (n_read, n_rejected)
        assert all(one.line and one.problem and one.expected for one in rejections)


def test_no_released_file_is_left_out(shared_data: Path):
    files = (path for folder in FOLDERS for path in (shared_data / folder).iterdir())
    there = {f"{path.parent.name}/{path.name}" for path in files}
    assert there == FILES.keys() | COUNTED.keys() | WITH_OTHERS | BY_OTHERS | REFERENCE


@pytest.mark.parametrize("read", [records, labels, nuggets])
def test_assignments_are_read_whole_by_every_reader(shared_data: Path, read):
    path = shared_data / "nuggetizer" / "assignments-gpt4o.jsonl.gz"
    n_read, rejections = read(path)
    given = [nugget for row in rows(path) for nugget in row["nuggets"]]
    known = ("support", "partial_support", "not_support")
    expected = {
        records: (301, 14),
        labels: (sum(nugget["assignment"] in known for nugget in given), 8),
        nuggets: (len(given), 7),
    }
    assert (n_read, len(rejections)) == expected[read]


def test_the_released_assignments_give_the_nuggetizers_own_scores(shared_data: Path):
    """Labels that failed count as unsupported there, and importances that failed as not vital."""
    answers, _ = read_assignments(shared_data / "nuggetizer" / "assignments-gpt4o.jsonl.gz")
    known = rows(shared_data / "nuggetizer" / "scores-gpt4o.jsonl")
    theirs = {one["qid"]: one for one in known}
    for answer in answers:
        vital = [one.assignment == "support" for one in answer.nuggets if one.importance == "vital"]
        score = sum(vital) / len(vital) if vital else 0.0
        assert score == pytest.approx(theirs[answer.topic]["strict_vital_score"])


def _banks(given: Path, again: Path) -> None:
    write_test_banks(read_test_banks(given).banks, again)


REWRITTEN: dict[str, Callable[[Path, Path], None]] = {
    "nuggetizer/assignments-gpt4o.jsonl.gz": lambda given, again: write_assignments(
        read_assignments(given)[0], again
    ),
    "nuggetizer/nuggets-mistral.jsonl.gz": lambda given, again: write_nugget_banks(
        read_nugget_banks(given)[0], again
    ),
    "workbench/dl20-nuggets.jsonl.gz": _banks,
    "workbench/dl20-questions.jsonl.gz": _banks,
    "workbench/graded-llmjudge-test.jsonl.gz": lambda given, again: write_graded_paragraphs(
        read_graded(given).queries, again
    ),
    "workbench/dl20-fagb.qrel.gz": lambda given, again: write_qrels(read_qrels(given)[0], again),
}


@pytest.mark.parametrize("name", sorted(REWRITTEN))
def test_a_released_file_comes_back_as_it_was(shared_data: Path, tmp_path: Path, name: str):
    again = tmp_path / Path(name).name
    REWRITTEN[name](shared_data / name, again)
    assert rows(again) == rows(shared_data / name)
