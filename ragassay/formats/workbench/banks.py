"""Read and write test banks: the nuggets or exam questions that grade a query's responses.

    {"query_id", "query_text", "info", "items": [{"query_id", "nugget_id", "nugget_text"}]} a line

Exam questions have `question_id` and `question_text` instead (Dietz 2024, figures 2 and 3). The
software also writes `facet_id` and `test_collection`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from ragassay.errors import InputError
from ragassay.formats.items import Item, iter_items, read_once
from ragassay.formats.output import JsonRow, write_values
from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, sniff
from ragassay.records import Rejection

BankKind = Literal["nuggets", "questions"]


@dataclass(frozen=True)
class BankItem:
    """A nugget or an exam question.

    Attributes:
        text: The nugget, or the question.
        id: Unique; `query_id/` and the MD5 of the text, as `bank_item_id` gives it, where empty.
        info: Its origin, as JSON; empty where unknown.
    """

    text: str
    id: str = ""
    info: str = ""


@dataclass(frozen=True)
class RubricBank:
    """The nuggets or exam questions that grade the responses to a query.

    Attributes:
        query_id: The query.
        query_text: The query's text.
        kind: Whether the items are nuggets or exam questions.
        items: In the file's order.
        facet_id: The part of the query that the bank covers; empty for the whole.
        test_collection: The query's collection; may be empty.
        info: How the items were made, as JSON; empty where unknown.
    """

    query_id: str
    query_text: str
    kind: BankKind
    items: tuple[BankItem, ...] = ()
    facet_id: str = ""
    test_collection: str = ""
    info: str = ""


@dataclass(frozen=True)
class BankResult:
    """The test banks of a file and its rejected lines.

    Attributes:
        banks: In the file's order.
        rejections: Lines that could not be read.
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
    info: object = None


class BankRow(Row):
    """A line of the file."""

    query_id: IdText
    facet_id: IdText | None = None
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


def bank_item_id(query_id: str, text: str, facet_id: str = "") -> str:
    """Return the id of a nugget or question: the query's, the facet's if any, and the text's MD5.

    Example:
        >>> bank_item_id("940547", "Early 1950s innovation")
        '940547/3e9afdb8aeb54b6f496bb72040d7f212'
    """
    digest = hashlib.md5(text.strip().encode("utf-8"), usedforsecurity=False).hexdigest()
    return "/".join(part for part in (query_id, facet_id, digest) if part)


def read_test_banks(path: Path) -> BankResult:
    """Read test banks of nuggets or of exam questions, plain or gzip.

    A query may have several banks, of several facets. Unknown fields are dropped.

    Raises:
        InputError: the file cannot be opened, is empty, or has no test bank.
    """
    _, items = sniff(iter_items(path), (TEST_BANK,), str(path))
    banks, rejections = read_once(items, read_bank, _key, _repeated)
    return BankResult(banks, tuple(rejections))


def _key(bank: RubricBank) -> tuple[str, str, str]:
    return bank.query_id, bank.facet_id, bank.kind


def _repeated(bank: RubricBank, line: int) -> Problem:
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
    return RubricBank(
        query_id=row.query_id,
        query_text=row.query_text,
        kind=kind,
        items=tuple(_point(point, row) for point in row.items),
        facet_id=row.facet_id or "",
        test_collection=row.test_collection,
        info=_info(row.info),
    )


def _kind(row: BankItemRow) -> BankKind | None:
    if row.nugget_text is not None and row.question_text is None:
        return "nuggets"
    return "questions" if row.question_text is not None and row.nugget_text is None else None


def _point(row: BankItemRow, bank: BankRow) -> BankItem:
    text = row.nugget_text or row.question_text or ""
    given = row.nugget_id or row.question_id
    name = given or bank_item_id(bank.query_id, text, bank.facet_id or "")
    return BankItem(text=text, id=name, info=_info(row.info))


def _info(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def write_test_banks(banks: Sequence[RubricBank], path: Path) -> None:
    """Write test banks; the Workbench reads gzip only, so end the name in `.gz`.

    `read_test_banks` returns equal banks, with ids for the items that had none.

    Raises:
        InputError: two banks are of one query, facet and kind, two items of a bank share an id, an
            item has no text, or the file cannot be written.
    """
    seen: set[tuple[str, str, str]] = set()
    rows: list[JsonRow] = []
    for bank in banks:
        key = _key(bank)
        if not bank.query_id.strip() or key in seen:
            problem = "appeared before" if key in seen else "has no query"
            raise InputError(f"the test bank {bank.query_id!r} cannot be written: it {problem}")
        seen.add(key)
        rows.append(_bank_row(bank))
    write_values(rows, path)


def _bank_row(bank: RubricBank) -> JsonRow:
    row: JsonRow = {"query_id": bank.query_id}
    if bank.facet_id:
        row["facet_id"] = bank.facet_id
    row |= {"test_collection": bank.test_collection, "query_text": bank.query_text}
    row |= _parsed(bank.info)
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
    name = point.id or bank_item_id(bank.query_id, point.text, bank.facet_id)
    stem = bank.kind.removesuffix("s")
    row: JsonRow = {"query_id": bank.query_id}
    if bank.facet_id:
        row["facet_id"] = bank.facet_id
    return row | {f"{stem}_id": name, f"{stem}_text": point.text} | _parsed(point.info)


def _parsed(info: str) -> JsonRow:
    if not info:
        return {}
    try:
        return {"info": json.loads(info)}
    except (ValueError, RecursionError) as error:
        raise InputError(f"the test bank cannot be written: info is not JSON ({error})") from error
