"""The items of test banks, their ids, and the `info` of a bank or an item."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from ragassay.errors import InputError
from ragassay.formats.problems import Problem, is_object, validate
from ragassay.formats.rows import Row
from ragassay.records import ExamItem, Review

JsonRow = dict[str, object]


_OURS = {"secret", "history", "info"}


class NotesRow(Row):
    """An info with notes of ours; what is no object itself stands under "info"."""

    secret: bool | None = None
    history: list[Review] = Field(default_factory=list[Review])


@dataclass(frozen=True)
class BankNotes:
    """The content of an info.

    Attributes:
        info: What others said, as JSON; empty where nothing.
        is_secret: Whether systems under evaluation must not see the item.
        history: What people changed, the oldest first.
    """

    info: str = ""
    is_secret: bool = False
    history: tuple[Review, ...] = ()


def read_notes(value: object) -> BankNotes:
    """Return what an info says; one that holds no notes of ours is kept as it is."""
    row = _notes(value)
    if row is None or not is_object(value):
        return BankNotes("" if value is None else json.dumps(value, ensure_ascii=False))
    rest = {key: part for key, part in value.items() if key not in NotesRow.model_fields}
    own = rest["info"] if rest.keys() == {"info"} else rest or None
    info = "" if own is None else json.dumps(own, ensure_ascii=False)
    return BankNotes(info, bool(row.secret), tuple(row.history))


def written_notes(info: str, history: Sequence[Review] = (), is_secret: bool = False) -> JsonRow:
    """Return the field `info` of a file: `read_notes` returns what it was made of.

    Raises:
        InputError: The info is not JSON.
    """
    own = parse_value(info) if info else None
    is_ours = _notes(own) is not None  # An info that looks like notes stands inside them.
    if not (history or is_secret or is_ours):
        return {} if own is None else {"info": own}
    notes: JsonRow = {"secret": is_secret}
    if history:
        notes["history"] = [r.model_dump(mode="json", exclude_defaults=True) for r in history]
    if is_object(own) and own and not own.keys() & _OURS:
        return {"info": notes | own}
    return {"info": notes if own is None else notes | {"info": own}}


def parse_value(text: str) -> object:
    """Return the value of a text.

    Raises:
        InputError: It is not JSON.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the test bank cannot be written: info is not JSON ({error})") from error
    return value


def _notes(value: object) -> NotesRow | None:
    if not is_object(value) or not value.keys() & {"secret", "history"}:
        return None
    row = validate(NotesRow, value)
    return None if isinstance(row, Problem) else row


BankKind = Literal["nuggets", "questions"]


@dataclass(frozen=True)
class BankItem:
    """A nugget or an exam question.

    Attributes:
        text: The nugget, or the question.
        id: Unique; `query_id/` and the MD5 of the text, as `bank_item_id` gives it, where empty.
        info: Its origin, as JSON; empty where unknown.
        answers: Known correct answers, a set: sorted, each once.
        facet: Id of the part of the query that it covers, where that is not the bank's.
        is_secret: Whether systems under evaluation must not see it.
        history: What people changed in it, the oldest first.
        rest: The file's other fields and its nulls, as a JSON object; empty where there are none.
    """

    text: str
    id: str = ""
    info: str = ""
    answers: tuple[str, ...] = ()
    facet: str = ""
    is_secret: bool = False
    history: tuple[Review, ...] = ()
    rest: str = ""

    def __post_init__(self) -> None:
        """Sort the answers: the original keeps a set, whose order is none."""
        object.__setattr__(self, "answers", tuple(sorted(set(self.answers))))


@dataclass(frozen=True)
class RubricBank:
    """The nuggets or exam questions that grade the responses to a query.

    Attributes:
        items: In the file's order.
        facet_id: The part of the query that the bank covers; empty for the whole.
        test_collection: The query's collection; may be empty.
        info: How the items were made, as JSON; empty where unknown.
        facet_text: The part's heading or text; may be empty.
        history: What people changed that no item of the bank tells: items that they removed.
        rest: The file's other fields and its nulls, as a JSON object; empty where there are none.
    """

    query_id: str
    query_text: str
    kind: BankKind
    items: tuple[BankItem, ...] = ()
    facet_id: str = ""
    test_collection: str = ""
    info: str = ""
    facet_text: str = ""
    history: tuple[Review, ...] = ()
    rest: str = ""

    @property
    def key(self) -> tuple[str, str, BankKind]:
        """Query, facet and kind, which no two banks of a file share."""
        return self.query_id, self.facet_id, self.kind


def bank_item_id(query_id: str, text: str, facet_id: str = "") -> str:
    """Return the id of a nugget or question: the query's, the facet's if any, and the text's MD5.

    Example:
        >>> bank_item_id("940547", "Early 1950s innovation")
        '940547/3e9afdb8aeb54b6f496bb72040d7f212'
    """
    digest = hashlib.md5(text.strip().encode("utf-8"), usedforsecurity=False).hexdigest()
    return "/".join(part for part in (query_id, facet_id, digest) if part)


def exam_items(bank: RubricBank) -> tuple[ExamItem, ...]:
    """Return the items of a bank as what grades are given by; those without an id get theirs."""
    return tuple(
        ExamItem(
            id=item_id(item, bank),
            text=item.text,
            kind="nugget" if bank.kind == "nuggets" else "question",
            answers=item.answers,
            facet=item.facet or bank.facet_id,
        )
        for item in bank.items
    )


def item_id(item: BankItem, bank: RubricBank) -> str:
    """Return the id of a bank's item: its own, else the one that `bank_item_id` gives it."""
    return item.id or bank_item_id(bank.query_id, item.text, item.facet or bank.facet_id)


def without_repeats(bank: RubricBank) -> tuple[RubricBank, Problem | None]:
    """Return a bank whose ids differ, and how many were repeated.

    An item that says the same is merged with the first; another text gets an id of its own.
    """
    items: dict[str, BankItem] = {}
    repeated: list[str] = []
    for i, item in enumerate(bank.items):
        name = item_id(item, bank)
        first = items.get(name)
        if first is not None:
            repeated.append(f"items.{i}")
            if first.text.strip() != item.text.strip():
                name = bank_item_id(bank.query_id, item.text, item.facet or bank.facet_id)
                item, first = replace(item, id=name), items.get(name)
        items[name] = replace(first, answers=(*first.answers, *item.answers)) if first else item
    if not repeated:
        return bank, None
    more = f" (and {len(repeated) - 1} more)" if len(repeated) > 1 else ""
    text = f"its id already appeared in the bank{more}: it was merged, or has an id of its own now"
    problem = Problem(repeated[0], text, "an id for each item")
    return replace(bank, items=tuple(items.values())), problem
