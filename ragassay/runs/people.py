"""Convert human labels to evaluations, to reproduce the tables of papers without a judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ragassay.formats import read_labels, read_records
from ragassay.formats.assignments import AssignedAnswer, read_assignments
from ragassay.formats.nuggetizer import ASSIGNED
from ragassay.formats.problems import build_empty_file_error
from ragassay.metrics.papers.nuggets import compute_nuggetizer_scores, score_assignments
from ragassay.metrics.papers.rankings import apply_human_labels
from ragassay.metrics.stats.alignment import align_labels
from ragassay.records import (
    Assignment,
    CitationVerdict,
    Document,
    Evaluation,
    Importance,
    Nugget,
    NuggetAssignment,
    Record,
    Rejection,
    SentenceLabel,
    VerdictBase,
)
from ragassay.text.segmenter import segment

PEOPLE = "people"


def read_labelled_answers(path: Path) -> tuple[tuple[Evaluation, ...], tuple[Rejection, ...]]:
    """Read a file with answers and human labels.

    Args:
        path: MedAESQA file, or assignments in the nuggetizer's format.

    Returns:
        Evaluations of the labelled answers with scores computed from the labels, and the answers
        and labels that could not be read.

    Raises:
        InputError: The format is not supported, or no answer has a label.
    """
    read = read_records(path)
    if read.format == ASSIGNED.name:
        assigned, rejected = read_assignments(path)
        rejections = tuple(dict.fromkeys((*read.rejections, *rejected)))
        return tuple(map(_build_assigned, assigned)), rejections
    labelled = read_labels(path)
    answers = [_build_unlabelled(record) for record in read.records]
    alignment = align_labels(labelled.labels, answers)
    evaluations = apply_human_labels(alignment, answers)
    # An unreadable answer is rejected as an answer and as a label.
    rejections = tuple(dict.fromkeys([*read.rejections, *labelled.rejections]))
    if not evaluations:
        raise build_empty_file_error(
            path, "answer by a named system with a human label", rejections
        )
    return evaluations, rejections


def _assume_document(identifier: str) -> Document:
    """Assume that a cited document exists, because human labels mark invalid citations."""
    return Document(id=identifier, text="")


def _build_unlabelled(record: Record) -> Evaluation:
    text, sentences, _ = segment(record, _assume_document)
    verdicts: Iterator[VerdictBase] = (
        verdict
        for sentence in sentences
        for verdict in (
            SentenceLabel(sentence=sentence.index),
            *(
                CitationVerdict(sentence=sentence.index, citation=citation)
                for citation in sentence.citations
            ),
        )
    )
    return Evaluation(
        record_id=record.id,
        question=record.question,
        answer=text,
        system=record.system,
        topic=record.topic,
        judge=PEOPLE,
        sentences=tuple(sentences),
        verdicts=tuple(verdicts),
    )


def _build_assigned(answer: AssignedAnswer) -> Evaluation:
    assignments: list[Assignment | None] = [nugget.assignment for nugget in answer.nuggets]
    importance: list[Importance | None] = [nugget.importance for nugget in answer.nuggets]
    return Evaluation(
        record_id=f"{answer.system}/{answer.topic}",
        question=answer.question,
        answer=answer.answer,
        system=answer.system,
        topic=answer.topic,
        judge=PEOPLE,
        gold_nuggets=tuple(Nugget(text=n.text, importance=n.importance) for n in answer.nuggets),
        verdicts=tuple(
            NuggetAssignment(gold=i, assignment=one) for i, one in enumerate(assignments)
        ),
        scores=score_assignments(assignments, importance, PEOPLE)
        | compute_nuggetizer_scores(assignments, importance),
    )
