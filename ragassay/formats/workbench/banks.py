"""Read and write test banks: the nuggets or exam questions that grade a query's responses.

    {"query_id", "query_text", "info", "items": [{"query_id", "nugget_id", "nugget_text"}]} a line

Exam questions have `question_id` and `question_text` instead (Dietz 2024, figures 2 and 3), and
`gold_answers` where answers are known. The software also writes `facet_id`, `facet_text` and
`test_collection`. Its `info` is any JSON: an item that is secret, or that people changed, says so
there, under "secret" and "history". Unknown fields are kept, and so are nulls.

A released bank has an item twice: one that says the same again is merged with the first, another
text under its id gets an id of its own, and a rejection counts them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from ragassay.errors import InputError
from ragassay.formats.items import Item, iter_items, read_once
from ragassay.formats.output import JsonRow, write_values
from ragassay.formats.problems import (
    Problem,
    describe_value,
    found_text,
    is_list,
    is_object,
    validate,
)
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, sniff
from ragassay.formats.workbench.bank_items import (
    BankItem,
    BankKind,
    RubricBank,
    bank_item_id,
    item_id,
    parse_value,
    read_notes,
    without_repeats,
    written_notes,
)
from ragassay.formats.workbench.nugget_banks import NUGGET_BANK_V3, join_banks, split_banks
from ragassay.records import Rejection


@dataclass(frozen=True)
class BankResult:
    """The test banks of a file and its rejected lines.

    Attributes:
        banks: In the file's order.
        rejections: Lines that could not be read, and items that came twice.
    """

    banks: tuple[RubricBank, ...]
    rejections: tuple[Rejection, ...]


class BankItemRow(Row):
    """An item of a bank: a nugget or a question."""

    query_id: IdText | None = None
    facet_id: IdText | None = None
    nugget_id: IdText | None = None
    nugget_text: str | None = Field(default=None, min_length=1)
    question_id: IdText | None = None
    question_text: str | None = Field(default=None, min_length=1)
    gold_answers: list[str] | None = None
    info: object = None


class BankRow(Row):
    """A line of the file."""

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


def read_test_banks(path: Path) -> BankResult:
    """Read test banks of nuggets or of exam questions, plain or gzip.

    A query may have several banks, of several facets. Nugget banks of TREC AutoJudge are read, too.

    Raises:
        InputError: the file cannot be opened, is empty, or has no test bank.
    """
    _, items = sniff(iter_items(path), (TEST_BANK, NUGGET_BANK_V3), str(path))
    twice: list[Rejection] = []

    def read(item: Item) -> RubricBank | Problem:
        bank = read_bank(item)
        if isinstance(bank, Problem):
            return bank
        once, problem = without_repeats(bank)
        twice.extend([item.place.reject(problem)] if problem else [])
        return once

    banks, rejections = read_once(
        split_banks(items), read, lambda bank: bank.key, _repeated_bank_problem
    )
    return BankResult(banks, tuple(sorted([*rejections, *twice], key=lambda one: one.line)))


def _repeated_bank_problem(bank: RubricBank, line: int) -> Problem:
    text = f"the bank of {found_text(bank.query_id)} is already on line {line}"
    return Problem("query_id", text, "a bank for each query and facet")


def read_bank(item: Item) -> RubricBank | Problem:
    """Turn a line into a test bank."""
    row = validate(BankRow, item.fields)
    if isinstance(row, Problem):
        return row
    kinds = {_kind(point) for point in row.items}
    if len(kinds) > 1 or None in kinds:
        i = next((i for i, point in enumerate(row.items) if _kind(point) is None), 0)
        text = "neither a nugget nor a question" if None in kinds else "nuggets beside questions"
        return Problem(f"items.{i}", text, '"nugget_text" in each item, or "question_text" in each')
    kind: BankKind = "questions" if "questions" in kinds else "nuggets"
    stray = next((i for i, point in enumerate(row.items) if _is_stray(point, row)), None)
    if stray is not None:
        text = f"found {describe_value(row.items[stray].query_id)}, another query than its bank's"
        return Problem(f"items.{stray}.query_id", text, found_text(row.query_id))
    noted = read_notes(row.info)
    return RubricBank(
        query_id=row.query_id,
        query_text=row.query_text,
        kind=kind,
        items=tuple(map(_point, row.items, _rows_of(item), [row] * len(row.items))),
        facet_id=row.facet_id or "",
        test_collection=row.test_collection,
        info=noted.info,
        facet_text=row.facet_text,
        history=noted.history,
        rest=_json(_nulls(item.fields) | (row.model_extra or {})),
    )


def _rows_of(item: Item) -> list[JsonRow]:
    rows = item.fields["items"]
    return [row for row in rows if is_object(row)] if is_list(rows) else []


def _nulls(fields: JsonRow) -> JsonRow:
    return {name: None for name, value in fields.items() if value is None}


def _kind(row: BankItemRow) -> BankKind | None:
    if row.nugget_text is not None and row.question_text is None:
        return "nuggets"
    return "questions" if row.question_text is not None and row.nugget_text is None else None


def _is_stray(row: BankItemRow, bank: BankRow) -> bool:
    return row.query_id not in (None, bank.query_id)


def _point(row: BankItemRow, fields: JsonRow, bank: BankRow) -> BankItem:
    text = row.nugget_text or row.question_text or ""
    facet = row.facet_id or bank.facet_id or ""
    noted = read_notes(row.info)
    rest = _nulls(fields) | (row.model_extra or {})
    if row.gold_answers == []:  # The original tells it from no set of answers.
        rest["gold_answers"] = []
    return BankItem(
        text=text,
        id=row.nugget_id or row.question_id or bank_item_id(bank.query_id, text, facet),
        info=noted.info,
        answers=tuple(row.gold_answers or ()),
        facet="" if facet == bank.facet_id else facet,
        is_secret=noted.is_secret,
        history=noted.history,
        rest=_json(rest),
    )


def _json(fields: dict[str, object] | None) -> str:
    return json.dumps(fields, ensure_ascii=False) if fields else ""


def _parse_rest(rest: str) -> JsonRow:
    value = parse_value(rest) if rest else None
    return value if is_object(value) else {}


def write_test_banks(banks: Iterable[RubricBank], path: Path) -> None:
    """Write test banks; the Workbench reads gzip only, so end the name in `.gz`.

    Banks that were read from nugget banks of TREC AutoJudge (v3) are written as such.

    `read_test_banks` returns equal banks, with ids for the items that had none.

    Raises:
        InputError: two banks are of one query, facet and kind, two items of a bank share an id, an
            item has no text, or the file cannot be written.
    """
    seen: set[tuple[str, str, str]] = set()
    rows: list[JsonRow] = []
    for bank in banks:
        if not bank.query_id.strip() or bank.key in seen:
            problem = "appeared before" if bank.key in seen else "has no query"
            raise InputError(f"the test bank {bank.query_id!r} cannot be written: it {problem}")
        seen.add(bank.key)
        rows.append(_bank_row(bank))
    write_values(join_banks(rows), path)


def _bank_row(bank: RubricBank) -> JsonRow:
    row: JsonRow = {"query_id": bank.query_id} | _parse_rest(bank.rest)
    texts = {"facet_id": bank.facet_id, "facet_text": bank.facet_text}
    row |= {name: text for name, text in texts.items() if text}
    row |= {"test_collection": bank.test_collection, "query_text": bank.query_text}
    row |= written_notes(bank.info, bank.history)
    items = [_point_row(point, bank) for point in bank.items]
    key = "nugget_id" if bank.kind == "nuggets" else "question_id"
    ids = [str(item[key]) for item in items]
    twice = next((name for i, name in enumerate(ids) if name in ids[:i]), None)
    if twice is not None or not all(point.text.strip() for point in bank.items):
        problem = "an item has no text" if twice is None else f"two items have the id {twice!r}"
        raise InputError(f"the test bank {bank.query_id!r} cannot be written: {problem}")
    row["items"] = items
    return row


def _point_row(point: BankItem, bank: RubricBank) -> JsonRow:
    stem = bank.kind.removesuffix("s")
    row: JsonRow = {"query_id": bank.query_id} | _parse_rest(point.rest)
    facet = point.facet or bank.facet_id
    if facet:
        row["facet_id"] = facet
    row |= {f"{stem}_id": item_id(point, bank), f"{stem}_text": point.text}
    if point.answers:
        row["gold_answers"] = list(point.answers)
    return row | written_notes(point.info, point.history, point.is_secret)
