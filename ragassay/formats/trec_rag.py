"""Read and write TREC RAG runs, and read RAGTIME, DRAGUN and AutoJudge reports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.output import (
    JsonRow,
    build_cited_sentences,
    build_write_error,
    restore_metadata,
    split_system,
)
from ragassay.formats.problems import build_value_error, describe_value, is_list, is_object, parse
from ragassay.formats.rows import IdText, Row, as_text, collect_unknown_fields
from ragassay.formats.sniff import Format
from ragassay.formats.topics import find_question
from ragassay.formats.values import parse_text
from ragassay.records import Document, Record, SentenceInput

REFERENCES = "references"
"""Metadata key for references that differ from the citations in the answer."""

LENGTH = "response_length"
_DANGLING = re.compile(r"references\[(-?[0-9]{1,18})\]")
_TOPIC_IDS = ("topic_id", "narrative_id", "request_id")


def _parse_citation(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise build_value_error(
            f"found {describe_value(value)}", "a position in references, from 0, or an id"
        )
    if isinstance(value, str) and not value.strip():
        raise build_value_error(
            "found an empty citation", "a position in references, from 0, or an id"
        )
    return value


def _sort_by_confidence(value: object) -> object:
    if not is_object(value):
        return value

    def read_confidence(name: str) -> float:
        score = value[name]
        return float(score) if isinstance(score, int | float) else 0.0

    return sorted(value, key=read_confidence, reverse=True)


ReferenceOrId = Annotated[int | str, BeforeValidator(_parse_citation)]
"""A 0-based position in the references, or a document id."""


class CitingSentenceRow(Row):
    """A sentence with citations of references or documents, which may have confidence scores."""

    text: str
    citations: Annotated[list[ReferenceOrId], BeforeValidator(_sort_by_confidence)] = Field(
        default_factory=list
    )


class Answer2024Row(Row):
    """An answer of a 2024 run."""

    run_id: IdText
    topic_id: IdText
    topic: str | None = None
    references: list[IdText] = Field(default_factory=list)
    response_length: int | None = None
    answer: list[CitingSentenceRow]


class RunMetadataRow(Row):
    """Team and run that submitted an answer."""

    team_id: IdText
    run_id: IdText


class Metadata2025Row(RunMetadataRow):
    """Run and topic of an answer."""

    narrative_id: IdText
    narrative: str | None = None


class Answer2025Row(Row):
    """An answer of a 2025 run."""

    metadata: Metadata2025Row = Field(validation_alias=AliasChoices("metadata", "meta_data"))
    references: list[IdText] = Field(default_factory=list)
    answer: list[CitingSentenceRow]


class ReportDocumentRow(Row):
    """A source document of a report."""

    text: str
    title: str = ""


class ReportMetadataRow(RunMetadataRow):
    """Run and topic of a report."""

    topic_id: IdText = Field(validation_alias=AliasChoices(*_TOPIC_IDS))
    narrative: str | None = None


class ReportRow(Row):
    """A report with its source documents."""

    metadata: ReportMetadataRow
    references: list[IdText] = Field(default_factory=list)
    responses: list[CitingSentenceRow] = Field(validation_alias=AliasChoices("responses", "answer"))
    documents: dict[str, ReportDocumentRow] = Field(default_factory=dict)


def run_record(
    run: RunMetadataRow,
    topic: str,
    question: str,
    answer: tuple[SentenceInput, ...],
    metadata: dict[str, str],
    sources: tuple[Document, ...] = (),
) -> Record:
    """Return a record with the id `team_id/run_id/topic` for an answer of a run."""
    system = f"{run.team_id}/{run.run_id}"
    return Record(
        id=f"{system}/{topic}",
        question=question,
        answer=answer,
        sources=sources,
        system=system,
        topic=topic,
        metadata=metadata,
    )


def read_rag_2024(item: Item, questions: Mapping[str, str]) -> Record:
    """Convert an answer of 2024 to a record with the id `run_id/topic_id`."""
    row = parse(Answer2024Row, item.fields)
    answer = _build_answer(row.answer, row.references)
    metadata = collect_unknown_fields(row) | build_reference_metadata(
        row.references, _list_cited_ids(answer)
    )
    if row.response_length is not None and row.response_length != _count_words(answer):
        metadata[LENGTH] = str(row.response_length)
    return Record(
        id=f"{row.run_id}/{row.topic_id}",
        question=find_question(row.topic, row.topic_id, questions, "topic"),
        answer=answer,
        system=row.run_id,
        topic=row.topic_id,
        metadata=metadata,
    )


def read_rag_2025(item: Item, questions: Mapping[str, str]) -> Record:
    """Convert an answer of 2025 to a record with the id `team_id/run_id/narrative_id`."""
    row = parse(Answer2025Row, item.fields)
    topic = row.metadata.narrative_id
    question = find_question(row.metadata.narrative, topic, questions, "metadata.narrative")
    answer = _build_answer(row.answer, row.references)
    metadata = collect_unknown_fields(row) | build_reference_metadata(
        row.references, _list_cited_ids(answer)
    )
    return run_record(row.metadata, topic, question, answer, metadata)


def read_report(item: Item, questions: Mapping[str, str]) -> Record:
    """Convert a report to a record with its documents as sources."""
    row = parse(ReportRow, item.fields)
    topic = row.metadata.topic_id
    question = find_question(row.metadata.narrative, topic, questions, "metadata.narrative")
    answer = _build_answer(row.responses, row.references)
    metadata = collect_unknown_fields(row) | _collect_document_fields(row)
    metadata |= build_reference_metadata(row.references, _list_cited_ids(answer))
    return run_record(row.metadata, topic, question, answer, metadata, _build_sources(row))


RAG_2024 = Format(
    name="trec-rag-2024",
    required=(("run_id",), ("topic_id",), ("answer",)),
    fields=frozenset(Answer2024Row.model_fields),
    leading="run_id",
    keys="run_id, topic_id, topic, references[], response_length, answer[{text, citations[]}]",
    read=read_rag_2024,
    has_topics=True,
)
RAG_2025 = Format(
    name="trec-rag-2025",
    required=(("metadata.narrative_id", "meta_data.narrative_id"), ("answer",)),
    fields=frozenset({"metadata", "meta_data", "references", "answer"}),
    leading="references",
    keys="metadata{team_id, run_id, narrative_id[, narrative]}, references[], "
    "answer[{text, citations[]}]",
    read=read_rag_2025,
    has_topics=True,
)
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
    read=read_report,
    has_topics=True,
)


def _build_answer(
    rows: Sequence[CitingSentenceRow], references: Sequence[str]
) -> tuple[SentenceInput, ...]:
    return tuple(
        SentenceInput(text=row.text, citations=resolve(row.citations, references)) for row in rows
    )


def resolve(citations: Iterable[int | str], references: Sequence[str]) -> tuple[str, ...]:
    """Convert citations, which are document ids or positions in the references, to document ids.

    A position outside the references becomes an id such as `references[7]`, so that the citation is
    judged as invalid rather than dropped.

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


