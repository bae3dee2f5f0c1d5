"""Handle references and citations by position, topics and kept fields of TREC runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.output import (
    JsonRow,
    restore_metadata,
    sentences_of,
    team_and_run,
    unwritable,
)
from ragassay.formats.problems import (
    Problem,
    describe_value,
    found_text,
    is_object,
    validate,
    wrong,
)
from ragassay.formats.rows import IdText, Row, as_text, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, Record, SentenceInput

REFERENCES = "references"
"""The metadata that keeps references where they differ from what the sentences cite, in order."""

_DANGLING = re.compile(r"references\[(-?[0-9]{1,18})\]")


def _citation(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise wrong(f"found {describe_value(value)}", "a position in references, from 0, or an id")
    if isinstance(value, str) and not value.strip():
        raise wrong("found an empty citation", "a position in references, from 0, or an id")
    return value


ReferenceOrId = Annotated[int | str, BeforeValidator(_citation)]
"""A 0-based position in the references, or an id."""


def resolve(citations: Iterable[int | str], references: Sequence[str]) -> tuple[str, ...]:
    """Return citations as ids.

    A position beyond the references becomes `references[7]`, which does not resolve: the citation
    is then judged invalid, not lost.

    Example:
        >>> resolve([1, "a", 7], ["a", "b"])
        ('b', 'a', 'references[7]')
    """
    return tuple(_resolve(citation, references) for citation in citations)


def _resolve(citation: int | str, references: Sequence[str]) -> str:
    if str(citation) in references and (isinstance(citation, str) or citation >= len(references)):
        return str(citation)
    if isinstance(citation, str):
        if not re.fullmatch(r"[0-9]{1,6}", citation) or int(citation) >= len(references):
            return citation
        citation = int(citation)
    if 0 <= citation < len(references):
        return references[citation]
    return f"references[{citation}]"


def kept_references(references: Sequence[str], cited: Iterable[str]) -> dict[str, str]:
    """Return the references as metadata; empty where the citations alone determine them."""
    if not references or list(references) == list_cited_ids(cited):
        return {}
    return {REFERENCES: json.dumps(list(references), ensure_ascii=False)}


def list_cited_ids(cited: Iterable[str]) -> list[str]:
    """Return the cited ids, in the order of their first citation."""
    return [name for name in dict.fromkeys(cited) if not _DANGLING.fullmatch(name)]


def references_of(metadata: Mapping[str, str]) -> list[str] | None:
    """Return the references kept in a record's metadata; None where there are none."""
    try:
        value: object = json.loads(metadata.get(REFERENCES, ""))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list) or not value:
        return None
    names = [str(name) for name in value if isinstance(name, str) and name.strip()]
    return names if len(names) == len(value) else None


def number_citations(
    answer: Sequence[SentenceInput], metadata: Mapping[str, str], ids_allowed: bool
) -> tuple[list[str], list[list[int | str]]]:
    """Return references, and each sentence's citations as 0-based positions in them.

    Args:
        answer: The sentences, with ids as citations.
        metadata: The record's.
        ids_allowed: Whether an id that the kept references lack stays an id.
    """
    kept = references_of(metadata)
    references = list(kept or ())
    positions = {name: i for i, name in reversed(list(enumerate(references)))}
    sentences: list[list[int | str]] = []
    for sentence in answer:
        numbers: list[int | str] = []
        for name in sentence.citations:
            dangling = _DANGLING.fullmatch(name)
            if dangling and name not in positions:
                numbers.append(int(dangling[1]))
            elif ids_allowed and kept and name not in positions and not name.isdigit():
                numbers.append(name)
            else:
                if name not in positions:
                    positions[name] = len(references)
                    references.append(name)
                numbers.append(positions[name])
        sentences.append(numbers)
    return references, sentences


def question_of(given: str | None, topic: str, questions: Mapping[str, str]) -> str | Problem:
    """Return the run's question, else the topics file's; its field is marked as used."""
    question = given or questions.get(topic)
    if question is not None:
        return question
    where = ", nor is the topic in the questions file" if questions else ""
    return Problem(
        "",
        f"the question of topic {found_text(topic)} is not in the file{where}",
        "the question here, or a questions file with the topics: topic_id,title,question,narrative",
    )


LENGTH = "response_length"


class CitingSentenceRow(Row):
    """A sentence with its citations."""

    text: str
    citations: list[ReferenceOrId] = Field(default_factory=list)


