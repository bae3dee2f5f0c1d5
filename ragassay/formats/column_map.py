"""Read a table with columns of other names: the user says which column is which field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice

from ragassay.errors import InputError
from ragassay.formats.cells import Cell
from ragassay.formats.items import Item
from ragassay.formats.ragassay_jsonl import RecordRow
from ragassay.formats.shapes import is_mapping, is_object
from ragassay.formats.sniff import MAX_SNIFFED
from ragassay.records import Rejection

METADATA = "metadata"
FIELDS = tuple(name for name in RecordRow.model_fields if name != METADATA)
"""The fields of an answer that a column can be."""

OWN_NAMES = ("id", "question", "answer", "system", "topic")
"""Fields that a column of that name is, without being named: any text may be one."""

_NEXT = re.compile(r",(?=\w+=)")


def column_map(given: Mapping[str, str] | str | Iterable[str] | None) -> dict[str, str]:
    """Return the column of each field, from a mapping or from texts as `question=query,answer=out`.

    Raises:
        InputError: A text is none of these, a field is unknown, or is given twice.

    Example:
        >>> column_map(["question=query,answer=model output", "sources=context"])
        {'question': 'query', 'answer': 'model output', 'sources': 'context'}
    """
    if given is None:
        return {}
    if is_mapping(given):
        pairs = [(str(field), str(column)) for field, column in given.items()]
    else:
        texts = [given] if isinstance(given, str) else given
        pairs = [_pair(part) for text in texts for part in _NEXT.split(str(text))]
    found: dict[str, str] = {}
    for field, column in pairs:
        if field not in FIELDS:
            raise InputError(f"a column cannot be {field!r}: the fields are {', '.join(FIELDS)}")
        if field in found:
            raise InputError(f"the field {field} has two columns, {found[field]!r} and {column!r}")
        found[field] = column
    return found


def _pair(text: str) -> tuple[str, str]:
    field, sign, column = text.partition("=")
    if not (field.strip() and sign and column.strip()):
        raise InputError(f"found {text!r} as a column: write FIELD=COLUMN, as question=query")
    return field.strip(), column.strip()


def with_columns(
    items: Iterable[Item | Rejection], columns: Mapping[str, str], name: str
) -> Iterator[Item | Rejection]:
    """Return items with their columns renamed; but for `OWN_NAMES`, the others become metadata.

    Args:
        items: What a file or a list contains.
        columns: The column of each field.
        name: The file, for messages.

    Raises:
        InputError: There are no items, or none of the first 1,000 has one of the columns.
    """
    stream = iter(items)
    head = list(islice(stream, MAX_SNIFFED))
    seen = {key: None for item in head if isinstance(item, Item) for key in item.fields}
    if not head:
        raise InputError(f"{name} is empty: it has no record")
    for column in columns.values():
        if column not in seen:
            raise InputError(f"{name} has no column {column!r}: it has {', '.join(seen) or 'none'}")
    for item in chain(head, stream):
        yield (
            replace(item, fields=_renamed(item.fields, columns)) if isinstance(item, Item) else item
        )


def _renamed(fields: Mapping[str, object], columns: Mapping[str, str]) -> dict[str, object]:
    named = {field: _cell(fields.get(column)) for field, column in columns.items()}
    rest = {name: value for name, value in fields.items() if name not in columns.values()}
    own = {name: _cell(rest.pop(name)) for name in OWN_NAMES if name in rest and name not in named}
    inner = rest.pop(METADATA, None)
    return named | own | {METADATA: rest | (inner if is_object(inner) else {})}


def _cell(value: object) -> object:
    return Cell(value) if isinstance(value, str) else value
