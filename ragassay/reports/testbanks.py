"""Test banks for the terminal: their items, who changed them, what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ragassay.formats import RubricBank, item_id
from ragassay.records import Review
from ragassay.reports.sheets import Cell, Sheet, Shown, numbers, words


def items_sheet(bank: RubricBank) -> Sheet:
    """Return the items of a bank, with their known answers, what is secret and what was changed."""
    part = f" / {bank.facet_text or bank.facet_id}" if bank.facet_id else ""
    rows: list[tuple[Cell, ...]] = []
    for item in bank.items:
        notes = ["secret"] if item.is_secret else []
        notes += [f"{len(item.history)} changes"] if item.history else []
        name = short_id(item_id(item, bank))
        rows.append((name, item.text, "; ".join(item.answers), ", ".join(notes)))
    title = f"{bank.query_id}: {bank.query_text}{part} ({len(bank.items)} {bank.kind})"
    return Sheet(title, (*words("Id", "Item", "Known answers"), *numbers("Notes")), tuple(rows))


def bank_rows(bank: RubricBank, with_history: bool) -> list[dict[str, object]]:
    """Return a bank's items as JSON objects."""
    rows: list[dict[str, object]] = []
    for item in bank.items:
        row: dict[str, object] = {
            "query_id": bank.query_id,
            "facet_id": item.facet or bank.facet_id,
            "kind": bank.kind,
            "id": item_id(item, bank),
            "text": item.text,
            "answers": list(item.answers),
            "secret": item.is_secret,
        }
        if with_history:
            row["history"] = [review.model_dump(mode="json") for review in item.history]
        rows.append(row)
    return rows


def short_id(name: str) -> str:
    """Return the beginning of an id's last part: enough to name an item by."""
    return name.rpartition("/")[2][:8]


def history_sheet(reviews: Sequence[Review]) -> Sheet:
    """Return what people changed, the oldest first; what was taken back says so."""
    undone = {review.undoes for review in reviews if review.undoes}
    rows = tuple(
        (
            *(review.when[:16].replace("T", " "), review.who, short_id(review.item)),
            Shown(
                f"takes back {review.undoes[:8]}" if review.undoes else _said(review),
                style="undone" if review.id in undone else "",
            ),
            *(review.why, review.id[:8]),
        )
        for review in reviews
    )
    return Sheet("Changes", words("When", "Who", "Item", "Change", "Why", "Name"), rows)


def _said(review: Review) -> str:
    if review.field in ("removed", "secret"):
        return review.field if review.value else f"not {review.field}"
    if review.field == "added" and isinstance(review.value, dict):
        return f"added: {review.value.get('text', '')}"
    return f"{review.field}: {_value(review.was)} -> {_value(review.value)}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