class Answer2024Row(Row):
    """An answer of 2024."""

    run_id: IdText
    topic_id: IdText
    topic: str | None = None
    references: list[IdText] = Field(default_factory=list)
    response_length: int | None = None
    answer: list[CitingSentenceRow]


class Metadata2025Row(Row):
    """The answer's run and topic."""

    team_id: IdText
    run_id: IdText
    narrative_id: IdText
    narrative: str | None = None


class Answer2025Row(Row):
    """An answer of 2025."""

    metadata: Metadata2025Row = Field(validation_alias=AliasChoices("metadata", "meta_data"))
    references: list[IdText] = Field(default_factory=list)
    answer: list[CitingSentenceRow]


RAG_2024 = Format(
    name="trec-rag-2024",
    required=(("run_id",), ("topic_id",), ("answer",)),
    fields=frozenset(Answer2024Row.model_fields),
    leading="run_id",
    keys="run_id, topic_id, topic, references[], response_length, answer[{text, citations[]}]",
)
RAG_2025 = Format(
    name="trec-rag-2025",
    required=(("metadata.narrative_id", "meta_data.narrative_id"), ("answer",)),
    fields=frozenset({"metadata", "meta_data", "references", "answer"}),
    leading="references",
    keys="metadata{team_id, run_id, narrative_id[, narrative]}, references[], "
    "answer[{text, citations[]}]",
)


def read_rag_2024(item: Item, questions: Mapping[str, str]) -> Record | Problem:
    """Turn an answer of 2024 into a record; its id is `run_id/topic_id`, its system the run.

    Args:
        item: The answer.
        questions: The topics by id, for files that do not include them.
    """
    row = validate(Answer2024Row, item.fields)
    if isinstance(row, Problem):
        return row
    question = question_of(row.topic, row.topic_id, questions)
    if isinstance(question, Problem):
        return Problem("topic", question.text, question.expected)
    answer = _answer(row.answer, row.references)
    kept = _keep_cited_references(row.references, answer)
    if row.response_length is not None and row.response_length != _n_words(answer):
        kept[LENGTH] = str(row.response_length)
    return Record(
        id=f"{row.run_id}/{row.topic_id}",
        question=question,
        answer=answer,
        system=row.run_id,
        topic=row.topic_id,
        metadata=kept_fields(row) | kept,
    )


def read_rag_2025(item: Item, questions: Mapping[str, str]) -> Record | Problem:
    """Turn an answer of 2025 into a record; its id is `team_id/run_id/narrative_id`.

    Args:
        item: The answer.
        questions: The narratives by id, for files that do not include them.
    """
    row = validate(Answer2025Row, item.fields)
    if isinstance(row, Problem):
        return row
    about = row.metadata
    question = question_of(about.narrative, about.narrative_id, questions)
    if isinstance(question, Problem):
        return Problem("metadata.narrative", question.text, question.expected)
    answer = _answer(row.answer, row.references)
    return Record(
        id=f"{about.team_id}/{about.run_id}/{about.narrative_id}",
        question=question,
        answer=answer,
        system=f"{about.team_id}/{about.run_id}",
        topic=about.narrative_id,
        metadata=kept_fields(row) | _keep_cited_references(row.references, answer),
    )


def _answer(
    rows: Sequence[CitingSentenceRow], references: Sequence[str]
) -> tuple[SentenceInput, ...]:
    return tuple(
        SentenceInput(text=row.text, citations=resolve(row.citations, references)) for row in rows
    )


def _keep_cited_references(
    references: Sequence[str], answer: Sequence[SentenceInput]
) -> dict[str, str]:
    return kept_references(references, (name for part in answer for name in part.citations))


def _n_words(answer: Sequence[SentenceInput]) -> int:
    return sum(len(sentence.text.split()) for sentence in answer)


def rag_2024_row(record: Record) -> JsonRow:
    """Turn a record into a line of 2024.

    Raises:
        InputError: it does not fit.
    """
    if not (record.system or "").strip():
        raise unwritable(record, "system", f"found {record.system!r}", "the name of the run")
    sentences = sentences_of(record)
    references, citations = number_citations(sentences, record.metadata, ids_allowed=False)
    length = record.metadata.get(LENGTH, "")
    is_given = length.isascii() and length.isdigit() and len(length) < 10
    row: JsonRow = {
        "run_id": record.system,
        "topic_id": record.topic or record.id,
        "topic": record.question,
        "references": references,
        LENGTH: int(length) if is_given else _n_words(sentences),
        "answer": _build_sentence_rows(sentences, citations),
    }
    return restore_metadata(row, record.metadata, {REFERENCES, LENGTH})


