"""Select answers of a file by their fields and metadata."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.errors import InputError
from ragassay.records import Record


def records_where(records: Sequence[Record], where: Sequence[str]) -> tuple[Record, ...]:
    """Return the records that have the given values.

    Args:
        records: In any order, which is kept.
        where: "FIELD=VALUE" each, the field `system`, `topic`, `id` or one of the metadata. Several
            values of one field are alternatives; several fields must all match.

    Raises:
        InputError: A condition has no "=", names a field that no record has, or nothing matches
            all.

    Example:
        >>> record = Record(id="a", question="q", answer="x", metadata={"variant": "benign"})
        >>> len(records_where([record], ["variant=benign"]))
        1
    """
    wanted: dict[str, set[str]] = {}
    for condition in where:
        field, found, value = condition.partition("=")
        if not found or not field:
            raise InputError(f"--where {condition}: write it as FIELD=VALUE")
        wanted.setdefault(field, set()).add(value)
    known = list(dict.fromkeys(field for record in records for field in _fields(record)))
    for field in wanted:
        if field not in known:
            raise InputError(f"no answer has the field {field!r}; there are {', '.join(known)}")
    kept = tuple(
        record
        for record in records
        if all(_fields(record).get(field) in values for field, values in wanted.items())
    )
    if records and not kept:
        raise InputError(f"none of {len(records)} answers has {' and '.join(where)}")
    return kept


def _fields(record: Record) -> dict[str, str]:
    fields = {"id": record.id, "system": record.system, "topic": record.topic}
    return {name: value for name, value in fields.items() if value is not None} | record.metadata
