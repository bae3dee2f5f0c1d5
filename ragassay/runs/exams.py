"""Give answers the items of their query's test bank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ragassay.formats import exam_items
from ragassay.formats.workbench.bank_items import RubricBank
from ragassay.records import ExamItem, Record, Rejection
from ragassay.runs.testbanks import read_bank_file


def with_exam(
    records: Iterable[Record], testbank: str | Path | Sequence[ExamItem]
) -> tuple[tuple[Record, ...], tuple[Rejection, ...]]:
    """Give items of a test bank to the records that bring none.

    Args:
        records: They are looked up by topic, else by id.
        testbank: A file, with what people changed in it; or items for all records.

    Returns:
        The records, and the lines of the bank that could not be read; that it has nothing for
        these records is one of them.

    Raises:
        InputError: The file cannot be read.
    """
    if not isinstance(testbank, str | Path):
        items = tuple(testbank)
        return tuple(_given(record, items) for record in records), ()
    path = Path(testbank)
    found = read_bank_file(path)
    by_query = items_by_query(found.banks)
    given = tuple(_given(record, by_query.get(_key(record, by_query), ())) for record in records)
    return given, (*found.rejections, *([] if any(r.exam for r in given) else [_unused(path)]))


def items_by_query(banks: Iterable[RubricBank]) -> dict[str, tuple[ExamItem, ...]]:
    """Return the items of each query, of all its facets and kinds."""
    found: dict[str, tuple[ExamItem, ...]] = {}
    for bank in banks:
        found[bank.query_id] = (*found.get(bank.query_id, ()), *exam_items(bank))
    return found


def _given(record: Record, items: tuple[ExamItem, ...]) -> Record:
    return record if record.exam else record.model_copy(update={"exam": items})


def _key(record: Record, known: dict[str, tuple[ExamItem, ...]]) -> str:
    return record.topic if record.topic in known and record.topic is not None else record.id


def _unused(path: Path) -> Rejection:
    return Rejection(
        file=str(path),
        line=0,
        problem="none of its queries is the topic or id of an answer: no item was used",
        expected="a bank for the topic ids of the answers",
    )
