"""Read and write TREC 2025 BioGen, task A and task B (also BioACE's input): one answer a line.

    A  {"metadata": {"team_id", "run_id", "qa_id", "question"[, "existing_supported_citations"]},
        "answer": [{"text", "supported_citations": [<= 3 PMIDs], "contradicted_citations": [<= 3]}]}
    B  {"metadata": {"team_id", "run_id", "topic_id"[, "question", "answer"]},
        "responses": [{"text", "citations": [at most 3 PMIDs]}]}

Runs in the wild also write `meta_data`, `contradicting_citations`, PMIDs as numbers, and one JSON
array. A contradicting document is not a citation: in a record it is kept in the metadata
`contradicted_citations`, as JSON, a list of PMIDs for each sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import AliasChoices, Field

from ragassay.errors import InputError
from ragassay.formats.items import Item
from ragassay.formats.output import (
    JsonRow,
    restore_metadata,
    sentences_of,
    team_and_run,
    unwritable,
)
from ragassay.formats.problems import Problem, is_list, validate
from ragassay.formats.rows import IdText, Row, kept_fields
from ragassay.formats.sniff import Format
from ragassay.formats.trec.references import question_of
from ragassay.records import Record, SentenceInput

MAX_CITATIONS = 3
CONTRADICTED = "contradicted_citations"


class AnswerMetadataRow(Row):
    """The answer's run and topic."""

    team_id: IdText
    run_id: IdText
    topic_id: IdText
    question: str | None = None
    answer: str | None = None


class AnswerSentenceRow(Row):
    """A sentence of the answer."""

    text: str
    citations: list[IdText] = Field(default_factory=list, max_length=MAX_CITATIONS)


class AnswerRow(Row):
    """An answer of task B."""

    metadata: AnswerMetadataRow = Field(validation_alias=AliasChoices("metadata", "meta_data"))
    responses: list[AnswerSentenceRow]


class GroundedMetadataRow(Row):
    """The run that grounded an answer, and the question."""

    team_id: IdText
    run_id: IdText
    qa_id: IdText
    question: str | None = None


class GroundedSentenceRow(Row):
    """A sentence with the documents that support and contradict it."""

    text: str
    supported_citations: list[IdText] = Field(default_factory=list, max_length=MAX_CITATIONS)
    contradicted_citations: list[IdText] = Field(
        default_factory=list,
        max_length=MAX_CITATIONS,
        validation_alias=AliasChoices(CONTRADICTED, "contradicting_citations"),
    )


class GroundedAnswerRow(Row):
    """An answer of task A."""

    metadata: GroundedMetadataRow = Field(validation_alias=AliasChoices("metadata", "meta_data"))
    answer: list[GroundedSentenceRow]


BIOGEN_A = Format(
    name="biogen-2025-a",
    required=(("metadata.qa_id", "meta_data.qa_id"), ("answer",)),
    fields=frozenset({"metadata", "meta_data", "answer"}),
    leading="answer",
    keys="metadata{team_id, run_id, qa_id, question}, "
    "answer[{text, supported_citations[], contradicted_citations[]}]",
)
BIOGEN_B = Format(
    name="biogen-2025-b",
    required=(("metadata", "meta_data"), ("responses",)),
    fields=frozenset({"metadata", "meta_data", "responses"}),
    leading="responses",
    keys="metadata{team_id, run_id, topic_id[, question]}, responses[{text, citations[]}]",
)


def read_biogen_2025_a(item: Item, questions: Mapping[str, str]) -> Record | Problem:
    """Turn an answer of task A into a record; its id is `team_id/run_id/qa_id`.

    Args:
        item: The answer.
        questions: Questions by id, for files that do not include them.
    """
    row = validate(GroundedAnswerRow, item.fields)
    if isinstance(row, Problem):
        return row
    about = row.metadata
    question = question_of(about.question, about.qa_id, questions)
    if isinstance(question, Problem):
        return Problem("metadata.question", question.text, question.expected)
    against = [part.contradicted_citations for part in row.answer]
    kept = {CONTRADICTED: json.dumps(against, ensure_ascii=False)} if any(against) else {}
    return Record(
        id=f"{about.team_id}/{about.run_id}/{about.qa_id}",
        question=question,
        answer=tuple(
            SentenceInput(text=part.text, citations=tuple(part.supported_citations))
            for part in row.answer
        ),
        system=f"{about.team_id}/{about.run_id}",
        topic=about.qa_id,
        metadata=kept_fields(row) | kept,
    )


def read_biogen_2025_b(item: Item, questions: Mapping[str, str]) -> Record | Problem:
    """Turn an answer of task B into a record; its id is `team_id/run_id/topic_id`.

    Args:
        item: The answer.
        questions: The topics' questions by topic id, for files that do not include them.
    """
    row = validate(AnswerRow, item.fields)
    if isinstance(row, Problem):
        return row
    about = row.metadata
    question = question_of(about.question, about.topic_id, questions)
    if isinstance(question, Problem):
        return Problem("metadata.question", question.text, question.expected)
    kept = {} if about.answer is None else {"answer": about.answer}
    return Record(
        id=f"{about.team_id}/{about.run_id}/{about.topic_id}",
        question=question,
        answer=tuple(
            SentenceInput(text=part.text, citations=tuple(part.citations)) for part in row.responses
        ),
        system=f"{about.team_id}/{about.run_id}",
        topic=about.topic_id,
        metadata=kept | kept_fields(row),
    )


def biogen_2025_a_row(record: Record) -> JsonRow:
    """Turn a record into a line of task A.

    Raises:
        InputError: it does not fit.
    """
    team, run = team_and_run(record)
    sentences = sentences_of(record)
    against = _read_contradicted(record, len(sentences))
    row: JsonRow = {
        "metadata": {
            "team_id": team,
            "run_id": run,
            "qa_id": record.topic or record.id,
            "question": record.question,
        },
        "answer": [
            {
                "text": sentence.text,
                "supported_citations": list(sentence.citations),
                CONTRADICTED: against[i],
            }
            for i, sentence in enumerate(sentences)
        ],
    }
    return restore_metadata(row, record.metadata, {CONTRADICTED})


def _read_contradicted(record: Record, n_sentences: int) -> Sequence[object]:
    if CONTRADICTED not in record.metadata:
        return [[] for _ in range(n_sentences)]
    try:
        value: object = json.loads(record.metadata[CONTRADICTED])
    except (ValueError, RecursionError) as error:
        raise _bad_contradicted(record, "not JSON") from error
    if not is_list(value) or len(value) != n_sentences:
        raise _bad_contradicted(record, "not a list for each sentence")
    return value


def _bad_contradicted(record: Record, problem: str) -> InputError:
    field = f"metadata.{CONTRADICTED}"
    return unwritable(record, field, problem, "a JSON list with the PMIDs for each sentence")


def biogen_2025_b_row(record: Record) -> JsonRow:
    """Turn a record into a line of task B.

    Raises:
        InputError: it does not fit.
    """
    team, run = team_and_run(record)
    metadata: JsonRow = {
        "team_id": team,
        "run_id": run,
        "topic_id": record.topic or record.id,
        "question": record.question,
    }
    if "answer" in record.metadata:
        metadata["answer"] = record.metadata["answer"]
    row: JsonRow = {
        "metadata": metadata,
        "responses": [
            {"text": sentence.text, "citations": list(sentence.citations)}
            for sentence in sentences_of(record)
        ],
    }
    return restore_metadata(row, record.metadata, {"answer"})
