"""Write records as ragassay JSON lines, runs of TREC tracks, or input of the nuggetizer.

Every record is read back before it is written, so that every written file can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.items import Item
from ragassay.formats.nuggetizer import create_input_row, read_create_input
from ragassay.formats.output import (
    Check,
    JsonRow,
    Reader,
    WriteResult,
    json_bytes,
    unwritable,
    whole_file,
)
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


def write_answers(records: Iterable[Record], path: AnyPath, form: str) -> WriteResult:
    """Write answers in a named format, whole or not at all.

    A record without a topic is written under its id; a citation that is a position in the sources
    becomes that source's id. What a format has no place for is left out and counted.

    ragassay: everything; `read_records` returns equal records.
    ragas, deepeval: question, answer as text, sources, reference and metadata.
    biogen-2024: answers of one system, `team_id/run_name`, as text with the PMIDs before the full
        stop; the metadata `contact_email` is the contact address, questions come from the topics.
    biogen-2025-a, biogen-2025-b: question, and sentences with citations, of task A the supporting
        ones; the contradicting ones come from the metadata `contradicted_citations`. The system is
        `team_id/run_id`.
    trec-rag-2024, trec-rag-2025: the same with references, which are what the sentences cite, in
        order. The system is the run, in 2025 `team_id/run_id`.
    nuggetizer-create: questions with their sources; several answers to one topic become one.

    Args:
        records: The answers; none is an empty file, which `read_records` refuses.
        path: Overwritten where it exists; compressed where the name ends in `.gz`. ragas and
            deepeval are CSV or a JSON array where the name ends so.
        form: One of `WRITABLE_FORMATS`.

    Returns:
        How many records were written, and what was left out.

    Raises:
        InputError: the format is unknown, the file cannot be written, or a record does not fit the
            format: it could not be read back, shares its id with another one, has no answer in
            sentences or another system; "biogen-2024" and CSV without any record; for
            "nuggetizer-create", two questions or sources of a topic differ.
    """
    path = Path(path)
    if form == "biogen-2024":
        return _write_biogen_2024(records, path)
    if form in _TABLES:
        return _TABLES[form](records, path)
    if form not in _LINES:
        known = ", ".join(WRITABLE_FORMATS)
        raise InputError(f"answers cannot be written as {form!r}: choose one of {known}")
    given = _by_topic(records) if form in QUESTION_FORMATS else records
    to_row, reader = _LINES[form]
    check = Check(path)
    with whole_file(path) as handle:
        for record in given:
            handle.write(check(record, to_row(record), reader) + b"\n")
    return check.result()


def write_records(records: Iterable[Record], path: AnyPath) -> WriteResult:
    """Write records as ragassay JSON lines; see `write_answers`."""
    return write_answers(records, path, "ragassay")


def _write_biogen_2024(records: Iterable[Record], path: Path) -> WriteResult:
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


def _read_result(item: Item, run: JsonRow, record: Record) -> Record:
    entry = Item(item.place, item.fields, run)
    return read_biogen_2024(entry, {record.topic or record.id: record.question})


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


def _ragassay_row(record: Record) -> JsonRow:
    row = record.model_dump(exclude_defaults=True)
    plain = [
        one.model_copy(update={"id": original_id(one), "part_of": ""}) for one in record.sources
    ]
    if any(one.part_of for one in record.sources) and distinct_documents(plain) == record.sources:
        row["sources"] = [one.model_dump(exclude_defaults=True) for one in plain]
    return row


_TABLES: Mapping[str, Callable[[Iterable[Record], Path], WriteResult]] = {
    "deepeval": write_deepeval,
    "ragas": write_ragas,
}
_LINES: Mapping[str, tuple[Callable[[Record], JsonRow], Reader]] = {
    "ragassay": (_ragassay_row, read_ragassay),
    "biogen-2025-a": (biogen_2025_a_row, partial(read_biogen_2025_a, questions={})),
    "biogen-2025-b": (biogen_2025_b_row, partial(read_biogen_2025_b, questions={})),
    "nuggetizer-create": (create_input_row, read_create_input),
    "trec-rag-2024": (rag_2024_row, partial(read_rag_2024, questions={})),
    "trec-rag-2025": (rag_2025_row, partial(read_rag_2025, questions={})),
}
"""How a record becomes a line, and how it is read back."""
