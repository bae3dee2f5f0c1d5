"""Write records as ragassay JSON lines, runs of TREC tracks, or input of the nuggetizer.

Every record is read back before it is written, so that every written file can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.items import Item
from ragassay.formats.nuggetizer import create_input_row, read_create_input
from ragassay.formats.output import (
    Check,
    JsonRow,
    WriteResult,
    json_bytes,
    unwritable,
    whole_file,
)
from ragassay.formats.problems import Problem
from ragassay.formats.ragas_deepeval import write_deepeval, write_ragas
from ragassay.formats.ragassay_jsonl import read_ragassay
from ragassay.formats.rows import distinct_documents, original_id
from ragassay.formats.trec_biogen import (
    biogen_2024_row,
    biogen_2024_run,
    biogen_2025_a_row,
    biogen_2025_b_row,
    read_biogen_2024,
    read_biogen_2025_a,
    read_biogen_2025_b,
)
from ragassay.formats.trec_rag import rag_2024_row, rag_2025_row, read_rag_2024, read_rag_2025
from ragassay.records import Document, Record

WRITABLE_FORMATS = (
    "ragassay",
    "biogen-2024",
    "biogen-2025-a",
    "biogen-2025-b",
    "deepeval",
    "nuggetizer-create",
    "ragas",
    "trec-rag-2024",
    "trec-rag-2025",
)
"""Formats that answers can be written in."""

SENTENCE_FORMATS: frozenset[str] = frozenset(
    ("biogen-2025-a", "biogen-2025-b", "trec-rag-2024", "trec-rag-2025")
)
"""Those of them that require an answer as sentences with citations."""

QUESTION_FORMATS: frozenset[str] = frozenset(("nuggetizer-create",))
"""Those of them that have questions and no answers."""

_ToRow = Callable[[Record], JsonRow]
_Reader = Callable[[Item], Record | Problem]


def write_answers(records: Iterable[Record], path: Path, form: str) -> WriteResult:
    """Write answers in a named format.

    Args:
        records: The answers.
        path: Overwritten where it exists; compressed where the name ends in `.gz`.
        form: One of `WRITABLE_FORMATS`.

    Raises:
        InputError: the format is unknown or cannot be written, or a record does not fit it.
    """
    writer = _WRITERS.get(form)
    if writer is None:
        known = ", ".join(WRITABLE_FORMATS)
        raise InputError(f"answers cannot be written as {form!r}: choose one of {known}")
    return writer(records, path)


def write_records(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as ragassay JSON lines, compressed where the name ends in `.gz`.

    `read_records` returns equal records. The file is written completely or not at all.

    Args:
        records: May be empty; the file is then empty, which `read_records` refuses.
        path: Overwritten where it exists.

    Raises:
        InputError: two records share an id, a record could not be read back (a lone surrogate,
            a blank id, two sources with one id), or the file cannot be written.
    """
    return _write_lines(records, path, _ragassay_row, read_ragassay)


