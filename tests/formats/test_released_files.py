"""Every released file is read whole, or what is rejected names its line and reason, alone."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case
from format_samples import Read, both

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

read_graded = functools.cache(read_graded_paragraphs)
"""Some take seconds to read, and two tests read them."""


@pytest.fixture(scope="module", autouse=True)
def _forget() -> Iterator[None]:
    """Leave no large objects for collections of garbage in other tests."""
    yield
    read_graded.cache_clear()


def rows(path: Path) -> list[Any]:
    """Return the lines of a file, parsed where they are JSON."""
    data = path.read_bytes()
    lines = (gzip.decompress(data) if path.name.endswith(".gz") else data).splitlines()
    return [json.loads(line) for line in lines] if ".jsonl" in path.name else lines


def parts(read: Read, name: str) -> Read:
    """A reader of the parts of the values, which are in the attribute of this name."""

    def read_parts(path: Path) -> Any:
        values, rejections = read(path)
        return [part for value in values for part in getattr(value, name)], rejections

    return read_parts


def qrels(path: Path) -> Any:
    found, rejections = read_qrels(path)
    return [grade for grades in found.values() for grade in grades.values()], rejections


records, labels = both(read_records, "records"), both(read_labels, "labels")
corpus, queries = both(read_corpus, "documents"), both(read_exam_queries, "queries")
paper_pairs, nuggets = both(read_paper_pairs, "pairs"), parts(read_nugget_banks, "nuggets")
banks = parts(both(read_test_banks, "banks"), "items")
graded = parts(both(read_graded, "queries"), "paragraphs")
FILES: dict[str, tuple[tuple[Read, int, int], ...]] = {
    "bioasq/questions.jsonl.gz": ((records, 1867, 0),),
    "bioasq/snippet_documents.jsonl.gz": ((corpus, 13449, 0),),
    "medaesqa/accurate_machine_answers.jsonl.gz": ((records, 261, 0),),
    "medaesqa/contradicting_evidence.jsonl.gz": ((records, 69, 0),),
    "medaesqa/expert_answers.jsonl.gz": ((records, 10, 0),),
    "medaesqa/inaccurate_machine_answers.jsonl.gz": ((records, 39, 0),),
    "medaesqa/neutral_evidence.jsonl.gz": ((records, 214, 0),),
    "nuggetizer/assignments-gpt4o.jsonl.gz": (
        (read_assignments, 301, 13),
        (records, 301, 14),
        (labels, 6118, 8),
        (nuggets, 6143, 7),
    ),
    "nuggetizer/nuggets-mistral.jsonl.gz": ((nuggets, 6145, 7),),
    "nuggetizer/trec-rag-2025-queries.jsonl": ((read_topics, 105, 0),),
    "trec-biogen/topics2024.json": ((read_topics, 65, 0),),
    "workbench/dl20-fagb.qrel.gz": ((qrels, 16101, 0),),
    "workbench/dl20-nuggets.jsonl.gz": ((banks, 540, 0),),
    "workbench/dl20-queries.json": ((queries, 54, 0),),
    "workbench/dl20-questions.jsonl.gz": ((banks, 540, 0),),
    "workbench/dl20-self-rated.qrel.gz": ((qrels, 16101, 0),),
    "workbench/graded-llmjudge-test.jsonl.gz": ((graded, 4423, 0),),
    "yescieval/bioasq-train-answers.jsonl.gz": (
        (records, 3876, 0),
        (labels, 19910, 0),
    ),
    "yescieval/orkg-synthesis-train-answers.jsonl.gz": (
        (records, 10108, 0),
        (labels, 57456, 0),
    ),
    "usr/topical_chat.json": (
        (records, 360, 0),
        (labels, 3600, 0),
    ),
    "sciqag/papers.jsonl.gz": ((paper_pairs, 350, 0),),
    "evidence-inference/train.jsonl.gz": ((read_claims, 6572, 0),),
    "evidence-inference/dev.jsonl.gz": ((read_claims, 796, 0),),
    "scifact/claims_train.jsonl": ((read_claims, 919, 0),),
    "scifact/pairs_train.jsonl": ((read_claims, 918, 1),),
    "scifact/corpus.jsonl.gz": ((corpus, 5183, 0),),
    "scifact/qrels_train.tsv": ((qrels, 919, 0),),
    "citation-integrity/claims_train.jsonl": ((read_claims, 2138, 0),),
    "citation-integrity/claims_dev.jsonl": ((read_claims, 316, 0),),
    "citation-integrity/corpus.jsonl.gz": ((corpus, 3063, 0),),
    "healthver/dev.jsonl": ((read_claims, 1917, 0),),
    "pubmedqa/train.jsonl.gz": ((records, 500, 0),),
    "expertqa/dev.jsonl.gz": ((records, 260, 0),),
    "corpus/abstracts.jsonl.gz": ((corpus, 31931, 1),),
}
"""How much of each file each reader reads, and rejects."""

WITH_OTHERS = {
    "yescieval/bioasq-train-questions.jsonl.gz",
    "yescieval/orkg-synthesis-train-questions.jsonl.gz",
}
"""Files that are read with their answers."""

REFERENCE = {"nuggetizer/scores-gpt4o.jsonl"}
"""Figures of other tools, which tests compare with ours; no command reads them."""


@each_case("name", FILES)
def test_a_released_file_is_read_whole_or_rejected_by_line_and_reason(shared_data: Path, name: str):
    for read, n_read, n_rejected in FILES[name]:
        found, rejections = read(shared_data / name)
        assert (len(found), len(rejections)) == (n_read, n_rejected)
        assert all(one.line and one.field and one.problem and one.expected for one in rejections)


def test_no_released_file_is_left_out(shared_data: Path):
    folders = {name.partition("/")[0] for name in FILES}
    files = (path for folder in folders for path in (shared_data / folder).iterdir())
    there = {f"{path.parent.name}/{path.name}" for path in files}
    assert there == FILES.keys() | WITH_OTHERS | REFERENCE


def test_answers_of_yescieval_have_their_sources_and_ratings(shared_data: Path):
    path = shared_data / "yescieval" / "bioasq-train-answers.jsonl.gz"
    answers, ratings = read_records(path).records, read_labels(path).labels
    assert answers[0].id == "bioasq-train-0/meta-llama-3.1-8b-instruct/benign"
    assert [source.id for source in answers[0].sources[:3]] == ["1", "2", "3"]
    assert all(record.sources and record.metadata["variant"] for record in answers)
    assert {one.record_id for one in ratings} <= {record.id for record in answers}
    assert (len({one.annotator for one in ratings}), len({one.item for one in ratings})) == (4, 9)
    assert {one.label for one in ratings} == set("12345")


def test_the_reduced_form_of_expertqa_has_its_sources_and_claims(shared_data: Path):
    found = read_records(shared_data / "expertqa/dev.jsonl.gz").records
    assert sum(len(one.sources) for one in found) == 818
    assert sum(len(json.loads(one.metadata["claims"])) for one in found) == 1496
    assert all(one.system and one.metadata["field"] for one in found)


def test_each_abstract_of_the_corpus_has_a_text(shared_data: Path):
    found = read_corpus(shared_data / "corpus" / "abstracts.jsonl.gz")
    assert all(document.text for document in found.documents)
    # One PMID stands there twice.
    assert [one.field for one in found.rejections] == ["pmid"]


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
