"""People's labels of answers as if they were a run: the tables of the papers, without a judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ragassay.formats import read_labels, read_records
from ragassay.formats.answered import nothing_in
from ragassay.metrics.alignment import Alignment, align_labels
from ragassay.metrics.nuggetizer import assignment_scores, nuggetizer_scores
from ragassay.metrics.rankings import by_people
from ragassay.records import (
    Assignment,
    CitationVerdict,
    Document,
    Evaluation,
    Importance,
    NuggetAssignment,
    Record,
    Rejection,
    SentenceLabel,
    VerdictBase,
)
from ragassay.text.segmenter import segment

PEOPLE = "people"


def labelled_evaluations(path: Path) -> tuple[tuple[Evaluation, ...], tuple[Rejection, ...]]:
    """Read a file that holds both answers and people's labels of them.

    Args:
        path: MedAESQA's, or assignments in the nuggetizer's form.

    Returns:
        One for each answer of a system that has a label, with the scores that follow from labels;
        and what could not be read of answers or labels.

    Raises:
        InputError: The file is of no such format, or no answer in it has a label.
    """
    given, labelled = read_records(path), read_labels(path)
    answers = [_unlabelled(record) for record in given.records]
    alignment = align_labels(labelled.labels, answers)
    found = by_people(alignment, answers)
    # What is no answer is no label either.
    rejections = tuple(dict.fromkeys([*given.rejections, *labelled.rejections]))
    if not found:
        raise nothing_in(path, "answer of a named system with a label of people", rejections)
    return tuple(_assigned(evaluation, alignment) for evaluation in found), rejections


def _document(identifier: str) -> Document:
    """Take a cited document for one that exists: people's labels say where it does not."""
    return Document(id=identifier, text="")


def _unlabelled(record: Record) -> Evaluation:
    """Return an answer with an empty verdict for all that can be labelled."""
    text, sentences, _ = segment(record, _document)
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
        gold_nuggets=record.nuggets,
        verdicts=(
            *verdicts,
            *(NuggetAssignment(gold=i) for i in range(len(record.nuggets))),
        ),
    )


def _assigned(evaluation: Evaluation, alignment: Alignment) -> Evaluation:
    """Add people's assignments and the nuggetizer's scores, where nuggets were assigned."""
    labels = {
        item.item: item.truth
        for item in alignment.of("nugget")
        if item.record_id == evaluation.record_id
    }
    if not labels:
        return evaluation
    assigned = [
        NuggetAssignment.model_validate({"gold": i, "assignment": labels.get(nugget.text)})
        for i, nugget in enumerate(evaluation.gold_nuggets)
    ]
    given: list[Assignment | None] = [one.assignment for one in assigned]
    importance: list[Importance | None] = [nugget.importance for nugget in evaluation.gold_nuggets]
    scores = assignment_scores(given, importance, PEOPLE) | nuggetizer_scores(given, importance)
    others = [one for one in evaluation.verdicts if not isinstance(one, NuggetAssignment)]
    update = {"scores": evaluation.scores | scores, "verdicts": (*others, *assigned)}
    return evaluation.model_copy(update=update)
