"""Read PubMedQA: questions with the abstract that answers them and an expert's decision.

    {"pmid", "question", "contexts": [str], "long_answer", "final_decision", "labels": [str], …}

The conclusion, `long_answer`, is the reference; the answer itself is empty, since the file has no
system's answer. The sections of the abstract are the sources.
"""

from __future__ import annotations

from pydantic import Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, Record


class DecidedRow(Row):
    """A question."""

    pmid: IdText | None = None
    question: str
    contexts: list[str] = Field(default_factory=list)
    long_answer: str
    final_decision: str = ""


PUBMEDQA = Format(
    name="pubmedqa",
    required=(("question",), ("contexts",), ("long_answer",)),
    fields=frozenset(DecidedRow.model_fields) | {"labels", "year", "mesh"},
    leading="long_answer",
    keys="pmid, question, contexts[], long_answer, final_decision",
)


def read_pubmedqa(item: Item) -> Record | Problem:
    """Turn a question into a record without an answer."""
    row = validate(DecidedRow, item.fields)
    if isinstance(row, Problem):
        return row
    decided = {"final_decision": row.final_decision} if row.final_decision else {}
    return Record(
        id=row.pmid or item.place.label,
        question=row.question,
        answer="",
        sources=tuple(
            Document(id=str(i), text=text) for i, text in enumerate(row.contexts, start=1)
        ),
        reference=row.long_answer,
        topic=row.pmid,
        metadata=kept_fields(row) | decided,
    )
