"""Read BioASQ task B, one JSON document: the experts' questions, or what a system submitted.

    {"questions": [{"id", "type", "body", "documents": [url], "snippets": [{"document", "text"}],
                    "ideal_answer": [str], "exact_answer"}]}
    {"questions": [{"id", "ideal_answer": str, "exact_answer"[, "documents", "snippets"]}]}

The two have one shape. It is a submission where a questions file comes with it, where a question
has no `body`, or where a system is named ("system", "model", "username", "run_id", beside the
questions or in them); all else is the experts'.

Of the experts, the first ideal answer is the reference, further ones are kept in the metadata; the
answer is empty. Of a submission, the ideal answer is the answer, and the snippets are its sources;
a question without one is rejected. A snippet's id is its PMID, for the second one of an article
"PMID#2", which is part of the document "PMID".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row, as_text, distinct_ids, kept_fields
from ragassay.formats.sniff import Format
from ragassay.formats.trec.references import question_of
from ragassay.records import Document, Record

_PMID = re.compile(r"(?:/pubmed/|pubmed\.ncbi\.nlm\.nih\.gov/)([0-9]{1,9})/?$")
_SYSTEM = AliasChoices("system", "model", "username", "run_id")


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class SnippetRow(Row):
    """A passage picked by experts, or by a system."""

    document: IdText
    text: str


class SubmitterRow(Row):
    """The document around the questions: its system; a password may stand beside it."""

    system: IdText | None = Field(default=None, validation_alias=_SYSTEM)


class QuestionRow(Row):
    """A question with its answers."""

    id: IdText
    type: str = ""
    body: str | None = Field(default=None, validation_alias=AliasChoices("body", "question"))
    documents: list[str] = Field(default_factory=list)
    snippets: list[SnippetRow] = Field(default_factory=list[SnippetRow])
    ideal_answer: Annotated[list[str], BeforeValidator(_as_list)] = Field(default_factory=list)
    exact_answer: object = None
    system: IdText | None = Field(default=None, validation_alias=_SYSTEM)


_FIELDS = frozenset(QuestionRow.model_fields) | {"questions", "concepts", "triples"}

BIOASQ = Format(
    name="bioasq",
    required=(("body",), ("type",)),
    fields=_FIELDS,
    leading="body",
    keys="questions[{id, type, body, documents[], snippets[{document, text}], ideal_answer, "
    "exact_answer}]",
    unanswered="a system's submission is read with --questions GOLD.json",
)
SUBMISSION = Format(
    name="bioasq-submission",
    required=(("id",), ("ideal_answer",)),
    fields=_FIELDS,
    leading="ideal_answer",
    keys="questions[{id, ideal_answer, exact_answer[, documents[], snippets[]]}]",
)


def read_bioasq(item: Item, questions: Mapping[str, str]) -> Record | Problem:
    """Turn a question into a record: of the experts without an answer, of a submission with one.

    Args:
        item: The question, with the document around it.
        questions: The questions by id, for a submission without them; its id is `system/id` where
            a system is named.
    """
    row = validate(QuestionRow, item.fields)
    if isinstance(row, Problem):
        return row
    around = validate(SubmitterRow, item.around)
    system = row.system or (None if isinstance(around, Problem) else around.system)
    if row.body is not None and system is None and not questions:
        return _record(row, row.body, "", row.ideal_answer[0] if row.ideal_answer else None)
    question = question_of(row.body, row.id, questions)
    if isinstance(question, Problem):
        text = f"{question.text}: a submission needs the file of its questions (--questions)"
        return Problem("id", text, f"{question.expected}, or BioASQ's own file of them")
    if not any(text.strip() for text in row.ideal_answer):
        text = "the field is missing or empty: the submission does not answer the question"
        return Problem("ideal_answer", text, 'the field "ideal_answer" with a text')
    return _record(row, question, row.ideal_answer[0], None, system)


def _record(
    row: QuestionRow, question: str, answer: str, reference: str | None, system: str | None = None
) -> Record:
    known = {
        "type": row.type,
        "exact_answer": row.exact_answer,
        "documents": row.documents,
        "ideal_answer": row.ideal_answer[1:],
    }
    kept = {name: as_text(value) for name, value in known.items() if value not in (None, "", [])}
    names = [_name(snippet.document) for snippet in row.snippets]
    return Record(
        id=f"{system}/{row.id}" if system else row.id,
        question=question,
        answer=answer,
        sources=tuple(
            Document(id=one, text=snippet.text, part_of=name if names.count(name) > 1 else "")
            for one, name, snippet in zip(distinct_ids(names), names, row.snippets, strict=True)
        ),
        reference=reference,
        system=system,
        topic=row.id,
        metadata=kept_fields(row) | kept,
    )


def _name(document: str) -> str:
    match = _PMID.search(document)
    return match[1] if match else document
