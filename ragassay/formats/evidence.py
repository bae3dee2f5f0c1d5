"""Read what people marked as evidence of a sentence in the documents that it cites (MedAESQA)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ragassay.formats.items import Item, iter_items
from ragassay.formats.medaesqa import AssessedQuestionRow, MachineAnswerRow
from ragassay.formats.problems import Problem, validate
from ragassay.formats.shapes import is_object

EvidenceKey = tuple[str, int, str]
"""A record's id, a sentence (1-based), and the id of the document that it cites."""


def read_evidence(path: Path) -> Mapping[EvidenceKey, tuple[str, ...]]:
    """Return the marked evidence of each citation that has some.

    Sentences and records are counted as `read_records` does. `evidence_support` is a text or a list
    of texts; other values, and other files, have none.
    """
    found: dict[EvidenceKey, tuple[str, ...]] = {}
    for item in iter_items(path):
        if isinstance(item, Item) and "machine_generated_answers" in item.fields:
            found.update(_of_question(item))
    return found


def _of_question(item: Item) -> Iterator[tuple[EvidenceKey, tuple[str, ...]]]:
    about = validate(AssessedQuestionRow, item.fields)
    if isinstance(about, Problem):
        return
    for system, fields in about.machine_generated_answers.items():
        row = validate(MachineAnswerRow, fields) if is_object(fields) else None
        if row is None or isinstance(row, Problem):
            continue
        written = [one for one in row.answer_sentences if one.answer_sentence.strip()]
        for number, sentence in enumerate(written, 1):
            for cited in sentence.citation_assessment:
                texts = _texts(cited.evidence_support)
                if cited.cited_pmid and texts:
                    yield (f"{about.question_id}/{system}", number, cited.cited_pmid), texts


def _texts(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, list) else [value]
    return tuple(one.strip() for one in given if isinstance(one, str) and one.strip())
