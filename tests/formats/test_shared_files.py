"""Every file of the shared data of a kind that is read, is read whole, or rejected by line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from case_tables import each_case

from ragassay.formats import read_corpus, read_labels, read_qrels, read_records
from ragassay.optimizers.finetuning.claims import read_claims
from ragassay.qa.evaluate import read_paper_pairs

FOLDERS = (
    *("yescieval", "usr", "sciqag", "evidence-inference", "scifact", "citation-integrity"),
    *("healthver", "pubmedqa", "corpus"),
)


def records(path: Path) -> tuple[int, Any]:
    found = read_records(path)
    return len(found.records), found.rejections


def labels(path: Path) -> tuple[int, Any]:
    found = read_labels(path)
    return len(found.labels), found.rejections


def corpus(path: Path) -> tuple[int, Any]:
    found = read_corpus(path)
    return len(found.documents), found.rejections


def claims(path: Path) -> tuple[int, Any]:
    found, rejections = read_claims(path)
    return len(found), rejections


def pairs(path: Path) -> tuple[int, Any]:
    found = read_paper_pairs(path)
    return len(found.pairs), found.rejections


def qrels(path: Path) -> tuple[int, Any]:
    found, rejections = read_qrels(path)
    return sum(map(len, found.values())), rejections


READ: dict[str, tuple[tuple[Callable[[Path], tuple[int, Any]], int, int], ...]] = {
    "yescieval/bioasq-train-answers.jsonl.gz": ((records, 3876, 0), (labels, 19910, 0)),
    "yescieval/orkg-synthesis-train-answers.jsonl.gz": ((records, 10108, 0), (labels, 57456, 0)),
    "usr/topical_chat.json": ((records, 360, 0), (labels, 3600, 0)),
    "sciqag/papers.jsonl.gz": ((pairs, 350, 0),),
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
    "corpus/abstracts.jsonl.gz": ((corpus, 31931, 1),),
}
"""How much of each file each reader reads, and rejects."""

WITH_OTHERS = {
    "yescieval/bioasq-train-questions.jsonl.gz",
    "yescieval/orkg-synthesis-train-questions.jsonl.gz",
}
"""Files that are read with their answers."""


def test_every_file_has_its_reader(shared: Path) -> None:
    there = {
        f"{folder}/{path.name}"
        for folder in FOLDERS
        for path in (shared / "data" / folder).iterdir()
    }
    assert there == READ.keys() | WITH_OTHERS


@each_case("name", READ)
def test_a_file_is_read_whole_or_rejected_by_line_and_reason(shared: Path, name: str) -> None:
    for read, n_read, n_rejected in READ[name]:
        found, rejections = read(shared / "data" / name)
        assert (found, len(rejections)) == (n_read, n_rejected)
        assert all(one.line and one.problem and one.expected for one in rejections)