def rag_2025_row(record: Record) -> JsonRow:
    """Turn a record into a line of 2025.

    Raises:
        InputError: it does not fit.
    """
    team, run = team_and_run(record)
    sentences = sentences_of(record)
    references, citations = number_citations(sentences, record.metadata, ids_allowed=True)
    row: JsonRow = {
        "metadata": {
            "team_id": team,
            "run_id": run,
            "narrative_id": record.topic or record.id,
            "narrative": record.question,
        },
        "references": references,
        "answer": _build_sentence_rows(sentences, citations),
    }
    return restore_metadata(row, record.metadata, {REFERENCES})


def _build_sentence_rows(
    sentences: Sequence[SentenceInput], citations: Sequence[Sequence[int | str]]
) -> list[JsonRow]:
    return [
        {"text": sentence.text, "citations": list(numbers)}
        for sentence, numbers in zip(sentences, citations, strict=True)
    ]


_TOPIC_IDS = ("topic_id", "narrative_id", "request_id")


def _by_confidence(value: object) -> object:
    """Return ids with a confidence as a list, the highest first."""
    if not is_object(value):
        return value

    def confidence(name: str) -> float:
        given = value[name]
        return float(given) if isinstance(given, int | float) else 0.0

    return sorted(value, key=confidence, reverse=True)


class ReportSentenceRow(Row):
    """A sentence with its citations."""

    text: str
    citations: Annotated[list[ReferenceOrId], BeforeValidator(_by_confidence)] = Field(
        default_factory=list
    )


class ReportDocumentRow(Row):
    """A document that a report was written from."""

    text: str
    title: str = ""


class ReportMetadataRow(Row):
    """The report's run and topic."""

    team_id: IdText
    run_id: IdText
    topic_id: IdText = Field(validation_alias=AliasChoices(*_TOPIC_IDS))
    narrative: str | None = None


class ReportRow(Row):
    """A report."""

    metadata: ReportMetadataRow
    references: list[IdText] = Field(default_factory=list)
    responses: list[ReportSentenceRow] = Field(validation_alias=AliasChoices("responses", "answer"))
    documents: dict[str, ReportDocumentRow] = Field(default_factory=dict)


REPORT = Format(
    name="trec-report",
    required=(
        tuple(f"metadata.{name}" for name in _TOPIC_IDS),
        ("responses", "answer"),
        (
            *("documents", "references", "is_ragtime", "ranking", "metadata.request_id"),
            *("metadata.collection_ids", "metadata.use_starter_kit", "metadata.task"),
        ),
    ),
    fields=frozenset(
        (*ReportRow.model_fields, "answer", "is_ragtime", "ranking", "evaldata", "path")
    ),
    leading="responses",
    keys="metadata{team_id, run_id, topic_id}, responses[{text, citations}], references[], "
    "documents{id: {text, title}}",
)


def read_report(item: Item, questions: Mapping[str, str]) -> Record | Problem:
    """Turn a report into a record; its id is `team_id/run_id/topic_id`.

    Args:
        item: The report.
        questions: The topics by id, for files that do not include them.
    """
    row = validate(ReportRow, item.fields)
    if isinstance(row, Problem):
        return row
    about = row.metadata
    question = question_of(about.narrative, about.topic_id, questions)
    if isinstance(question, Problem):
        return Problem("metadata.narrative", question.text, question.expected)
    answer = tuple(
        SentenceInput(text=one.text, citations=resolve(one.citations, row.references))
        for one in row.responses
    )
    cited = (name for part in answer for name in part.citations)
    return Record(
        id=f"{about.team_id}/{about.run_id}/{about.topic_id}",
        question=question,
        answer=answer,
        sources=_sources(row),
        system=f"{about.team_id}/{about.run_id}",
        topic=about.topic_id,
        metadata=kept_fields(row) | _document_fields(row) | kept_references(row.references, cited),
    )


def _sources(row: ReportRow) -> tuple[Document, ...]:
    """Return the documents in the order of the references; the others follow."""
    order = {name: i for i, name in enumerate(row.references)}
    names = sorted(row.documents, key=lambda name: order.get(name, len(order)))
    return tuple(
        Document(id=name, text=row.documents[name].text, title=row.documents[name].title)
        for name in names
        if name.strip()
    )


def _document_fields(row: ReportRow) -> dict[str, str]:
    """Return unknown fields of the documents, as `kept_fields` does for lists."""
    return {
        f"documents.{name}.{field}": as_text(value)
        for name, document in row.documents.items()
        for field, value in (document.model_extra or {}).items()
        if field != "id"
    }
