"""Put rows together that are one answer: a passage a row, or the spans of a trace.

open-rag-eval's CSV (vectara/open-rag-eval, `connectors/csv_connector.py`) has a row for each
passage, and the answer on the first row of its query and run only:

    query_id,query,query_run,passage_id,passage,generated_answer
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ragassay.formats.export_shapes import ShapeFormat
from ragassay.formats.exports import merge_spans
from ragassay.formats.field_names import ANSWER_NAMES, QUESTION_NAMES, find_name
from ragassay.formats.items import Item
from ragassay.formats.named_fields import find_sources, has_one_text, rename_fields
from ragassay.formats.ragassay_jsonl import NAMED_FIELDS, RAGASSAY
from ragassay.formats.rows import as_text
from ragassay.formats.shapes import is_list
from ragassay.formats.sniff import Format
from ragassay.records import Rejection

_QUERY_IDS = ("query_id", "qid", "question_id", "topic_id")
_RUNS = ("query_run", "run", "run_id", "run_name", "system", "model")
_PASSAGE_NAMES = ("passage_id", "chunk_id", "rank", "doc_id", "docid")


def merged_items(items: Iterable[Item | Rejection], match: Format) -> Iterator[Item | Rejection]:
    """Return items, those that belong to one answer as one.

    Args:
        items: The items of a file.
        match: Its format.
    """
    if isinstance(match, ShapeFormat) and match.shape is not None and match.shape.spans is not None:
        return merge_spans(items, match.shape.spans)
    return _merge_passages(items) if match in (RAGASSAY, NAMED_FIELDS) else iter(items)


@dataclass
class _Group:
    """Rows of one answer.

    Attributes:
        first: The first of them.
        rows: The sources, one a row, as read from its columns.
        seen: The same as text.
        answer: The column of the answer, and the first answer that is not empty.
    """

    first: Item
    rows: list[object]
    seen: set[str]
    answer: tuple[str, object] | None


def _merge_passages(items: Iterable[Item | Rejection]) -> Iterator[Item | Rejection]:
    """Return items; rows of one question and answer that have one passage each are one item."""
    groups: dict[tuple[str, ...], _Group] = {}
    order: list[Item | Rejection | _Group] = []
    for item in items:
        key = None if isinstance(item, Rejection) else _key_of(item)
        if isinstance(item, Rejection) or key is None:
            if groups:
                order.append(item)
            else:
                yield item
            continue
        row = _passage(item)
        group = groups.get(key)
        if group is None:
            groups[key] = group = _Group(item, [row], {as_text(row)}, _answer_of(item.fields))
            order.append(group)
        elif as_text(row) in group.seen:
            order.append(item)  # a row that repeats another one is no further passage
        else:
            group.rows.append(row)
            group.seen.add(as_text(row))
            group.answer = group.answer or _answer_of(item.fields)
    for one in order:
        yield _merged(one) if isinstance(one, _Group) else one


def _key_of(item: Item) -> tuple[str, ...] | None:
    """Return what rows of one answer share; None for a row that has not one passage."""
    fields = item.fields
    source = find_sources(_without_answer(fields))
    if source is None or not has_one_text(fields, source):
        return None
    query = find_name(fields, QUESTION_NAMES)
    named, run = find_name(fields, _QUERY_IDS), find_name(fields, _RUNS)
    answer = _answer_of(fields)
    is_listed = named is not None and find_name(fields, _PASSAGE_NAMES) is not None
    if query is None or (answer is None and not is_listed):
        return None
    # Of a query with an id, only the first row need have the answer.
    told = "" if is_listed else as_text(answer[1] if answer else "")
    parts = [fields.get("id"), fields.get(named or ""), fields.get(run or ""), fields[query]]
    return (*(as_text(part) for part in parts), told)


def _without_answer(fields: Mapping[str, object]) -> dict[str, object]:
    taken = {find_name(fields, QUESTION_NAMES), find_name(fields, ANSWER_NAMES)}
    return {key: value for key, value in fields.items() if key not in taken}


def _answer_of(fields: Mapping[str, object]) -> tuple[str, object] | None:
    name = find_name(fields, ANSWER_NAMES)
    return (name, fields[name]) if name is not None else None


def _passage(item: Item) -> object:
    rows = rename_fields(item.fields).fields.get("sources")
    row = rows[0] if is_list(rows) and len(rows) == 1 else rows
    return row


def _merged(group: _Group) -> Item:
    if len(group.rows) == 1:
        return group.first
    fields = dict(group.first.fields)
    source = find_sources(_without_answer(fields))
    for name in (source, find_name(fields, _PASSAGE_NAMES)):
        if name is not None:
            del fields[name]
    if group.answer is not None:
        fields[group.answer[0]] = group.answer[1]
    return replace(group.first, fields=fields | {source or "sources": group.rows})
