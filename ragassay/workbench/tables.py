"""Tables of test banks, their changes, and checked items and grades."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from ragassay.formats import RubricBank, find_item_id
from ragassay.records import Review
from ragassay.reports.sheets import (
    Cell,
    Column,
    Sheet,
    Shown,
    build_number_column,
    build_number_columns,
    build_score_cells,
    build_score_columns,
    build_text_columns,
)
from ragassay.workbench.agreement import GraderAgreement, GraderPair
from ragassay.workbench.oversight import CheckedItem, Grid, ItemUse, MissingPassage


def build_items_sheet(bank: RubricBank) -> Sheet:
    """Return a table of the items in a test bank, with known answers and notes."""
    facet = f" / {bank.facet_text or bank.facet_id}" if bank.facet_id else ""
    rows: list[tuple[Cell, ...]] = []
    for item in bank.items:
        notes = ["secret"] if item.is_secret else []
        notes += [f"{len(item.history)} changes"] if item.history else []
        name = shorten_id(find_item_id(item, bank))
        rows.append((name, item.text, "; ".join(item.answers), ", ".join(notes)))
    title = f"{bank.query_id}: {bank.query_text}{facet} ({len(bank.items)} {bank.kind})"
    return Sheet(
        title,
        (*build_text_columns("Id", "Item", "Known answers"), *build_number_columns("Notes")),
        tuple(rows),
    )


def list_bank_rows(bank: RubricBank, with_history: bool) -> list[dict[str, object]]:
    """Return the items of a test bank as JSON objects."""
    rows: list[dict[str, object]] = []
    for item in bank.items:
        row: dict[str, object] = {
            "query_id": bank.query_id,
            "facet_id": item.facet or bank.facet_id,
            "kind": bank.kind,
            "id": find_item_id(item, bank),
            "text": item.text,
            "answers": list(item.answers),
            "secret": item.is_secret,
        }
        if with_history:
            row["history"] = [review.model_dump(mode="json") for review in item.history]
        rows.append(row)
    return rows


def shorten_id(name: str) -> str:
    """Return the first eight characters of the last part of an item id."""
    return name.rpartition("/")[2][:8]


def build_history_sheet(reviews: Sequence[Review]) -> Sheet:
    """Return a table of all changes of a test bank, oldest first, with undone changes marked."""
    undone = {review.undoes for review in reviews if review.undoes}
    rows = tuple(
        (
            *(review.when[:16].replace("T", " "), review.who, shorten_id(review.item)),
            Shown(
                f"undoes {review.undoes[:8]}" if review.undoes else _describe_review(review),
                style="undone" if review.id in undone else "",
            ),
            *(review.why, review.id[:8]),
        )
        for review in reviews
    )
    return Sheet(
        "Changes", build_text_columns("When", "Who", "Item", "Change", "Why", "Name"), rows
    )


def _describe_review(review: Review) -> str:
    if review.field in ("removed", "secret"):
        return review.field if review.value else f"not {review.field}"
    if review.field == "added" and isinstance(review.value, dict):
        return f"added: {review.value.get('text', '')}"
    return f"{review.field}: {_format_value(review.was)} -> {_format_value(review.value)}"


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


GRID_WIDTH = 12
"""Number of items that a grid in 80 columns can show."""

_TEXT_SHOWN = 40


def verify_sheets(checked: Sequence[CheckedItem]) -> tuple[Sheet, ...]:
    """Return one table per item, with the grade and extracted text of each passage."""
    groups: dict[tuple[str, str], list[CheckedItem]] = {}
    for row in checked:
        groups.setdefault((row.query_id, row.item), []).append(row)
    return tuple(
        _verify_sheet(f"{query}: {rows[0].text or item}", rows)
        for (query, item), rows in groups.items()
    )


def _verify_sheet(title: str, rows: Sequence[CheckedItem]) -> Sheet:
    columns = (
        *(Column("query_id"), Column("item"), Column("text")),
        *(build_number_column("rating", "Rating"), Column("is_covered", "Covered")),
        Column("extracted", "Extracted", n_most=_TEXT_SHOWN),
        *(
            build_number_column("relevance", "Judged"),
            Column("paragraph_id", "Passage"),
            Column("passage"),
        ),
    )
    cells = tuple(
        (
            *(one.query_id, one.item, one.text, one.rating, one.is_covered, one.extracted),
            *(one.relevance, one.paragraph_id, one.passage),
        )
        for one in rows
    )
    return Sheet(title, columns, cells)


def build_grid_sheet(grid: Grid, first: int = 0, n_items: int | None = None) -> Sheet:
    """Return ratings, or else coverage, as a table of passages (rows) and items (columns).

    Args:
        first: Index of the first item to include.
        n_items: Number of items to include, by default all from `first` on.
    """
    numbers = {item: i for i, item in enumerate(grid.items, start=1)}
    items = list(grid.items)[first : None if n_items is None else first + n_items]
    columns = [
        *(
            Column("query_id"),
            Column("paragraph_id", "Passage"),
            build_number_column("relevance", "Judged"),
        ),
        *(
            column
            for item in items
            for column in (
                build_number_column(item, str(numbers[item])),
                Column(f"{item} extracted"),
            )
        ),
        Column("passage"),
    ]
    by_passage = {name: cell for (name, _), cell in grid.cells.items()}
    rows: list[tuple[Cell, ...]] = []
    for name in grid.passages:
        grades = [grid.cells.get((name, item)) for item in items]
        cells = (
            part for cell in grades for part in (_format_grid_cell(cell), cell and cell.extracted)
        )
        passage = by_passage[name]
        rows.append((grid.query_id, name, passage.relevance, *cells, passage.passage))
    return Sheet(
        f"Query {grid.query_id}: ratings of passages by items", tuple(columns), tuple(rows)
    )


def build_legend_sheet(grid: Grid) -> Sheet:
    """Return a table of the numbers and texts of the items in a grid."""
    columns = (build_number_column("number", "#"), Column("item"), Column("text", "Item"))
    rows = tuple((i, item, text or item) for i, (item, text) in enumerate(grid.items.items(), 1))
    return Sheet(f"Query {grid.query_id}: items", columns, rows, shows_all_rows=True)


def _format_grid_cell(cell: CheckedItem | None) -> Cell:
    if cell is None:
        return ""
    if cell.rating is not None:
        return cell.rating
    return "?" if cell.is_covered is None else cell.is_covered


def build_missing_sheet(found: Sequence[MissingPassage]) -> Sheet:
    """Return a table of relevant passages that cover no item."""
    columns = (
        *(Column("query_id", "Query"), Column("paragraph_id", "Passage")),
        *(build_number_column("relevance", "Judged"), build_number_column("best_rating", "Best")),
        *(build_number_column("n_items"), build_number_column("n_unscored", "Unscored")),
        Column("text", "Text", n_most=120),
    )
    rows = tuple(
        (
            *(one.query_id, one.paragraph_id, one.relevance, one.best_rating),
            *(one.n_items, one.n_unscored, one.text),
        )
        for one in found
    )
    return Sheet("Relevant passages that cover no item", columns, rows)


def build_spurious_sheet(uses: Sequence[ItemUse]) -> Sheet:
    """Return a table of items, with the number and share of passages that cover each of them."""
    columns = (
        *(Column("query_id", "Query"), Column("item"), Column("name", "Item", n_most=60)),
        *(Column("finding", "Finding"), build_number_column("n_other", "Not rel.")),
        *build_score_columns("other", "share"),
        *(build_number_column("n_relevant", "Rel."), *build_score_columns("relevant", "share")),
        *build_score_columns("every", ""),
    )
    rows = tuple(
        (
            *(one.query_id, one.item, one.text or one.item, one.finding, one.n_other),
            *(*build_score_cells(one.other), one.n_relevant),
            *(*build_score_cells(one.relevant), *build_score_cells(one.every)),
        )
        for one in uses
    )
    counts = Counter(one.finding for one in uses)
    labels = {"spurious": "non-relevant passages", "any": "any passage", "none": "none"}
    notes = [f"covered by {label}: {counts[key]}" for key, label in labels.items() if counts[key]]
    title = "Items by number of non-relevant passages that cover them"
    return Sheet(title, columns, rows, "; ".join(notes))


def build_grader_sheets(found: GraderAgreement) -> tuple[Sheet, ...]:
    """Return a table of graders, one of Cohen's kappa, and one of Krippendorff's alpha."""
    names = dict.fromkeys(name for one in found.pairs for name in (one.first, one.second))
    numbers = {name: i for i, name in enumerate(names, start=1)}
    graders = Sheet(
        "Graders",
        (build_number_column("grader", "#"), Column("name", "Grader")),
        tuple((i, name) for name, i in numbers.items()),
        shows_all_rows=True,
    )
    alpha_columns = (
        *(Column("kind", "Items"), Column("of", "Of")),
        *build_score_columns("alpha", "Alpha", "n", "Unscored"),
    )
    named = (("covered or not", found.alpha), ("rating", found.rating_alpha))
    alphas = tuple(
        (kind, of, *build_score_cells(score))
        for of, scores in named
        for kind, score in scores.items()
    )
    return (
        graders,
        _build_pairs_sheet(found.pairs, numbers),
        Sheet("All graders: Krippendorff's alpha", alpha_columns, alphas),
    )


def _build_pairs_sheet(pairs: Sequence[GraderPair], numbers: Mapping[str, int]) -> Sheet:
    columns = (
        *(Column("kind", "Items"), Column("first"), Column("second"), Column("pair", "Graders")),
        *(
            *build_score_columns("equal", "Equal"),
            *build_score_columns("kappa", "Kappa", "n", "Unscored"),
        ),
        *build_score_columns("rating_kappa", "of ratings"),
    )
    empty: tuple[Cell, ...] = (None,) * 7
    rows = tuple(
        (
            *(one.kind, one.first, one.second, f"{numbers[one.first]} and {numbers[one.second]}"),
            *(*build_score_cells(one.covered.accuracy), *build_score_cells(one.covered.kappa)),
            *(
                build_score_cells(one.ratings.quadratic_kappa)
                if one.ratings and one.ratings.quadratic_kappa
                else empty
            ),
        )
        for one in pairs
    )
    note = "covered or not; ratings with quadratic weights"
    return Sheet("Pairs of graders: Cohen's kappa", columns, rows, note)
