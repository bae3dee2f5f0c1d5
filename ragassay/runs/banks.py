"""Read and write test banks with human edits, read graded files, and remove duplicate items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter, ValidationError

from ragassay.errors import InputError, find_first_problem
from ragassay.formats import (
    BankItem,
    build_exam_items,
    find_item_id,
    read_test_banks,
    write_test_banks,
)
from ragassay.formats.workbench.bank_items import BankKind, RubricBank
from ragassay.formats.workbench.paragraphs import QueryParagraphs, read_graded_paragraphs
from ragassay.records import BANK, ExamItem, Record, Rejection, Review, select_final_reviews
from ragassay.records.base import Frozen
from ragassay.runs.journal import open_journal
from ragassay.text.questions import is_one_question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


T = TypeVar("T")

ReviewsByItem = dict[tuple[str, str], list[Review]]
"""Reviews of test bank items, keyed by query and item."""

_YES = TypeAdapter(bool)
_TEXT = TypeAdapter(str)
_ANSWERS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])


class AddedItem(Frozen):
    """The item that a review adds to a test bank."""

    text: str
    kind: BankKind = "questions"
    facet: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class BankFile:
    """A file of test banks, with the reviews that edit it.

    Attributes:
        banks: Test banks after all edits. Each item has an id.
        reviews: All reviews, including those that were undone, oldest first.
        n_stray: Number of reviews of items that are not in the test banks.
    """

    path: Path
    banks: tuple[RubricBank, ...]
    rejections: tuple[Rejection, ...] = ()
    reviews: tuple[Review, ...] = ()
    n_stray: int = 0


def read_bank_file(path: Path) -> BankFile:
    """Read a file of test banks and apply its reviews.

    Raises:
        InputError: The file of test banks or its journal of reviews cannot be read.
    """
    file = read_test_banks(path)
    reviews = tuple(r for r in open_journal(path).read() if r.evaluator == BANK)
    banks = apply_reviews(file.banks, reviews)
    applied = {review.id for bank in banks for review in collect_history(bank)}
    n_stray = sum(review.id not in applied for review in reviews)
    return BankFile(path, banks, file.rejections, reviews, n_stray)


@dataclass(frozen=True)
class GradedFile:
    """A graded file, with its test banks if there are any.

    Attributes:
        rejections: Lines, passages and test banks that could not be read.
    """

    queries: tuple[QueryParagraphs, ...]
    banks: tuple[RubricBank, ...] = ()
    rejections: tuple[Rejection, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """Texts of all items, keyed by item id."""
        return {item.id: item.text for bank in self.banks for item in bank.items}

    def select_queries(self, query: str | None) -> tuple[QueryParagraphs, ...]:
        """Return the passages of one query, or of all queries if `query` is None.

        Raises:
            InputError: The file does not contain the query.
        """
        if query is None:
            return self.queries
        selected = tuple(one for one in self.queries if one.query_id == query)
        if not selected:
            names = [one.query_id for one in self.queries]
            some = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
            raise InputError(f"unknown query {query!r}; the queries are {some}")
        return selected


def read_graded(path: Path, banks: Sequence[Path] = ()) -> GradedFile:
    """Read a graded file and its test banks.

    Raises:
        InputError: A file cannot be opened or is empty.
    """
    graded = read_graded_paragraphs(path)
    files = [read_bank_file(bank) for bank in banks]
    return GradedFile(
        graded.queries,
        tuple(bank for file in files for bank in file.banks),
        graded.rejections + tuple(r for file in files for r in file.rejections),
    )


def write_new_bank(banks: Sequence[RubricBank], path: Path) -> None:
    """Write edited test banks to a new file. The items include their edit history.

    Raises:
        InputError: The file already has a journal of reviews, which would be applied a second time.
    """
    journal = open_journal(path).path
    if journal.exists():
        raise InputError(
            f"{path} already has a file of reviews ({journal}); choose another file name"
        )
    write_test_banks(banks, path)


def collect_history(bank: RubricBank) -> tuple[Review, ...]:
    """Return all edits of a test bank, of its items and of removed items."""
    return (*bank.history, *(review for item in bank.items for review in item.history))


def apply_reviews(banks: Sequence[RubricBank], reviews: Iterable[Review]) -> tuple[RubricBank, ...]:
    """Apply reviews to test banks. Items keep their ids and get a history of edits.

    Args:
        reviews: Reviews in the order of the journal. The last review of a field counts unless it
            was undone. The fields "text", "answers", "secret", "removed" and "added" (with an
            `AddedItem`) change items. Reviews of other fields are only added to the history.

    Raises:
        InputError: The value of a review is invalid for its field.
    """
    bank_reviews = [review for review in reviews if review.evaluator == BANK]
    final, history = (
        _group_by_item(select_final_reviews(bank_reviews)),
        _group_by_item(bank_reviews),
    )
    edited = (_apply_edits(bank, final, history) for bank in _apply_additions(banks, final))
    return _add_undone(tuple(edited), history)


def _group_by_item(reviews: Iterable[Review]) -> ReviewsByItem:
    by_item: ReviewsByItem = {}
    for review in reviews:
        by_item.setdefault((review.record, review.item), []).append(review)
    return by_item


def _apply_additions(banks: Sequence[RubricBank], final: ReviewsByItem) -> list[RubricBank]:
    by_key = {bank.key: bank for bank in banks}
    by_query = {bank.query_id: bank for bank in reversed(banks)}
    for (query, name), reviews in final.items():
        added = next((r for r in reversed(reviews) if r.field == "added"), None)
        if added is None or query not in by_query or added.value is None:
            continue
        item = _parse_value(TypeAdapter(AddedItem), added)
        bank = by_key.get((query, item.facet, item.kind))
        if bank is None:
            bank = RubricBank(
                *(query, by_query[query].query_text, item.kind),
                facet_id=item.facet,
                test_collection=by_query[query].test_collection,
            )
        if all(find_item_id(known, bank) != name for known in bank.items):
            new = BankItem(item.text, name, answers=item.answers)
            by_key[bank.key] = replace(bank, items=(*bank.items, new))
    return list(by_key.values())


def _apply_edits(bank: RubricBank, final: ReviewsByItem, history: ReviewsByItem) -> RubricBank:
    items: list[BankItem] = []
    bank_history = list(bank.history)
    for item in bank.items:
        name = find_item_id(item, bank)
        item_history = (*item.history, *history.get((bank.query_id, name), ()))
        edited = replace(item, id=name, history=item_history)
        is_removed = False
        for review in final.get((bank.query_id, name), ()):
            if review.field == "removed":
                is_removed = _parse_value(_YES, review)
            else:
                edited = _edit_item(edited, review)
        if is_removed:
            bank_history += edited.history
        else:
            items.append(edited)
    return replace(bank, items=tuple(items), history=tuple(bank_history))


def _edit_item(item: BankItem, review: Review) -> BankItem:
    if review.field == "text":
        text = _parse_value(_TEXT, review).strip()
        if not text:
            raise InputError(f"review {review.id}: the text of {review.item} is empty")
        return replace(item, text=text)
    if review.field == "answers":
        return replace(item, answers=_parse_value(_ANSWERS, review))
    if review.field == "secret":
        return replace(item, is_secret=_parse_value(_YES, review))
    return item


def _add_undone(banks: tuple[RubricBank, ...], history: ReviewsByItem) -> tuple[RubricBank, ...]:
    """Add the reviews of additions that were undone to the history of the query's first bank."""
    known = {review.id for bank in banks for review in collect_history(bank)}
    undone: dict[str, list[Review]] = {}
    for (query, _), reviews in history.items():
        if any(r.field == "added" for r in reviews) and reviews[0].id not in known:
            undone.setdefault(query, []).extend(reviews)
    return tuple(
        replace(bank, history=(*bank.history, *undone.pop(bank.query_id, ()))) for bank in banks
    )


