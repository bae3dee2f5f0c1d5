"""Human review of test bank items."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from ragassay.formats.workbench.bank_items import BankItem, RubricBank, build_bank_item_id
from ragassay.formats.workbench.banks import read_test_banks
from ragassay.records import BANK, Review
from ragassay.reports.text import humanise
from ragassay.review.items import Choice, RelatedItem, ReviewItem, ReviewSource, Section, View
from ragassay.runs.journal import open_journal

KEEP_OR_REMOVE = (Choice(False, "keep", "good"), Choice(True, "remove", "bad"))
KINDS = {"questions": "Exam question", "nuggets": "Nugget"}


def open_bank(path: Path) -> BankSource:
    """Open a file of test banks for review.

    Raises:
        InputError: The file cannot be read.
    """
    banks = read_test_banks(path).banks
    items = tuple(_build_item(item, bank) for bank in banks for item in bank.items)
    by_item = {(bank.query_id, item.id): bank for bank in banks for item in bank.items}
    return BankSource(path.name, "item", items, open_journal(path), by_item)


def _build_item(item: BankItem, bank: RubricBank) -> ReviewItem:
    return ReviewItem(
        evaluator=BANK,
        record=bank.query_id,
        item=item.id,
        field="removed",
        kind=KINDS[bank.kind],
        item_text=item.text,
        place=bank.query_text or bank.query_id,
        model_choice=False,
        choices=KEEP_OR_REMOVE,
        edits=("text", "answers"),
    )


@dataclass(frozen=True)
class BankSource(ReviewSource):
    """A file of test banks to review, where `banks` is keyed by query id and item id."""

    banks: Mapping[tuple[str, str], RubricBank]

    def view(self, item: ReviewItem) -> View:
        """Return the query of an item, and all items of the same test bank."""
        bank = self._find_bank(item)
        rows = tuple(
            RelatedItem(
                text=other.text,
                about=(BANK, bank.query_id, other.id),
                is_asked=other.id == item.item,
            )
            for other in bank.items
        )
        return View(
            question=bank.query_text or bank.query_id,
            sections=(Section(f"Test bank of {bank.query_id}", rows, is_open=True),),
            notes=tuple(_list_notes(item, bank)),
        )

    def build_addition(self, item: ReviewItem, text: str) -> tuple[str, JsonValue]:
        """Return the id and value of an item that a reviewer adds to the bank of another item."""
        bank = self._find_bank(item)
        value = {"text": text, "kind": bank.kind, "facet": bank.facet_id, "answers": []}
        return build_bank_item_id(bank.query_id, text, bank.facet_id), value

    def _find_bank(self, item: ReviewItem) -> RubricBank:
        known = self.banks.get((item.record, item.item))
        return known or next(b for (query, _), b in self.banks.items() if query == item.record)

    def find_added(self, review: Review) -> ReviewItem | None:
        """Return the item that a review adds to a test bank, or None if it adds no item."""
        value = review.value
        if review.field != "added" or not isinstance(value, dict) or not value.get("text"):
            return None
        bank = next((b for (query, _), b in self.banks.items() if query == review.record), None)
        if bank is None or (review.record, review.item) in self.banks:
            return None
        return _build_item(BankItem(str(value["text"]), review.item), bank)


def _list_notes(item: ReviewItem, bank: RubricBank) -> Iterator[tuple[str, str]]:
    bank_item = next((other for other in bank.items if other.id == item.item), None)
    answers = getattr(bank_item, "answers", ())
    if answers:
        yield "Known answers", "; ".join(answers)
    yield "Id", item.item
    for info in (bank_item.info if bank_item else "", bank.info):
        facts = json.loads(info) if info else {}
        for name, value in facts.items() if isinstance(facts, dict) else ():
            if isinstance(value, str | int) and value != "":
                yield humanise(name), str(value)
