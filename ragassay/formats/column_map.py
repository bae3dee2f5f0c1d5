"""Read a file with fields of other names: the user says which column, or path, is which field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice

from ragassay.errors import InputError
from ragassay.formats.cells import Cell
from ragassay.formats.exports import MESSAGE_ROLES, block_text, last_message
from ragassay.formats.field_names import has_value
from ragassay.formats.field_paths import path_parts, value_at
from ragassay.formats.items import Item
from ragassay.formats.named_fields import FieldTally, find_unread, rename_fields
from ragassay.formats.ragassay_jsonl import RecordRow
from ragassay.formats.shapes import is_list, is_mapping, is_object
from ragassay.formats.sniff import MAX_SNIFFED
from ragassay.records import Rejection

METADATA = "metadata"
_NO_COLUMNS = (METADATA, "citations", "turns", "unread")
FIELDS = tuple(name for name in RecordRow.model_fields if name not in _NO_COLUMNS)
"""The fields of an answer that a column can be."""

OWN_NAMES = ("id", "question", "answer", "system", "topic")
"""Fields that a column of that name is, without being named: any text may be one."""

_MOST_INNER = 20
_NEXT = re.compile(r",(?=\w+=)")


def column_map(given: Mapping[str, str] | str | Iterable[str] | None) -> dict[str, str]:
    """Return the column or path of each field, from a mapping or from texts.

    Raises:
        InputError: A text is none of these, a field is unknown, or is given twice.

    Example:
        >>> column_map(["question=inputs.question,answer=model output", "sources=context"])
        {'question': 'inputs.question', 'answer': 'model output', 'sources': 'context'}
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
    items: Iterable[Item | Rejection], columns: Mapping[str, str], name: str, tally: FieldTally
) -> Iterator[Item | Rejection]:
    """Return items with their columns renamed.

    Question, answer, reference and sources that the user does not name are looked up by their usual
    names, and `OWN_NAMES` by their own; all other columns become metadata.

    Args:
        items: What a file or a list contains.
        columns: The column of each field, or a path to its value: `inputs.question`.
        name: The file, for messages.
        tally: Counts the fields that were looked up by their usual names.

    Raises:
        InputError: There are no items, or none of the first 1,000 has one of the columns.
    """
    stream = iter(items)
    head = list(islice(stream, MAX_SNIFFED))
    read = [item.fields for item in head if isinstance(item, Item)]
    if not head:
        raise InputError(f"{name} is empty: it has no record")
    for column in columns.values():
        if not any(column in fields or value_at(fields, column) is not None for fields in read):
            seen = dict.fromkeys(key for fields in read for key in _shown_keys(fields))
            raise InputError(f"{name} has no column {column!r}: it has {', '.join(seen) or 'none'}")
    for item in chain(head, stream):
        yield (
            replace(item, fields=_renamed(item.fields, columns, tally))
            if isinstance(item, Item)
            else item
        )


def _shown_keys(fields: Mapping[str, object]) -> Iterator[str]:
    """Yield the columns of a row, and the paths one level below."""
    for key, value in fields.items():
        yield key
        if is_object(value):
            yield from (f"{key}.{inner}" for inner in islice(value, _MOST_INNER))


def _renamed(
    fields: Mapping[str, object], columns: Mapping[str, str], tally: FieldTally
) -> dict[str, object]:
    named = {f: _cell(_plain_text(f, value_at(fields, c))) for f, c in columns.items()}
    rest = {name: value for name, value in fields.items() if name not in columns.values()}
    taken = {path_parts(column)[0] for column in columns.values() if column not in fields}
    others = {name: value for name, value in rest.items() if name not in taken}
    usual = rename_fields(others)
    for field, column in usual.names.items():
        if field not in named and field in FIELDS:
            named[field] = _cell(rest.pop(column))
            tally.add({field: column})
    own = {name: _cell(rest.pop(name)) for name in OWN_NAMES if name in rest and name not in named}
    inner = rest.pop(METADATA, None)
    about = rest | (inner if is_object(inner) else {})
    has_sources = has_value(named.get("sources"))
    unread = find_unread({k: v for k, v in about.items() if k in others}, has_sources=has_sources)
    return named | own | {METADATA: about} | ({"unread": list(unread)} if unread else {})


def _plain_text(field: str, value: object) -> object:
    """Return the text of messages or blocks, for a question or answer; else the value."""
    role = MESSAGE_ROLES.get(field)
    if role is None or not is_list(value) or not all(map(is_object, value)):
        return value
    return last_message(value, role) or block_text(value) or value


def _cell(value: object) -> object:
    return Cell(value) if isinstance(value, str) else value