def _parse_value(kind: TypeAdapter[T], review: Review) -> T:
    try:
        return kind.validate_python(review.value)
    except ValidationError as error:
        _, problem = find_first_problem(error)
        raise InputError(
            f"review {review.id} of {review.item}: invalid {review.field!r}: {problem}"
        ) from error


Encode = Callable[[Sequence[str]], "NDArray[np.float32]"]
"""Function that embeds texts as unit vectors, shape (n_texts, n_dimensions)."""

ALIKE = {"nuggets": 0.93, "questions": 0.7}
"""Minimum cosine similarity of duplicates with all-MiniLM-L6-v2.

Of the 35 duplicates found with this threshold among the 540 nuggets of DL20, 32 are correct
(checked by hand). Two questions must also pass `is_one_question` to count as duplicates; 0.7 is the
median similarity of two questions for the same query.
"""


def map_duplicates(
    texts: Sequence[str], kind: BankKind, encode: Encode, least: float | None = None
) -> dict[int, int]:
    """Map the position of each duplicate text to the position of its first occurrence.

    Args:
        texts: Texts of one query.
        least: Minimum similarity of two nuggets that count as duplicates. The default is the value
            in `ALIKE`.
    """
    if len(texts) < 2:
        return {}
    plain = [" ".join(text.casefold().split()).strip(" .?!") for text in texts]
    vectors = encode(texts)
    similarities = vectors @ vectors.T
    threshold = ALIKE[kind] if kind == "questions" or least is None else least
    duplicates: dict[int, int] = {}
    for later in range(1, len(texts)):
        for first in range(later):
            if first in duplicates:
                continue
            is_close = similarities[later, first] >= threshold and (
                kind == "nuggets" or is_one_question(texts[first], texts[later])
            )
            if plain[first] == plain[later] or is_close:
                duplicates[later] = first
                break
    return duplicates


