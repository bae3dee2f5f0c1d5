"""Test banks for the terminal: their items, who changed them, what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.formats import RubricBank, item_id
from ragassay.records import Review
from ragassay.reports.tables import cell_text, plain_table

if TYPE_CHECKING:
    from rich.table import Table


def items_table(bank: RubricBank) -> Table:
    """Return the items of a bank, with their known answers, what is secret and what was changed."""
    part = f" / {bank.facet_text or bank.facet_id}" if bank.facet_id else ""
    title = cell_text(f"{bank.query_id}: {bank.query_text}{part} ({len(bank.items)} {bank.kind})")
    table = plain_table("", ("Id", "Item", "Known answers"), ("Notes",))
    table.title = title
    for item in bank.items:
        notes = ["secret"] if item.is_secret else []
        notes += [f"{len(item.history)} changes"] if item.history else []
        table.add_row(
            cell_text(short_id(item_id(item, bank))),
            cell_text(item.text),
            cell_text("; ".join(item.answers)),
            cell_text(", ".join(notes)),
        )
    return table


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


def history_table(reviews: Sequence[Review]) -> Table:
    """Return what people changed, the oldest first; what was taken back says so."""
    table = plain_table("Changes", ("When", "Who", "Item", "Change", "Why", "Name"), ())
    undone = {review.undoes for review in reviews if review.undoes}
    for review in reviews:
        said = f"takes back {review.undoes[:8]}" if review.undoes else _said(review)
        style = "dim strike" if review.id in undone else ""
        table.add_row(
            cell_text(review.when[:16].replace("T", " ")),
            cell_text(review.who),
            cell_text(short_id(review.item)),
            cell_text(said, style),
            cell_text(review.why),
            cell_text(review.id[:8]),
        )
    return table


def _said(review: Review) -> str:
    if review.field in ("removed", "secret"):
        return review.field if review.value else f"not {review.field}"
    if review.field == "added" and isinstance(review.value, dict):
        return f"added: {review.value.get('text', '')}"
    return f"{review.field}: {_value(review.was)} -> {_value(review.value)}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
