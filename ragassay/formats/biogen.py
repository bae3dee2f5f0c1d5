"""TREC 2025 BioGen, task B (which is also BioACE's input): one answer a line.

    {"metadata": {"team_id", "run_id", "topic_id"[, "question", "answer"]},
     "responses": [{"text", "citations": [at most 3 PMIDs]}]}

Runs in the wild also write `meta_data`, PMIDs as numbers, and one JSON array.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import AliasChoices, Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.rows import IdText, Row, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Record, SentenceInput

MAX_CITATIONS = 3


class AnswerMetadataRow(Row):
    """Whose answer it is, and to what."""

    team_id: IdText
    run_id: IdText
    topic_id: IdText
    question: str | None = None
    answer: str | None = None


class ResponseRow(Row):
    """A sentence of the answer."""

    text: str
    citations: list[IdText] = Field(default_factory=list, max_length=MAX_CITATIONS)


class AnswerRow(Row):
    """An answer."""

    metadata: AnswerMetadataRow = Field(validation_alias=AliasChoices("metadata", "meta_data"))
    responses: list[ResponseRow]


BIOGEN = Format(
    name="biogen-2025-b",
    required=(("metadata", "meta_data"), ("responses",)),
    fields=frozenset({"metadata", "meta_data", "responses"}),
    leading="responses",
    keys="metadata{team_id, run_id, topic_id[, question]}, responses[{text, citations[]}]",
)


def read_biogen(item: Item, questions: Mapping[str, str]) -> Record | Problem:
    """Turn an answer into a record; its id is `team_id/run_id/topic_id`.

    Args:
        item: The answer.
        questions: The topics' questions by topic id, for files that do not carry them.
    """
    row = validate(AnswerRow, item.fields)
    if isinstance(row, Problem):
        return row
    about = row.metadata
    question = about.question or questions.get(about.topic_id)
    if question is None:
        return _no_question(about.topic_id, bool(questions))
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


def _no_question(topic: str, searched: bool) -> Problem:
    where = ", nor is the topic in the questions file" if searched else ""
    return Problem(
        "metadata.question",
        f"the question of topic {found_text(topic)} is not in the file{where}",
        "the question here, or a questions file with the topics: topic_id,title,question,narrative",
    )