def remove_duplicate_items(
    banks: Sequence[RubricBank], encode: Encode, least: float | None = None
) -> tuple[tuple[RubricBank, ...], tuple[tuple[str, str], ...]]:
    """Remove duplicates among the items of the same query and kind.

    Returns:
        Banks without duplicates, and the query and text of each removed item. The known answers of
        a removed question are added to the question that is kept.
    """
    groups: dict[tuple[str, BankKind], list[int]] = {}
    for i, bank in enumerate(banks):
        groups.setdefault((bank.query_id, bank.kind), []).append(i)
    result, removed = list(banks), list[tuple[str, str]]()
    for (query, kind), members in groups.items():
        items = [(i, item) for i in members for item in banks[i].items]
        duplicates = map_duplicates([item.text for _, item in items], kind, encode, least)
        removed += [(query, items[later][1].text) for later in duplicates]
        kept = {n: item for n, (_, item) in enumerate(items) if n not in duplicates}
        for later, n in duplicates.items():
            answers = (*kept[n].answers, *items[later][1].answers)
            kept[n] = replace(kept[n], answers=answers)
        for i in members:
            bank_items = tuple(item for n, item in kept.items() if items[n][0] == i)
            result[i] = replace(banks[i], items=bank_items)
    return tuple(bank for bank in result if bank.items), tuple(removed)


def add_exam_items(
    records: Iterable[Record], testbank: str | Path | Sequence[ExamItem]
) -> tuple[tuple[Record, ...], tuple[Rejection, ...]]:
    """Add test bank items to records that have no exam items.

    Args:
        records: Records whose topic or id is the id of a query.
        testbank: Path of a test bank, or items to add to all records.

    Returns:
        The records, and the lines of the test bank that could not be read. If the test bank has no
        items for any record, the rejections say so.

    Raises:
        InputError: The file cannot be read.
    """
    if not isinstance(testbank, str | Path):
        items = tuple(testbank)
        return tuple(_add_exam(record, items) for record in records), ()
    path = Path(testbank)
    file = read_bank_file(path)
    by_query = group_items(file.banks)
    updated = tuple(
        _add_exam(record, by_query.get(_find_query(record, by_query), ())) for record in records
    )
    rejections = file.rejections
    if not any(record.exam for record in updated):
        unused = Rejection(
            file=str(path),
            line=0,
            problem="no query of the test bank matches the topic or id of an answer, so its items "
            "were not used",
            expected="a test bank whose query ids are the topic ids of the answers",
        )
        rejections = (*rejections, unused)
    return updated, rejections


def group_items(banks: Iterable[RubricBank]) -> dict[str, tuple[ExamItem, ...]]:
    """Return the items of each query, from all its facets and both kinds."""
    items: dict[str, tuple[ExamItem, ...]] = {}
    for bank in banks:
        items[bank.query_id] = (*items.get(bank.query_id, ()), *build_exam_items(bank))
    return items


def _add_exam(record: Record, items: tuple[ExamItem, ...]) -> Record:
    return record if record.exam else record.model_copy(update={"exam": items})


def _find_query(record: Record, known: dict[str, tuple[ExamItem, ...]]) -> str:
    return record.topic if record.topic in known and record.topic is not None else record.id