def build_reference_metadata(references: Sequence[str], cited: Iterable[str]) -> dict[str, str]:
    """Return the references as metadata, or an empty dict if they equal the cited ids."""
    known = [name for name in dict.fromkeys(cited) if not _DANGLING.fullmatch(name)]
    if not references or list(references) == known:
        return {}
    return {REFERENCES: json.dumps(list(references), ensure_ascii=False)}


def _list_cited_ids(answer: Sequence[SentenceInput]) -> list[str]:
    return [name for sentence in answer for name in sentence.citations]


def restore_references(metadata: Mapping[str, str]) -> list[str]:
    """Return the references in the metadata of a record, or an empty list if there are none."""
    value = parse_text(metadata.get(REFERENCES))
    references = value if is_list(value) else []
    names = [str(name) for name in references if isinstance(name, str) and name.strip()]
    return names if len(names) == len(references) else []


def _count_words(answer: Sequence[SentenceInput]) -> int:
    return sum(len(sentence.text.split()) for sentence in answer)


def _build_sources(row: ReportRow) -> tuple[Document, ...]:
    """Return the documents of a report, starting with the references in their order."""
    order = {name: i for i, name in enumerate(row.references)}
    names = sorted(row.documents, key=lambda name: order.get(name, len(order)))
    return tuple(
        Document(id=name, text=row.documents[name].text, title=row.documents[name].title)
        for name in names
        if name.strip()
    )


def _collect_document_fields(row: ReportRow) -> dict[str, str]:
    return {
        f"documents.{name}.{field}": as_text(value)
        for name, document in row.documents.items()
        for field, value in (document.model_extra or {}).items()
        if field != "id"
    }


def build_rag_2024_row(record: Record) -> JsonRow:
    """Convert a record to a line of a 2024 run."""
    if not (record.system or "").strip():
        raise build_write_error(record, "system", f"found {record.system!r}", "the name of the run")
    references, sentences = _convert_citations(record, ids_allowed=False)
    length = record.metadata.get(LENGTH, "")
    is_stored = length.isascii() and length.isdigit() and len(length) < 10
    row: JsonRow = {
        "run_id": record.system,
        "topic_id": record.topic or record.id,
        "topic": record.question,
        "references": references,
        LENGTH: int(length) if is_stored else _count_words(build_cited_sentences(record)),
        "answer": sentences,
    }
    return restore_metadata(row, record.metadata, {REFERENCES, LENGTH})


def build_rag_2025_row(record: Record) -> JsonRow:
    """Convert a record to a line of a 2025 run."""
    metadata = build_metadata_row(record, "narrative_id", "narrative")
    references, sentences = _convert_citations(record, ids_allowed=True)
    row: JsonRow = {"metadata": metadata, "references": references, "answer": sentences}
    return restore_metadata(row, record.metadata, {REFERENCES})


def build_metadata_row(record: Record, topic: str, question: str) -> JsonRow:
    """Return an answer's metadata, with topic and question under the given names."""
    team, run = split_system(record)
    ids: JsonRow = {"team_id": team, "run_id": run}
    return ids | {topic: record.topic or record.id, question: record.question}


def _convert_citations(record: Record, *, ids_allowed: bool) -> tuple[list[str], list[JsonRow]]:
    """Return the references, and the sentences with citations as 0-based reference positions."""
    stored = restore_references(record.metadata)
    references = list(stored)
    positions = {name: i for i, name in reversed(list(enumerate(references)))}
    sentences: list[JsonRow] = []
    for sentence in build_cited_sentences(record):
        numbers: list[int | str] = []
        for name in sentence.citations:
            dangling = _DANGLING.fullmatch(name)
            if dangling and name not in positions:
                numbers.append(int(dangling[1]))
            elif ids_allowed and stored and name not in positions and not name.isdigit():
                numbers.append(name)
            else:
                if name not in positions:
                    positions[name] = len(references)
                    references.append(name)
                numbers.append(positions[name])
        sentences.append({"text": sentence.text, "citations": numbers})
    return references, sentences
