"""Read and write nugget banks of TREC AutoJudge (NuggetBank v3) as rows of our test banks.

    {"query_id", "title_query", "format_version": "v3",
     "nugget_bank": {TEXT: {"question", "question_id", "answers": {TEXT: {"answer"}}, ...}},
     "claim_bank": {TEXT: {"claim", "claim_id", ...}}}

A line is up to two banks: its questions and its claims. Both lists may also be arrays. Fields that
a test bank has no place for (references, importance, sub-nuggets, ...) come back when it is
written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ragassay.formats.items import Item
from ragassay.formats.output import JsonRow
from ragassay.formats.problems import Problem, describe_value, is_list, is_object
from ragassay.formats.sniff import Format
from ragassay.records import Rejection

VERSION = "format_version"


class _Kind(NamedTuple):
    """The fields of one kind of nugget: in a line of v3, and in a test bank."""

    bank: str
    text: str
    id: str
    own_text: str
    own_id: str


_KINDS = (
    _Kind("nugget_bank", "question", "question_id", "question_text", "question_id"),
    _Kind("claim_bank", "claim", "claim_id", "nugget_text", "nugget_id"),
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
    """Return items, a line of v3 as an item for its questions and one for its claims.

    What is no nugget is a rejection, and so are sub-nuggets, which are kept but not graded.
    """
    for item in items:
        kinds = [] if isinstance(item, Rejection) else [k for k in _KINDS if k.bank in item.fields]
        if isinstance(item, Rejection) or not kinds:
            yield item
            continue
        for kind in kinds:
            if item.fields[kind.bank] is not None:
                yield from _read_kind(item, kind)


def _read_kind(item: Item, kind: _Kind) -> Iterator[Item | Rejection]:
    value = item.fields[kind.bank]
    if not (is_object(value) or is_list(value)):
        expected = f'nuggets by text: {{TEXT: {{"{kind.text}": …}}}}'
        yield item.place.reject(Problem(kind.bank, f"found {describe_value(value)}", expected))
        return
    entries = value.items() if is_object(value) else enumerate(value)
    rows: list[JsonRow] = []
    for key, entry in entries:
        row = _item_row(entry, key if isinstance(key, str) else "", kind)
        if row is not None:
            rows.append(row)
            continue
        problem = Problem(
            f"{kind.bank}.{key}", f"found {describe_value(entry)}", f'a "{kind.text}"'
        )
        yield item.place.reject(problem)
    n_inner = sum(len(one) for row in rows if is_list(one := row.get("sub_nuggets")))
    if n_inner:
        text = f"{n_inner} sub-nuggets are kept, but not graded"
        yield item.place.reject(Problem(kind.bank, text, "the nuggets to grade at the top level"))
    yield replace(item, fields=_bank_fields(item.fields) | {"items": rows})


def _bank_fields(line: JsonRow) -> JsonRow:
    banks = {kind.bank for kind in _KINDS}
    fields = {_BANK_NAMES.get(key, key): part for key, part in line.items() if key not in banks}
    title = fields.get("query_text")
    if fields.get("query_id") is None and isinstance(title, str):
        fields["query_id"] = _digest(title)
    return {VERSION: "v3"} | fields


def _item_row(entry: object, key: str, kind: _Kind) -> JsonRow | None:
    """Return a nugget as an item of a test bank."""
    if not is_object(entry):
        return None
    text = entry.get(kind.text) or key
    if not isinstance(text, str) or not text.strip():
        return None
    answers = _answers_by_text(entry.get("answers"))
    own = {kind.text, kind.id, "metadata"}
    if all(answer == {"answer": name} for name, answer in answers.items()):
        own.add("answers")
    rest = {n: v for n, v in entry.items() if n not in own}
    row: JsonRow = {kind.own_id: entry.get(kind.id) or _digest(text), kind.own_text: text}
    if answers:
        row["gold_answers"] = list(answers)
    if entry.get("metadata") is not None:
        row["info"] = entry["metadata"]
    return rest | row


def _answers_by_text(answers: object) -> dict[str, object]:
    """Return answers by text; they are objects by text, or a list of objects or texts."""
    listed = list(answers.values()) if is_object(answers) else answers
    found_answers: dict[str, object] = {}
    for answer in listed if is_list(listed) else []:
        text = answer.get("answer") if is_object(answer) else answer
        if isinstance(text, str) and text.strip():
            found_answers[text] = answer if is_object(answer) else {"answer": text}
    return found_answers


def _digest(text: str) -> str:
    """Return the id that AutoJudge gives a text."""
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def join_banks(rows: Iterable[JsonRow]) -> list[JsonRow]:
    """Return rows of test banks; those that were read from v3 as lines of v3, one a query."""
    written: list[JsonRow] = []
    lines: dict[object, JsonRow] = {}
    for row in rows:
        if row.get(VERSION) != "v3":
            written.append(row)
            continue
        line = lines.get(row["query_id"])
        if line is None:
            line = lines[row["query_id"]] = _line(row)
            written.append(line)
        items = row["items"]
        for item in items if is_list(items) else []:
            if is_object(item):
                _add_nugget(line, item)
    return written


def _line(row: JsonRow) -> JsonRow:
    names = {own: name for name, own in _BANK_NAMES.items()}
    fields = ((names.get(key, key), part) for key, part in row.items() if key != "items")
    return {key: part for key, part in fields if part not in (None, "")}


def _add_nugget(line: JsonRow, item: JsonRow) -> None:
    kind = next(one for one in _KINDS if one.own_text in item)
    moved = (kind.own_text, kind.own_id, "gold_answers", "info", "facet_id")
    text = str(item[kind.own_text])
    nugget: JsonRow = {kind.text: text, kind.id: item.get(kind.own_id)}
    known = _answers_by_text(item.get("answers"))
    gold = item.get("gold_answers")
    texts = [str(one) for one in gold] if is_list(gold) else []
    answers: JsonRow = {text: known.get(text, {"answer": text}) for text in texts}
    kept = {"answers": answers} if answers else {}
    rest = item | kept if "answers" in item else kept | item
    nugget |= {key: part for key, part in rest.items() if key not in moved and part is not None}
    if item.get("info") is not None:
        info = item["info"]
        nugget["metadata"] = info if is_object(info) else {"info": info}
    bank = line.setdefault(kind.bank, {})
    if is_object(bank):
        bank[text] = nugget
