"""Read BioASQ task B: questions with expert answers, one JSON document.

    {"questions": [{"id", "type", "body", "documents": [url], "snippets": [{"document", "text"}],
                    "ideal_answer": [str], "exact_answer"}]}

The experts' first ideal answer is the reference, further ones are kept in the metadata; the answer
itself is empty, since the file has no system's answer. A snippet's id is its PMID, for the second
one of an article "PMID#2".
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row, as_text, distinct_ids, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, Record

_PMID = re.compile(r"/pubmed/([0-9]{1,9})/?$")


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class SnippetRow(Row):
    """A passage picked by experts."""

    document: IdText
    text: str


class ExpertQuestionRow(Row):
    """A question."""

    id: IdText
    type: str = ""
    body: str
    documents: list[str] = Field(default_factory=list)
    snippets: list[SnippetRow] = Field(default_factory=list[SnippetRow])
    ideal_answer: Annotated[list[str], BeforeValidator(_as_list)] = Field(default_factory=list)
    exact_answer: object = None


BIOASQ = Format(
    name="bioasq",
    required=(("body",), ("type",)),
    fields=frozenset(ExpertQuestionRow.model_fields) | {"questions", "concepts", "triples"},
    leading="body",
    keys="questions[{id, type, body, documents[], snippets[{document, text}], ideal_answer, "
    "exact_answer}]",
)


def read_bioasq(item: Item) -> Record | Problem:
    """Turn a question into a record without an answer."""
    row = validate(ExpertQuestionRow, item.fields)
    if isinstance(row, Problem):
        return row
    known = {
        "type": row.type,
        "exact_answer": row.exact_answer,
        "documents": row.documents,
        "ideal_answer": row.ideal_answer[1:],
    }
    kept = {name: as_text(value) for name, value in known.items() if value not in (None, "", [])}
    ids = distinct_ids([_name(snippet.document) for snippet in row.snippets])
    return Record(
        id=row.id,
        question=row.body,
        answer="",
        sources=tuple(
            Document(id=name, text=snippet.text)
            for name, snippet in zip(ids, row.snippets, strict=True)
        ),
        reference=row.ideal_answer[0] if row.ideal_answer else None,
        topic=row.id,
        metadata=kept_fields(row) | kept,
    )


def _name(document: str) -> str:
    match = _PMID.search(document)
    return match[1] if match else document
