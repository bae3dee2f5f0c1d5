"""Classes for test banks and their items, with item ids and ragassay's notes in `info` fields."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from ragassay.errors import InputError
from ragassay.formats.output import JsonRow
from ragassay.formats.problems import Problem, is_object, validate
from ragassay.formats.rows import Row
from ragassay.records import ExamItem, Review

_OURS = {"secret", "history", "info"}


class NotesRow(Row):
    """Notes that ragassay stores in an `info` field, next to the information of other tools."""

    secret: bool | None = None
    history: list[Review] = Field(default_factory=list[Review])


@dataclass(frozen=True)
class BankNotes:
    """Parsed content of an `info` field.

    Attributes:
        info: Information from other tools as JSON, or an empty string.
        history: Changes by reviewers, oldest first.
    """

    info: str = ""
    is_secret: bool = False
    history: tuple[Review, ...] = ()


def read_notes(value: object) -> BankNotes:
    """Split an `info` field into ragassay's notes and the information of other tools."""
    row = _parse_notes(value)
    if row is None or not is_object(value):
        return BankNotes("" if value is None else json.dumps(value, ensure_ascii=False))
    rest = {key: part for key, part in value.items() if key not in NotesRow.model_fields}
    own = rest["info"] if rest.keys() == {"info"} else rest or None
    info = "" if own is None else json.dumps(own, ensure_ascii=False)
    return BankNotes(info, bool(row.secret), tuple(row.history))


def format_notes(info: str, history: Sequence[Review] = (), is_secret: bool = False) -> JsonRow:
    """Combine information and ragassay's notes in an `info` field, which `read_notes` can read."""
    own = parse_value(info) if info else None
    looks_like_notes = _parse_notes(own) is not None  # If so, it must be nested in notes.
    if not (history or is_secret or looks_like_notes):
        return {} if own is None else {"info": own}
    notes: JsonRow = {"secret": is_secret}
    if history:
        notes["history"] = [r.model_dump(mode="json", exclude_defaults=True) for r in history]
    if is_object(own) and own and not own.keys() & _OURS:
        return {"info": notes | own}
    return {"info": notes if own is None else notes | {"info": own}}


def parse_value(text: str) -> object:
    """Parse JSON text."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the test bank cannot be written: info is not JSON ({error})") from error
    return value


def _parse_notes(value: object) -> NotesRow | None:
    if not is_object(value) or not value.keys() & {"secret", "history"}:
        return None
    row = validate(NotesRow, value)
    return None if isinstance(row, Problem) else row


BankKind = Literal["nuggets", "questions"]


@dataclass(frozen=True)
class BankItem:
    """A nugget or an exam question.

    Attributes:
        id: Id that is unique in the bank, or "" for the id that `build_bank_item_id` returns.
        info: Description of how the item was created, as JSON, or an empty string.
        answers: Known correct answers, sorted and distinct.
        facet: Id of the facet (part of the query) that the item covers. Empty if the whole bank
            covers one facet.
        is_secret: Whether systems under evaluation must not see the item.
        history: Changes by reviewers, oldest first.
        rest: Other fields and null fields from the file, as a JSON object, or an empty string.
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
        """Sort and deduplicate the answers, because they are a set in the Workbench."""
        object.__setattr__(self, "answers", tuple(sorted(set(self.answers))))


@dataclass(frozen=True)
class RubricBank:
    """Nuggets or exam questions for grading responses to a query.

    Attributes:
        facet_id: Id of the part of the query that the bank covers, or "" for the whole query.
        info: Description of how the items were created, as JSON, or an empty string.
        facet_text: Heading or text of the facet, or an empty string.
        history: Changes by reviewers that no item can store, such as the removal of an item.
        rest: Other fields and null fields from the file, as a JSON object, or an empty string.
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
        """Key of the bank, unique within a file: its query, facet and kind."""
        return self.query_id, self.facet_id, self.kind


def build_bank_item_id(query_id: str, text: str, facet_id: str = "") -> str:
    """Return the default id of an item, made of query id, facet id and the MD5 hash of the text.

    Example:
        >>> build_bank_item_id("940547", "Early 1950s innovation")
        '940547/3e9afdb8aeb54b6f496bb72040d7f212'
    """
    digest = hashlib.md5(text.strip().encode("utf-8"), usedforsecurity=False).hexdigest()
    return "/".join(part for part in (query_id, facet_id, digest) if part)


def build_exam_items(bank: RubricBank) -> tuple[ExamItem, ...]:
    """Convert the items of a bank to exam items, all of which have an id."""
    return tuple(
        ExamItem(
            id=find_item_id(item, bank),
            text=item.text,
            kind="nugget" if bank.kind == "nuggets" else "question",
            answers=item.answers,
            facet=item.facet or bank.facet_id,
        )
        for item in bank.items
    )


def find_item_id(item: BankItem, bank: RubricBank) -> str:
    """Return the id of an item, or the default id if the item has none."""
    return item.id or build_bank_item_id(bank.query_id, item.text, item.facet or bank.facet_id)


def merge_repeated_items(bank: RubricBank) -> tuple[RubricBank, Problem | None]:
    """Make item ids unique, and return a problem that counts the repeated ids.

    Items with the same id and text are merged. If items with the same id have different texts, the
    later item gets a new id.
    """
    items: dict[str, BankItem] = {}
    repeated: list[str] = []
    for i, item in enumerate(bank.items):
        name = find_item_id(item, bank)
        if (first := items.get(name)) is not None:
            repeated.append(f"items.{i}")
            if first.text.strip() != item.text.strip():
                name = build_bank_item_id(bank.query_id, item.text, item.facet or bank.facet_id)
                item, first = replace(item, id=name), items.get(name)
        items[name] = replace(first, answers=(*first.answers, *item.answers)) if first else item
    if not repeated:
        return bank, None
    more = f" (and {len(repeated) - 1} more)" if len(repeated) > 1 else ""
    text = f"the id already appeared in the bank{more}: the item was merged or got a new id"
    problem = Problem(repeated[0], text, "unique ids")
    return replace(bank, items=tuple(items.values())), problem
