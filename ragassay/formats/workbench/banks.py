"""Read and write test banks: nuggets or exam questions for grading responses to a query.

    {"query_id", "query_text", "info", "items": [{"query_id", "nugget_id", "nugget_text"}]} per line

Exam questions have `question_id` and `question_text` instead (Dietz 2024, figures 2 and 3), and
`gold_answers` if answers are known. The Workbench also writes `facet_id`, `facet_text` and
`test_collection`. `info` may be any JSON. ragassay adds "secret" to the `info` of secret items, and
"history" to that of items and banks that reviewers changed. Unknown fields and nulls are preserved.

Published banks may contain an item twice. Repeated items are merged, and different items with the
same id get new ids. A rejection reports the number of repeated ids.

{"query_id", "title_query", "format_version": "v3",
     "nugget_bank": {TEXT: {"question", "question_id", "answers": {TEXT: {"answer"}}, ...}},
     "claim_bank": {TEXT: {"claim", "claim_id", ...}}}

A line of TREC AutoJudge's v3 format becomes up to two banks, one of questions and one of claims.
`nugget_bank` and `claim_bank` may also be arrays. Fields that test banks lack, such as references
and sub-nuggets, are kept and written again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.items import Item, Place, iter_items, read_once
from ragassay.formats.output import JsonRow, write_values
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    is_list,
    is_object,
    parse,
    quote_text,
)
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, sniff
from ragassay.formats.workbench.bank_items import (
    BankItem,
    BankKind,
    RubricBank,
    build_bank_item_id,
    find_item_id,
    format_notes,
    merge_repeated_items,
    parse_value,
    read_notes,
)
from ragassay.records import Rejection

VERSION = "format_version"


class _BankKind(NamedTuple):
    """Names of the fields of a question or claim in the v3 format and in a test bank."""

    bank: str
    text: str
    id: str
    own_text: str
    own_id: str


_KINDS = (
    _BankKind("nugget_bank", "question", "question_id", "question_text", "question_id"),
    _BankKind("claim_bank", "claim", "claim_id", "nugget_text", "nugget_id"),
)
_BANK_NAMES = {"title_query": "query_text", "metadata": "info"}

NUGGET_BANK_V3 = Format(
    name="nugget-bank-v3",
    required=(("nugget_bank", "claim_bank"),),
    fields=frozenset(
        {"query_id", "title_query", "full_query", "test_collection", VERSION}
        | {kind.bank for kind in _KINDS}
    ),
    leading="nugget_bank",
    keys="query_id, title_query, nugget_bank{TEXT: {question, answers}}, claim_bank{TEXT: {claim}}",
)


def split_banks(items: Iterable[Item | Rejection]) -> Iterator[Item | Rejection]:
    """Split each line of the v3 format into an item with its questions and one with its claims.

    Invalid nuggets are rejected. Sub-nuggets are kept but not graded, and a rejection reports their
    number.
    """
    for item in items:
        kinds = [] if isinstance(item, Rejection) else [k for k in _KINDS if k.bank in item.fields]
        if isinstance(item, Rejection) or not kinds:
            yield item
            continue
        for kind in kinds:
            if item.fields[kind.bank] is not None:
                yield from _read_kind(item, kind)


def _read_kind(item: Item, kind: _BankKind) -> Iterator[Item | Rejection]:
    value = item.fields[kind.bank]
    if not (is_object(value) or is_list(value)):
        expected = f'nuggets keyed by text: {{TEXT: {{"{kind.text}": …}}}}'
        yield item.place.reject(Problem(kind.bank, f"found {describe_value(value)}", expected))
        return
    entries = value.items() if is_object(value) else enumerate(value)
    rows: list[JsonRow] = []
    for key, entry in entries:
        row = _convert_entry(entry, key if isinstance(key, str) else "", kind)
        if row is not None:
            rows.append(row)
            continue
        found = f"found {describe_value(entry)}"
        yield item.place.reject(Problem(f"{kind.bank}.{key}", found, f'a "{kind.text}"'))
    n_inner = sum(len(one) for row in rows if is_list(one := row.get("sub_nuggets")))
    if n_inner:
        text = f"{n_inner} sub-nuggets are stored, but not graded"
        yield item.place.reject(Problem(kind.bank, text, "only nuggets at the top level"))
    yield replace(item, fields=_convert_bank_fields(item.fields) | {"items": rows})


def _convert_bank_fields(line: JsonRow) -> JsonRow:
    banks = {kind.bank for kind in _KINDS}
    fields = {_BANK_NAMES.get(key, key): part for key, part in line.items() if key not in banks}
    title = fields.get("query_text")
    if fields.get("query_id") is None and isinstance(title, str):
        fields["query_id"] = _hash_text(title)
    return {VERSION: "v3"} | fields


def _convert_entry(entry: object, key: str, kind: _BankKind) -> JsonRow | None:
    if not is_object(entry):
        return None
    text = entry.get(kind.text) or key
    if not isinstance(text, str) or not text.strip():
        return None
    answers = _map_answers(entry.get("answers"))
    own = {kind.text, kind.id, "metadata"}
    if all(answer == {"answer": name} for name, answer in answers.items()):
        own.add("answers")
    rest = {n: v for n, v in entry.items() if n not in own}
    row: JsonRow = {kind.own_id: entry.get(kind.id) or _hash_text(text), kind.own_text: text}
    if answers:
        row["gold_answers"] = list(answers)
    if entry.get("metadata") is not None:
        row["info"] = entry["metadata"]
    return rest | row


def _map_answers(answers: object) -> dict[str, object]:
    """Return the answers to a question as objects, keyed by the text of the answer."""
    listed = list(answers.values()) if is_object(answers) else answers
    by_text: dict[str, object] = {}
    for answer in listed if is_list(listed) else []:
        text = answer.get("answer") if is_object(answer) else answer
        if isinstance(text, str) and text.strip():
            by_text[text] = answer if is_object(answer) else {"answer": text}
    return by_text


def _hash_text(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def join_banks(rows: Iterable[JsonRow]) -> list[JsonRow]:
    """Join rows of test banks from a file in the v3 format into one line per query."""
    written: list[JsonRow] = []
    lines: dict[object, JsonRow] = {}
    for row in rows:
        if row.get(VERSION) != "v3":
            written.append(row)
            continue
        if (line := lines.get(row["query_id"])) is None:
            line = lines[row["query_id"]] = _build_line(row)
            written.append(line)
        items = row["items"]
        for item in items if is_list(items) else []:
            if is_object(item):
                _add_nugget(line, item)
    return written


def _build_line(row: JsonRow) -> JsonRow:
    names = {own: name for name, own in _BANK_NAMES.items()}
    fields = ((names.get(key, key), part) for key, part in row.items() if key != "items")
    return {key: part for key, part in fields if part not in (None, "")}


def _add_nugget(line: JsonRow, item: JsonRow) -> None:
    kind = next(one for one in _KINDS if one.own_text in item)
    moved = (kind.own_text, kind.own_id, "gold_answers", "info", "facet_id")
    text = str(item[kind.own_text])
    nugget: JsonRow = {kind.text: text, kind.id: item.get(kind.own_id)}
    known = _map_answers(item.get("answers"))
    gold = item.get("gold_answers")
    texts = [str(one) for one in gold] if is_list(gold) else []
    answers: JsonRow = {text: known.get(text, {"answer": text}) for text in texts}
    answer_field = {"answers": answers} if answers else {}
    rest = item | answer_field if "answers" in item else answer_field | item
    nugget |= {key: part for key, part in rest.items() if key not in moved and part is not None}
    if item.get("info") is not None:
        info = item["info"]
        nugget["metadata"] = info if is_object(info) else {"info": info}
    bank = line.setdefault(kind.bank, {})
    if is_object(bank):
        bank[text] = nugget


@dataclass(frozen=True)
class BankResult:
    """Test banks in file order, with rejections of unreadable lines and repeated items."""

    banks: tuple[RubricBank, ...]
    rejections: tuple[Rejection, ...]


class BankItemRow(Row):
    """A nugget or question of a bank."""

    query_id: IdText | None = None
    facet_id: IdText | None = None
    nugget_id: IdText | None = None
    nugget_text: str | None = Field(default=None, min_length=1)
    question_id: IdText | None = None
    question_text: str | None = Field(default=None, min_length=1)
    gold_answers: list[str] | None = None
    info: object = None


class BankRow(Row):
    """A line of a file of test banks."""

    query_id: IdText
    facet_id: IdText | None = None
    facet_text: str = ""
    test_collection: str = ""
    query_text: str = ""
    info: object = None
    items: list[BankItemRow]


TEST_BANK = Format(
    name="rubric-test-bank",
    required=(("query_id",), ("items",)),
    fields=frozenset(BankRow.model_fields),
    leading="items",
    keys="query_id, query_text, items[{nugget_id, nugget_text}]",
)


def read_test_banks(path: AnyPath) -> BankResult:
    """Read test banks of nuggets or exam questions, optionally compressed with gzip.

    A query may have several banks for different facets. Nugget banks of TREC AutoJudge can also be
    read.

    Raises:
        InputError: The file cannot be opened, is empty, or contains no test banks.
    """
    path = Path(path)
    _, items = sniff(iter_items(path), (TEST_BANK, NUGGET_BANK_V3), str(path))
    repeated: list[Rejection] = []

    def read(item: Item) -> RubricBank:
        bank, problem = merge_repeated_items(read_bank(item))
        repeated.extend([item.place.reject(problem)] if problem else [])
        return bank

    banks, rejections = read_once(split_banks(items), read, lambda bank: bank.key, _describe_repeat)
    return BankResult(banks, tuple(sorted([*rejections, *repeated], key=lambda one: one.line)))


def _describe_repeat(bank: RubricBank, first: Place) -> Problem:
    text = f"the bank of {quote_text(bank.query_id)} is already on line {first.line}"
    return Problem("query_id", text, "one bank for each query and facet")


def read_bank(item: Item) -> RubricBank:
    """Convert a line to a test bank."""
    row = parse(BankRow, item.fields)
    kinds = {_detect_kind(item_row) for item_row in row.items}
    if len(kinds) > 1 or None in kinds:
        i = next((i for i, item_row in enumerate(row.items) if _detect_kind(item_row) is None), 0)
        text = "neither a nugget nor a question" if None in kinds else "both nuggets and questions"
        expected = '"nugget_text" in each item, or "question_text" in each'
        raise ProblemError(f"items.{i}", text, expected)
    kind: BankKind = "questions" if "questions" in kinds else "nuggets"
    for i, item_row in enumerate(row.items):
        if item_row.query_id not in (None, row.query_id):
            text = f"found {describe_value(item_row.query_id)}, which is not the bank's query"
            raise ProblemError(f"items.{i}.query_id", text, quote_text(row.query_id))
    notes = read_notes(row.info)
    return RubricBank(
        query_id=row.query_id,
        query_text=row.query_text,
        kind=kind,
        items=tuple(map(_build_item, row.items, _list_rows(item), [row] * len(row.items))),
        facet_id=row.facet_id or "",
        test_collection=row.test_collection,
        info=notes.info,
        facet_text=row.facet_text,
        history=notes.history,
        rest=_dump_json(_select_nulls(item.fields) | (row.model_extra or {})),
    )


def _list_rows(item: Item) -> list[JsonRow]:
    rows = item.fields["items"]
    return [row for row in rows if is_object(row)] if is_list(rows) else []


def _select_nulls(fields: JsonRow) -> JsonRow:
    return {name: None for name, value in fields.items() if value is None}


def _detect_kind(row: BankItemRow) -> BankKind | None:
    if row.nugget_text is not None and row.question_text is None:
        return "nuggets"
    return "questions" if row.question_text is not None and row.nugget_text is None else None


def _build_item(row: BankItemRow, fields: JsonRow, bank: BankRow) -> BankItem:
    text = row.nugget_text or row.question_text or ""
    facet = row.facet_id or bank.facet_id or ""
    notes = read_notes(row.info)
    rest = _select_nulls(fields) | (row.model_extra or {})
    if row.gold_answers == []:  # The Workbench distinguishes an empty set from a missing one.
        rest["gold_answers"] = []
    return BankItem(
        text=text,
        id=row.nugget_id or row.question_id or build_bank_item_id(bank.query_id, text, facet),
        info=notes.info,
        answers=tuple(row.gold_answers or ()),
        facet="" if facet == bank.facet_id else facet,
        is_secret=notes.is_secret,
        history=notes.history,
        rest=_dump_json(rest),
    )


def _dump_json(fields: dict[str, object] | None) -> str:
    return json.dumps(fields, ensure_ascii=False) if fields else ""


def _parse_rest(rest: str) -> JsonRow:
    value = parse_value(rest) if rest else None
    return value if is_object(value) else {}


def write_test_banks(banks: Iterable[RubricBank], path: AnyPath) -> None:
    """Write test banks. For the Workbench, use a file name that ends in `.gz`.

    Banks from files in TREC AutoJudge's v3 format are written in that format.

    Raises:
        InputError: A bank has no query id or repeats the query, facet and kind of another bank; two
            items of a bank have the same id; an item has no text; or the file cannot be written.
    """
    path = Path(path)
    seen: set[tuple[str, str, str]] = set()
    rows: list[JsonRow] = []
    for bank in banks:
        if not bank.query_id.strip() or bank.key in seen:
            problem = "occurs twice" if bank.key in seen else "has no query"
            raise InputError(f"the test bank {bank.query_id!r} cannot be written: it {problem}")
        seen.add(bank.key)
        rows.append(_build_bank_row(bank))
    write_values(join_banks(rows), path)


def _build_bank_row(bank: RubricBank) -> JsonRow:
    row: JsonRow = {"query_id": bank.query_id} | _parse_rest(bank.rest)
    texts = {"facet_id": bank.facet_id, "facet_text": bank.facet_text}
    row |= {name: text for name, text in texts.items() if text}
    row |= {"test_collection": bank.test_collection, "query_text": bank.query_text}
    row |= format_notes(bank.info, bank.history)
    items = [_build_item_row(bank_item, bank) for bank_item in bank.items]
    key = "nugget_id" if bank.kind == "nuggets" else "question_id"
    ids = [str(item[key]) for item in items]
    twice = next((name for i, name in enumerate(ids) if name in ids[:i]), None)
    if twice is not None or not all(bank_item.text.strip() for bank_item in bank.items):
        problem = "an item has no text" if twice is None else f"two items have the id {twice!r}"
        raise InputError(f"the test bank {bank.query_id!r} cannot be written: {problem}")
    row["items"] = items
    return row


def _build_item_row(item: BankItem, bank: RubricBank) -> JsonRow:
    stem = bank.kind.removesuffix("s")
    row: JsonRow = {"query_id": bank.query_id} | _parse_rest(item.rest)
    facet = item.facet or bank.facet_id
    if facet:
        row["facet_id"] = facet
    row |= {f"{stem}_id": find_item_id(item, bank), f"{stem}_text": item.text}
    if item.answers:
        row["gold_answers"] = list(item.answers)
    return row | format_notes(item.info, item.history, item.is_secret)
