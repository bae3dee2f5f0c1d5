"""The formats of answers, each with its reader, and sources in fields that a format lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ragassay.formats.conversations import CONVERSATION, REPLY, read_answer, read_conversation
from ragassay.formats.export_shapes import export_format
from ragassay.formats.items import Item
from ragassay.formats.medaesqa import (
    EXTRACTED_ANSWERS,
    EXTRACTED_EVIDENCE,
    MEDAESQA,
    read_extract,
    read_medaesqa,
)
from ragassay.formats.named_fields import find_sources, find_unread
from ragassay.formats.nuggetizer import (
    ASSIGNED,
    CREATE_INPUT,
    RETRIEVED,
    read_assigned,
    read_create_input,
    read_retrieved,
)
from ragassay.formats.problems import Problem
from ragassay.formats.qa_collections import (
    BIOASQ,
    EXPERTQA,
    PUBMEDQA,
    SUBMISSION,
    read_bioasq,
    read_expertqa,
    read_pubmedqa,
)
from ragassay.formats.ragas_deepeval import DEEPEVAL, RAGAS, read_deepeval, read_ragas
from ragassay.formats.ragassay_jsonl import NAMED_FIELDS, RAGASSAY, read_sources
from ragassay.formats.ragchecker import RAGCHECKER, RAGCHECKER_PAIRS, read_pair, read_ragchecker
from ragassay.formats.rated_texts import (
    SUMMEVAL,
    SUMMEVAL_MEANS,
    USR,
    USR_MEANS,
    read_summeval,
    read_summeval_means,
    read_usr,
    read_usr_means,
)
from ragassay.formats.sniff import Format
from ragassay.formats.trec_biogen import (
    BIOGEN_2024,
    BIOGEN_A,
    BIOGEN_B,
    read_biogen_2024,
    read_biogen_2025_a,
    read_biogen_2025_b,
)
from ragassay.formats.trec_rag import (
    RAG_2024,
    RAG_2025,
    REPORT,
    read_rag_2024,
    read_rag_2025,
    read_report,
)
from ragassay.formats.workbench.paragraphs import RESPONSES, read_response
from ragassay.formats.yescieval import (
    YESCIEVAL,
    YESCIEVAL_ROWS,
    YESCIEVAL_SHEET,
    read_refactored,
    read_sheet,
)
from ragassay.records import Record

Outcome = Record | Problem
Mapper = Callable[[Item], Outcome | Sequence[Outcome]]

SELF_CONTAINED: tuple[tuple[Format, Mapper], ...] = (
    (RAGASSAY, read_answer),
    (RAGAS, read_ragas),
    (DEEPEVAL, read_deepeval),
    (RAGCHECKER, read_ragchecker),
    (CREATE_INPUT, read_create_input),
    (ASSIGNED, read_assigned),
    (RETRIEVED, read_retrieved),
    (EXTRACTED_ANSWERS, read_extract),
    (EXTRACTED_EVIDENCE, read_extract),
    (SUMMEVAL, read_summeval),
    (SUMMEVAL_MEANS, read_summeval_means),
    (PUBMEDQA, read_pubmedqa),
    (YESCIEVAL_SHEET, read_sheet),
    (YESCIEVAL_ROWS, read_refactored),
    (RAGCHECKER_PAIRS, read_pair),
    (USR, read_usr),
    (USR_MEANS, read_usr_means),
    (REPLY, read_answer),
    (CONVERSATION, read_conversation),
    (EXPERTQA, read_expertqa),
)
TopicMapper = Callable[[Item, Mapping[str, str]], Outcome | Sequence[Outcome]]

ON_TOPICS: tuple[tuple[Format, TopicMapper], ...] = (
    (MEDAESQA, read_medaesqa),
    (BIOASQ, read_bioasq),
    (SUBMISSION, read_bioasq),
    (RAG_2024, read_rag_2024),
    (RAG_2025, read_rag_2025),
    (BIOGEN_2024, read_biogen_2024),
    (BIOGEN_A, read_biogen_2025_a),
    (BIOGEN_B, read_biogen_2025_b),
    (RESPONSES, read_response),
    (REPORT, read_report),
)
"""Formats whose questions may be in a file of topics."""

REPEATING = (YESCIEVAL_SHEET, YESCIEVAL_ROWS, RAGCHECKER_PAIRS)
"""Formats that repeat an answer for each of its judges, rubrics or comparisons."""

FORMATS: tuple[Format, ...] = (
    *(form for form, _ in SELF_CONTAINED),
    *(form for form, _ in ON_TOPICS),
    YESCIEVAL,
)


def named_format(item: Item) -> Format | None:
    """Return the format of an object in none of `FORMATS`: an export's, or named fields."""
    export = export_format(item.fields)
    if export is not None:
        return export
    return NAMED_FIELDS if NAMED_FIELDS.is_named(item.fields) else None


OPEN_FORMATS = (RAGAS, DEEPEVAL, RAGCHECKER)
"""Formats that people extend with fields of their own."""


def add_named_sources(
    record: Record, fields: Mapping[str, object], form: Format
) -> tuple[Record, dict[str, str]]:
    """Give a record the sources of a field that its format does not know.

    Args:
        record: As its format's reader made it.
        fields: The fields of its line.
        form: Its format.

    Returns:
        The record, which also names the fields with texts that were not read; and the field that
        the sources were read from.
    """
    others = {key: value for key, value in fields.items() if key not in form.fields}
    name = None if record.sources else find_sources(others)
    sources = read_sources(others.pop(name)) if name is not None else ()
    update: dict[str, object] = {}
    if name is not None and isinstance(sources, tuple):
        kept = {key: text for key, text in record.metadata.items() if key != name}
        update = {"sources": sources, "metadata": kept}
    unread = find_unread(others, has_sources=bool(record.sources or update))
    if not update and not unread:
        return record, {}
    record = record.model_copy(update=update | {"unread": unread})
    return record, {"sources": name} if update and name else {}
