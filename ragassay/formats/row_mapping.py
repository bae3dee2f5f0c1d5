"""Map columns to the fields of an answer, and merge rows that belong to the same answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice

from ragassay.errors import InputError
from ragassay.formats.exports import (
    MESSAGE_ROLES,
    ShapeFormat,
    find_last_message,
    join_blocks,
    merge_spans,
)
from ragassay.formats.fields import (
    ANSWER_NAMES,
    QUESTION_NAMES,
    find_name,
    find_value,
    has_value,
    split_path,
)
from ragassay.formats.items import Item
from ragassay.formats.named_fields import (
    FieldTally,
    find_sources,
    find_unread,
    has_one_text,
    rename_fields,
)
from ragassay.formats.problems import is_list, is_mapping, is_object
from ragassay.formats.ragassay_jsonl import NAMED_FIELDS, RAGASSAY, RecordRow
from ragassay.formats.rows import as_text
from ragassay.formats.sniff import MAX_SNIFFED, Format
from ragassay.formats.values import TableCell
from ragassay.records import Rejection

METADATA = "metadata"
_NO_COLUMNS = (METADATA, "citations", "turns", "unread")
FIELDS = tuple(name for name in RecordRow.model_fields if name not in _NO_COLUMNS)
"""Fields of ragassay's format to which a column can be mapped."""

OWN_NAMES = ("id", "question", "answer", "system", "topic")
"""Fields that are read from a column with the same name even if they are not mapped."""

_MOST_INNER = 20
_NEXT = re.compile(r",(?=\w+=)")


def parse_column_map(mapping: Mapping[str, str] | str | Iterable[str] | None) -> dict[str, str]:
    """Parse a mapping from fields to columns or paths.

    Raises:
        InputError: A text is not `FIELD=COLUMN`, or a field is unknown or mapped twice.

    Example:
        >>> parse_column_map(["question=inputs.question,answer=model output", "sources=context"])
        {'question': 'inputs.question', 'answer': 'model output', 'sources': 'context'}
    """
    if mapping is None:
        return {}
    if is_mapping(mapping):
        pairs = [(str(field), str(column)) for field, column in mapping.items()]
    else:
        texts = [mapping] if isinstance(mapping, str) else mapping
        pairs = [_split_pair(part) for text in texts for part in _NEXT.split(str(text))]
    columns: dict[str, str] = {}
    for field, column in pairs:
        if field not in FIELDS:
            raise InputError(f"unknown field {field!r}; the fields are {', '.join(FIELDS)}")
        if field in columns:
            raise InputError(f"{field} is mapped to two columns, {columns[field]!r} and {column!r}")
        columns[field] = column
    return columns


def _split_pair(text: str) -> tuple[str, str]:
    field, sign, column = text.partition("=")
    if not (field.strip() and sign and column.strip()):
        raise InputError(
            f"invalid column mapping {text!r}; write FIELD=COLUMN, such as question=query"
        )
    return field.strip(), column.strip()


def map_columns(
    items: Iterable[Item | Rejection], columns: Mapping[str, str], name: str, tally: FieldTally
) -> Iterator[Item | Rejection]:
    """Yield items whose mapped columns have the names of ragassay's fields.

    Of the unmapped columns, questions, answers, references and sources are recognized by common
    names, and fields in `OWN_NAMES` by their exact name. Columns that are neither mapped nor
    recognized become metadata. A column may be a path such as `inputs.question`, and must occur in
    the first 1,000 items. `tally` counts the fields that were recognized by common names.
    """
    stream = iter(items)
    head = list(islice(stream, MAX_SNIFFED))
    rows = [item.fields for item in head if isinstance(item, Item)]
    if not head:
        raise InputError(f"{name} is empty; at least one record is required")
    for column in columns.values():
        if not any(column in fields or find_value(fields, column) is not None for fields in rows):
            keys = dict.fromkeys(key for fields in rows for key in _list_keys(fields))
            raise InputError(
                f"{name} has no column {column!r}; the columns are {', '.join(keys) or 'none'}"
            )
    for item in chain(head, stream):
        if isinstance(item, Item):
            item = replace(item, fields=_rename_fields(item.fields, columns, tally))
        yield item


def _list_keys(fields: Mapping[str, object]) -> Iterator[str]:
    for key, value in fields.items():
        yield key
        if is_object(value):
            yield from (f"{key}.{inner}" for inner in islice(value, _MOST_INNER))