def write_biogen_2024(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as a TREC 2024 BioGen run: one JSON document.

    Sentences become text with their PMIDs in brackets, in front of the full stop. Questions are
    left out: the run is read back with its topics. The contact address comes from the metadata
    `contact_email`; fill it in before submitting a run without one.

    Args:
        records: Those of one system, `team_id/run_name`.
        path: Overwritten where it exists.

    Raises:
        InputError: a record does not fit the format or is of another run, there is no record, or
            the file cannot be written.
    """
    run: JsonRow = {}
    rows: list[JsonRow] = []
    check = Check(path)
    for record in records:
        own = biogen_2024_run(record)
        if rows and own != run:
            expected = "one team, run and contact_email a file"
            raise unwritable(record, "system", f"found {record.system!r}, another run", expected)
        run = own
        row = biogen_2024_row(record)
        check(record, row, partial(_read_result, run=run, record=record))
        rows.append(row)
    if not rows:
        raise InputError(f"{path} cannot be written: a BioGen 2024 run needs at least one answer")
    with whole_file(path) as handle:
        handle.write(json_bytes(run)[:-1] + b', "results": [\n')
        handle.write(b",\n".join(json_bytes(row) for row in rows) + b"\n]}\n")
    return check.result()


def write_biogen_2025_a(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as a TREC 2025 BioGen task A run.

    A sentence's citations are written as supporting; the contradicting ones come from the metadata
    `contradicted_citations`, where `read_records` keeps them. Otherwise see `write_biogen_2025_b`.
    """
    return _write_lines(records, path, biogen_2025_a_row, _with_question(read_biogen_2025_a))


def write_biogen_2025_b(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as a TREC 2025 BioGen task B run, compressed where the name ends in `.gz`.

    The format stores the question, the sentences with their citations, and metadata; sources,
    nuggets, reference and date are left out. A citation that is a position in the sources becomes
    that source's id. A record without a topic is written under its id.

    Args:
        records: Each with an answer in sentences, and a system `team_id/run_id`.
        path: Overwritten where it exists.

    Returns:
        How many records were written, and what was left out.

    Raises:
        InputError: a record does not fit the format, or the file cannot be written.
    """
    return _write_lines(records, path, biogen_2025_b_row, _with_question(read_biogen_2025_b))


def write_trec_rag_2024(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as a run of TREC RAG 2024; the system is the run.

    References are what the sentences cite, in order. Otherwise see `write_biogen_2025_b`.
    """
    return _write_lines(records, path, rag_2024_row, _with_question(read_rag_2024))


def write_trec_rag_2025(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as a run of TREC RAG 2025; the system is `team_id/run_id`.

    References are what the sentences cite, in order. Otherwise see `write_biogen_2025_b`.
    """
    return _write_lines(records, path, rag_2025_row, _with_question(read_rag_2025))


def write_create_input(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as input of the nuggetizer's `create`: questions with their sources.

    Answers are left out: several answers to one topic become one question with all their sources. A
    record without a topic is written under its id.

    Raises:
        InputError: two sources of a topic share an id but not their text, two of its questions
            differ, or the file cannot be written.
    """
    return _write_lines(_by_topic(records), path, create_input_row, read_create_input)


def _by_topic(records: Iterable[Record]) -> list[Record]:
    found: dict[str, Record] = {}
    for record in records:
        first = found.setdefault(record.topic or record.id, record)
        if first.question != record.question:
            wanted = f"that of {first.id!r} on the same topic"
            raise unwritable(record, "question", "another question", wanted)
        merged = first.model_copy(update={"sources": _merged_sources(first.sources, record)})
        found[record.topic or record.id] = merged
    return list(found.values())


def _merged_sources(known: Sequence[Document], record: Record) -> tuple[Document, ...]:
    """Return the sources of a topic with those of one more answer, each passage once."""
    merged = [one.model_copy(update={"id": original_id(one)}) for one in known]
    for source in record.sources:
        source = source.model_copy(update={"id": original_id(source)})
        same = [one for one in merged if one.id == source.id]
        if any((one.text, one.title) == (source.text, source.title) for one in same):
            continue
        if same and not (source.part_of or any(one.part_of for one in same)):
            wanted = "one text, as in the topic's other answers"
            raise unwritable(record, "sources", f"another text for {source.id!r}", wanted)
        merged.append(source)
    return distinct_documents(merged)


_WRITERS: dict[str, Callable[[Iterable[Record], Path], WriteResult]] = {
    "ragassay": write_records,
    "biogen-2024": write_biogen_2024,
    "biogen-2025-a": write_biogen_2025_a,
    "biogen-2025-b": write_biogen_2025_b,
    "deepeval": write_deepeval,
    "nuggetizer-create": write_create_input,
    "ragas": write_ragas,
    "trec-rag-2024": write_trec_rag_2024,
    "trec-rag-2025": write_trec_rag_2025,
}


def _with_question(reader: Callable[[Item, dict[str, str]], Record | Problem]) -> _Reader:
    return lambda item: reader(item, {})


def _read_result(item: Item, run: JsonRow, record: Record) -> Record | Problem:
    entry = Item(item.place, item.fields, run)
    return read_biogen_2024(entry, {record.topic or record.id: record.question})


def _write_lines(
    records: Iterable[Record], path: Path, to_row: _ToRow, reader: _Reader
) -> WriteResult:
    check = Check(path)
    with whole_file(path) as handle:
        for record in records:
            handle.write(check(record, to_row(record), reader) + b"\n")
    return check.result()


def _ragassay_row(record: Record) -> JsonRow:
    row = record.model_dump(exclude_defaults=True)
    plain = [
        one.model_copy(update={"id": original_id(one), "part_of": ""}) for one in record.sources
    ]
    if any(one.part_of for one in record.sources) and distinct_documents(plain) == record.sources:
        row["sources"] = [one.model_dump(exclude_defaults=True) for one in plain]
    return row
