"""Test banks with what people changed in them: the file stays as it is, its journal says the rest.

Every command reads a bank through `read_bank_file`. The later word wins between people.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from ragassay.errors import InputError, first_problem
from ragassay.formats import BankItem, RubricBank, item_id, read_test_banks, write_test_banks
from ragassay.formats.workbench.bank_items import BankKind
from ragassay.records import BANK, Rejection, Review
from ragassay.records.base import Frozen
from ragassay.runs.journal import journal_of, standing

T = TypeVar("T")

_Said = dict[tuple[str, str], list[Review]]
"""Reviews by the query and the item that they are about."""

_YES = TypeAdapter(bool)
_TEXT = TypeAdapter(str)
_ANSWERS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


class AddedItem(Frozen):
    """The value of a review of the field "added": an item that the file does not have."""

    text: str
    kind: BankKind = "questions"
    facet: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class BankFile:
    """A file of test banks.

    Attributes:
        path: The file.
        banks: As people left them, each item with its id.
        rejections: Lines that could not be read.
        reviews: All that people said of items, undone or not, the oldest first.
        n_stray: Reviews of items that the file does not have.
    """

    path: Path
    banks: tuple[RubricBank, ...]
    rejections: tuple[Rejection, ...] = ()
    reviews: tuple[Review, ...] = ()
    n_stray: int = 0


def read_bank_file(path: Path) -> BankFile:
    """Read a file of test banks, with its journal applied.

    Raises:
        InputError: The file or its journal cannot be read.
    """
    found = read_test_banks(path)
    reviews = tuple(r for r in journal_of(path).read() if r.evaluator == BANK)
    banks = edited(found.banks, reviews)
    told = {review.id for bank in banks for review in all_history(bank)}
    n_stray = sum(review.id not in told for review in reviews)
    return BankFile(path, banks, found.rejections, reviews, n_stray)


def write_new_bank(banks: Sequence[RubricBank], path: Path) -> None:
    """Write banks, as people left them, into a file; the history stands in their items.

    Raises:
        InputError: The file has a journal: what people changed there would be changed again here.
    """
    journal = journal_of(path).path
    if journal.exists():
        raise InputError(f"{path} is a bank that people edit ({journal}): give another name")
    write_test_banks(banks, path)


def all_history(bank: RubricBank) -> tuple[Review, ...]:
    """Return what people changed in a bank and its items, also in those they removed."""
    return (*bank.history, *(review for item in bank.items for review in item.history))


def edited(banks: Sequence[RubricBank], reviews: Iterable[Review]) -> tuple[RubricBank, ...]:
    """Return banks as people left them: ids stay, and each item tells what was changed in it.

    Args:
        banks: As the file has them.
        reviews: Of a journal, in its order. A person's last word on a field counts, unless it was
            taken back; between people the later word wins. Fields: "text", "answers", "secret",
            "removed", and "added" with an `AddedItem`; others change nothing, but are told.

    Raises:
        InputError: The value of a review is none for its field.
    """
    said = [review for review in reviews if review.evaluator == BANK]
    stands, told = _by_item(standing(said)), _by_item(said)
    found = (_edited_bank(bank, stands, told) for bank in _with_added(banks, stands))
    return _with_undone(tuple(found), told)


def _by_item(reviews: Iterable[Review]) -> _Said:
    found: _Said = {}
    for review in reviews:
        found.setdefault((review.record, review.item), []).append(review)
    return found


def _with_added(banks: Sequence[RubricBank], stands: _Said) -> list[RubricBank]:
    """Return banks with the items that people added; a query may get its first bank of a kind."""
    found = {bank.key: bank for bank in banks}
    texts = {bank.query_id: bank for bank in reversed(banks)}
    for (query, name), reviews in stands.items():
        added = next((r for r in reversed(reviews) if r.field == "added"), None)
        if added is None or query not in texts or added.value is None:
            continue
        item = _value(TypeAdapter(AddedItem), added)
        bank = found.get((query, item.facet, item.kind))
        if bank is None:
            like = texts[query]
            bank = RubricBank(
                *(query, like.query_text, item.kind),
                facet_id=item.facet,
                test_collection=like.test_collection,
            )
        if all(item_id(one, bank) != name for one in bank.items):
            new = BankItem(item.text, name, answers=item.answers)
            found[bank.key] = replace(bank, items=(*bank.items, new))
    return list(found.values())


def _edited_bank(bank: RubricBank, stands: _Said, told: _Said) -> RubricBank:
    items: list[BankItem] = []
    history = list(bank.history)
    for item in bank.items:
        name = item_id(item, bank)
        now = replace(item, id=name, history=(*item.history, *told.get((bank.query_id, name), ())))
        is_removed = False
        for review in stands.get((bank.query_id, name), ()):
            if review.field == "removed":
                is_removed = _value(_YES, review)
            else:
                now = _changed(now, review)
        if is_removed:
            history += now.history
        else:
            items.append(now)
    return replace(bank, items=tuple(items), history=tuple(history))


def _changed(item: BankItem, review: Review) -> BankItem:
    if review.field == "text":
        text = _value(_TEXT, review).strip()
        if not text:
            raise InputError(f"review {review.id}: the text of {review.item} is empty")
        return replace(item, text=text)
    if review.field == "answers":
        return replace(item, answers=_value(_ANSWERS, review))
    if review.field == "secret":
        return replace(item, is_secret=_value(_YES, review))
    return item


def _with_undone(banks: tuple[RubricBank, ...], told: _Said) -> tuple[RubricBank, ...]:
    """Add to a query's first bank what was said of items that were added and taken back."""
    known = {review.id for bank in banks for review in all_history(bank)}
    left: dict[str, list[Review]] = {}
    for (query, _), reviews in told.items():
        if any(r.field == "added" for r in reviews) and reviews[0].id not in known:
            left.setdefault(query, []).extend(reviews)
    return tuple(
        replace(bank, history=(*bank.history, *left.pop(bank.query_id, ()))) for bank in banks
    )


def _value(kind: TypeAdapter[T], review: Review) -> T:
    try:
        return kind.validate_python(review.value)
    except ValidationError as error:
        _, problem = first_problem(error)
        raise InputError(
            f"review {review.id} of {review.item}: no {review.field!r}: {problem}"
        ) from error