def _rename_fields(
    fields: Mapping[str, object], columns: Mapping[str, str], tally: FieldTally
) -> dict[str, object]:
    mapped = {f: _wrap_cell(_extract_text(f, find_value(fields, c))) for f, c in columns.items()}
    rest = {name: value for name, value in fields.items() if name not in columns.values()}
    roots = {split_path(column)[0] for column in columns.values() if column not in fields}
    others = {name: value for name, value in rest.items() if name not in roots}
    for field, column in rename_fields(others).names.items():
        if field not in mapped and field in FIELDS:
            mapped[field] = _wrap_cell(rest.pop(column))
            tally.add({field: column})
    own = {
        name: _wrap_cell(rest.pop(name))
        for name in OWN_NAMES
        if name in rest and name not in mapped
    }
    inner = rest.pop(METADATA, None)
    metadata = rest | (inner if is_object(inner) else {})
    has_sources = has_value(mapped.get("sources"))
    candidates = {k: v for k, v in metadata.items() if k in others}
    unread = find_unread(candidates, has_sources=has_sources)
    return mapped | own | {METADATA: metadata} | ({"unread": list(unread)} if unread else {})


def _extract_text(field: str, value: object) -> object:
    role = MESSAGE_ROLES.get(field)
    if role is None or not is_list(value) or not all(map(is_object, value)):
        return value
    return find_last_message(value, role) or join_blocks(value) or value


def _wrap_cell(value: object) -> object:
    return TableCell(value) if isinstance(value, str) else value


_QUERY_IDS = ("query_id", "qid", "question_id", "topic_id")
_RUNS = ("query_run", "run", "run_id", "run_name", "system", "model")
_PASSAGE_NAMES = ("passage_id", "chunk_id", "rank", "doc_id", "docid")


def merge_items(items: Iterable[Item | Rejection], match: Format) -> Iterator[Item | Rejection]:
    """Yield one item per answer, merged from the rows that belong to the answer."""
    if isinstance(match, ShapeFormat) and match.shape is not None and match.shape.spans is not None:
        return merge_spans(items, match.shape.spans)
    return _merge_passages(items) if match in (RAGASSAY, NAMED_FIELDS) else iter(items)


@dataclass
class _ColumnGroup:
    """Table rows that belong to the same answer."""

    first: Item
    rows: list[object]
    seen: set[str]
    answer: tuple[str, object] | None


def _merge_passages(items: Iterable[Item | Rejection]) -> Iterator[Item | Rejection]:
    groups: dict[tuple[str, ...], _ColumnGroup] = {}
    order: list[Item | Rejection | _ColumnGroup] = []
    for item in items:
        key = None if isinstance(item, Rejection) else _build_key(item)
        if isinstance(item, Rejection) or key is None:
            if groups:
                order.append(item)
            else:
                yield item
            continue
        rows = rename_fields(item.fields).fields.get("sources")
        row = rows[0] if is_list(rows) and len(rows) == 1 else rows
        if (group := groups.get(key)) is None:
            groups[key] = group = _ColumnGroup(
                item, [row], {as_text(row)}, _find_answer(item.fields)
            )
            order.append(group)
        elif as_text(row) in group.seen:
            order.append(item)  # A duplicate row is not another passage.
        else:
            group.rows.append(row)
            group.seen.add(as_text(row))
            group.answer = group.answer or _find_answer(item.fields)
    for entry in order:
        yield _merge_group(entry) if isinstance(entry, _ColumnGroup) else entry


def _build_key(item: Item) -> tuple[str, ...] | None:
    """Return the key of the answer in a row, or None if the row does not have a single passage."""
    fields = item.fields
    source = find_sources(_remove_answer(fields))
    if source is None or not has_one_text(fields, source):
        return None
    query = find_name(fields, QUESTION_NAMES)
    query_id, run = find_name(fields, _QUERY_IDS), find_name(fields, _RUNS)
    answer = _find_answer(fields)
    is_listed = query_id is not None and find_name(fields, _PASSAGE_NAMES) is not None
    if query is None or (answer is None and not is_listed):
        return None
    # If queries have ids, only the first row of a query must have the answer.
    answer_text = "" if is_listed else as_text(answer[1] if answer else "")
    parts = [fields.get("id"), fields.get(query_id or ""), fields.get(run or ""), fields[query]]
    return (*map(as_text, parts), answer_text)


def _remove_answer(fields: Mapping[str, object]) -> dict[str, object]:
    used = {find_name(fields, QUESTION_NAMES), find_name(fields, ANSWER_NAMES)}
    return {key: value for key, value in fields.items() if key not in used}


def _find_answer(fields: Mapping[str, object]) -> tuple[str, object] | None:
    name = find_name(fields, ANSWER_NAMES)
    return (name, fields[name]) if name is not None else None


def _merge_group(group: _ColumnGroup) -> Item:
    if len(group.rows) == 1:
        return group.first
    fields = dict(group.first.fields)
    source = find_sources(_remove_answer(fields))
    for name in (source, find_name(fields, _PASSAGE_NAMES)):
        if name is not None:
            del fields[name]
    if group.answer is not None:
        fields[group.answer[0]] = group.answer[1]
    return replace(group.first, fields=fields | {source or "sources": group.rows})
