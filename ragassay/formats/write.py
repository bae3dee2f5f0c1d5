"""Write records as ragassay JSON lines or in the formats of other tools.

Every record is read back before it is written, so that ragassay can read all files it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.items import Item, Place
from ragassay.formats.nuggetizer import create_input_row, read_create_input
from ragassay.formats.output import (
    Check,
    JsonRow,
    Reader,
    WriteResult,
    build_write_error,
    encode_json,
    replace_file,
)
from ragassay.formats.ragas_deepeval import write_deepeval, write_ragas
from ragassay.formats.ragassay_jsonl import read_ragassay
from ragassay.formats.read import FORMATS
from ragassay.formats.rows import assign_document_ids, restore_id
from ragassay.formats.sniff import complete_format
from ragassay.formats.trec_biogen import (
    build_biogen_2024_row,
    build_biogen_2024_run,
    build_biogen_2025_a_row,
    build_biogen_2025_b_row,
    read_biogen_2024,
    read_biogen_2025_a,
    read_biogen_2025_b,
)
from ragassay.formats.trec_rag import (
    build_rag_2024_row,
    build_rag_2025_row,
    read_rag_2024,
    read_rag_2025,
)
from ragassay.records import Document, Record

SENTENCE_FORMATS: frozenset[str] = frozenset(
    ("biogen-2025-a", "biogen-2025-b", "trec-rag-2024", "trec-rag-2025")
)
"""Names of writable formats that require answers in sentences with citations."""

QUESTION_FORMATS: frozenset[str] = frozenset(("nuggetizer-create",))
"""Names of writable formats that contain questions but no answers."""


def write_answers(records: Iterable[Record], path: AnyPath, form: str) -> WriteResult:
    """Write answers in a given format. An existing file is replaced, completely or not at all.

    If a record has no topic, its id is written as the topic. Citations by position become citations
    by source id. Fields that a format cannot store are omitted and counted.

    - ragassay: All fields are written.
    - ragas, deepeval: Question, answer as text, sources, reference and metadata are written.
    - biogen-2024: All answers must be by the same system, `team_id/run_name`. Answers are written
      as text, with PMIDs before the period. The metadata `contact_email` becomes the contact
      address. Questions are not written.
    - biogen-2025-a, biogen-2025-b: Questions and sentences with citations are written. In task A,
      these are the supporting citations, and the contradicting citations come from the metadata
      `contradicted_citations`. The system must be `team_id/run_id`.
    - trec-rag-2024, trec-rag-2025: Questions and sentences are written, with references in the
      order of citation. The system becomes the run, and must be `team_id/run_id` for 2025.
    - nuggetizer-create: Questions with their sources are written. Answers to the same topic are
      merged.

    Args:
        records: Answers to write. If there are no answers, the file is empty and cannot be read
            back.
        path: Path of the file, which is compressed if the name ends in `.gz`. For ragas and
            deepeval, a name that ends in `.csv` selects CSV, and `.json` a JSON array.
        form: One of `WRITABLE_FORMATS`.

    Raises:
        InputError: The format is unknown; the file cannot be written; a record cannot be read back,
            has the id of another record, or has an answer that is not in sentences although the
            format requires it; "biogen-2024" or CSV is written without records; records for
            "biogen-2024" have different systems; or records for "nuggetizer-create" have the same
            topic but different questions or source texts.
    """
    path = Path(path)
    if form in _WHOLE_FILES:
        return _WHOLE_FILES[form](records, path)
    if form not in _LINES:
        known = ", ".join(WRITABLE_FORMATS)
        raise InputError(f"answers cannot be written as {form!r}; choose one of {known}")
    if form in QUESTION_FORMATS:
        records = _merge_by_topic(records)
    _, reader = _LINES[form]
    check = Check(path)
    with replace_file(path) as handle:
        for record in records:
            handle.write(check(record, _build_detectable_row(record, form), reader) + b"\n")
    return check.build_result()


def write_records(records: Iterable[Record], path: AnyPath) -> WriteResult:
    """Write records as ragassay JSON lines; see `write_answers`."""
    return write_answers(records, path, "ragassay")


def _build_detectable_row(record: Record, form: str) -> JsonRow:
    """Convert a record to a line, without metadata that would make it a line of another format."""
    to_row, _ = _LINES[form]
    row = to_row(record)
    if _is_detected(row, form):
        return row
    kept: dict[str, str] = {}
    for key, text in record.metadata.items():
        tried = kept | {key: text}
        if _is_detected(to_row(record.model_copy(update={"metadata": tried})), form):
            kept = tried
    return to_row(record.model_copy(update={"metadata": kept}))


def _is_detected(row: JsonRow, form: str) -> bool:
    match = complete_format(Item(Place("", 0, "", ""), row).keys, FORMATS)
    return match is not None and match.name == form


def _write_biogen_2024(records: Iterable[Record], path: Path) -> WriteResult:
    run: JsonRow = {}
    rows: list[JsonRow] = []
    check = Check(path)
    for record in records:
        record_run = build_biogen_2024_run(record)
        if rows and record_run != run:
            expected = "a single team, run and contact_email"
            raise build_write_error(
                record, "system", f"found {record.system!r}, which is a different run", expected
            )
        run = record_run
        row = build_biogen_2024_row(record)
        check(record, row, partial(_read_result, run=run, record=record))
        rows.append(row)
    if not rows:
        raise InputError(f"{path} cannot be written: a BioGen 2024 run needs at least one answer")
    with replace_file(path) as handle:
        handle.write(encode_json(run)[:-1] + b', "results": [\n')
        handle.write(b",\n".join(encode_json(row) for row in rows) + b"\n]}\n")
    return check.build_result()


def _read_result(item: Item, run: JsonRow, record: Record) -> Record:
    entry = Item(item.place, item.fields, run)
    return read_biogen_2024(entry, {record.topic or record.id: record.question})


def _merge_by_topic(records: Iterable[Record]) -> list[Record]:
    by_topic: dict[str, Record] = {}
    for record in records:
        topic = record.topic or record.id
        first = by_topic.setdefault(topic, record)
        if first.question != record.question:
            expected = f"the question of {first.id!r} on the same topic"
            raise build_write_error(
                record,
                "question",
                "the question differs from that of another record on the topic",
                expected,
            )
        merged = _merge_sources(first.sources, record)
        by_topic[topic] = first.model_copy(update={"sources": merged})
    return list(by_topic.values())


def _merge_sources(known: Sequence[Document], record: Record) -> tuple[Document, ...]:
    merged = [one.model_copy(update={"id": restore_id(one)}) for one in known]
    for source in record.sources:
        source = source.model_copy(update={"id": restore_id(source)})
        same = [one for one in merged if one.id == source.id]
        if any((one.text, one.title) == (source.text, source.title) for one in same):
            continue
        if same and not (source.part_of or any(one.part_of for one in same)):
            expected = "the same text as in other answers on the topic"
            raise build_write_error(
                record,
                "sources",
                f"the text of {source.id!r} differs from its text in another answer",
                expected,
            )
        merged.append(source)
    return assign_document_ids(merged)


def _build_ragassay_row(record: Record) -> JsonRow:
    row = record.model_dump(exclude_defaults=True)
    plain = [
        one.model_copy(update={"id": restore_id(one), "part_of": ""}) for one in record.sources
    ]
    if any(one.part_of for one in record.sources) and assign_document_ids(plain) == record.sources:
        row["sources"] = [one.model_dump(exclude_defaults=True) for one in plain]
    return row


_WHOLE_FILES: Mapping[str, Callable[[Iterable[Record], Path], WriteResult]] = {
    "biogen-2024": _write_biogen_2024,
    "deepeval": write_deepeval,
    "ragas": write_ragas,
}
"""Functions that write all records of a file, keyed by format."""

_LINES: Mapping[str, tuple[Callable[[Record], JsonRow], Reader]] = {
    "ragassay": (_build_ragassay_row, read_ragassay),
    "biogen-2025-a": (build_biogen_2025_a_row, partial(read_biogen_2025_a, questions={})),
    "biogen-2025-b": (build_biogen_2025_b_row, partial(read_biogen_2025_b, questions={})),
    "nuggetizer-create": (create_input_row, read_create_input),
    "trec-rag-2024": (build_rag_2024_row, partial(read_rag_2024, questions={})),
    "trec-rag-2025": (build_rag_2025_row, partial(read_rag_2025, questions={})),
}
"""Functions that convert a record to a line and back to a record, keyed by format."""

WRITABLE_FORMATS = ("ragassay", *sorted({*_WHOLE_FILES, *_LINES} - {"ragassay"}))
"""Names of the formats in which answers can be written."""
