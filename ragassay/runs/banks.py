"""Read test banks with people's changes and graded files; give items to answers, fold repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter, ValidationError

from ragassay.errors import InputError, first_problem
from ragassay.formats import BankItem, exam_items, item_id, read_test_banks, write_test_banks
from ragassay.formats.workbench.bank_items import BankKind, RubricBank
from ragassay.formats.workbench.paragraphs import QueryParagraphs, read_graded_paragraphs
from ragassay.records import BANK, ExamItem, Record, Rejection, Review
from ragassay.records.base import Frozen
from ragassay.runs.journal import final_reviews, journal_of
from ragassay.text.questions import is_one_question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


T = TypeVar("T")

ReviewsByItem = dict[tuple[str, str], list[Review]]
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
    banks = apply_reviews(found.banks, reviews)
    told = {review.id for bank in banks for review in all_history(bank)}
    n_stray = sum(review.id not in told for review in reviews)
    return BankFile(path, banks, found.rejections, reviews, n_stray)


@dataclass(frozen=True)
class GradedFile:
    """A graded file, and the test banks behind it; none where none were given.

    Attributes:
        rejections: Lines, passages and banks that could not be read.
    """

    queries: tuple[QueryParagraphs, ...]
    banks: tuple[RubricBank, ...] = ()
    rejections: tuple[Rejection, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """Return the items' texts by id."""
        return {item.id: item.text for bank in self.banks for item in bank.items}

    def only(self, query: str | None) -> tuple[QueryParagraphs, ...]:
        """Return one query's passages, or all.

        Raises:
            InputError: The file does not have the query.
        """
        if query is None:
            return self.queries
        found = tuple(one for one in self.queries if one.query_id == query)
        if not found:
            names = [one.query_id for one in self.queries]
            some = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
            raise InputError(f"there is no query {query!r}: there are {some}")
        return found


def read_graded(path: Path, banks: Sequence[Path] = ()) -> GradedFile:
    """Read a graded file and the test banks behind it.

    Raises:
        InputError: A file cannot be opened, or has nothing in it.
    """
    graded = read_graded_paragraphs(path)
    found = [read_bank_file(bank) for bank in banks]
    return GradedFile(
        graded.queries,
        tuple(bank for result in found for bank in result.banks),
        graded.rejections + tuple(r for result in found for r in result.rejections),
    )


def write_new_bank(banks: Sequence[RubricBank], path: Path) -> None:
    """Write banks, as people left them, into a file; the history stands in their items.

    Raises:
        InputError: The file has a journal: the changes in it would be applied twice.
    """
    journal = journal_of(path).path
    if journal.exists():
        raise InputError(f"{path} is a bank that people edit ({journal}): give another name")
    write_test_banks(banks, path)


def all_history(bank: RubricBank) -> tuple[Review, ...]:
    """Return what people changed in a bank and its items, also in those they removed."""
    return (*bank.history, *(review for item in bank.items for review in item.history))


def apply_reviews(banks: Sequence[RubricBank], reviews: Iterable[Review]) -> tuple[RubricBank, ...]:
    """Return banks as people left them: ids stay, and each item tells what was changed in it.

    Args:
        banks: As the file has them.
        reviews: Of a journal, in its order. A person's last word on a field counts, unless it was
            taken back; between people the later word wins. Fields: "text", "answers", "secret",
            "removed", and "added" with an `AddedItem`; others change nothing, but are told.

    Raises:
        InputError: The value of a review is none for its field.
    """
    bank_reviews = [review for review in reviews if review.evaluator == BANK]
    stands, told = _by_item(final_reviews(bank_reviews)), _by_item(bank_reviews)
    found = (_edited_bank(bank, stands, told) for bank in _with_added(banks, stands))
    return _with_undone(tuple(found), told)


def _by_item(reviews: Iterable[Review]) -> ReviewsByItem:
    found: ReviewsByItem = {}
    for review in reviews:
        found.setdefault((review.record, review.item), []).append(review)
    return found


def _with_added(banks: Sequence[RubricBank], stands: ReviewsByItem) -> list[RubricBank]:
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


def _edited_bank(bank: RubricBank, stands: ReviewsByItem, told: ReviewsByItem) -> RubricBank:
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
                now = _change_item(now, review)
        if is_removed:
            history += now.history
        else:
            items.append(now)
    return replace(bank, items=tuple(items), history=tuple(history))


def _change_item(item: BankItem, review: Review) -> BankItem:
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


def _with_undone(banks: tuple[RubricBank, ...], told: ReviewsByItem) -> tuple[RubricBank, ...]:
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


Encode = Callable[[Sequence[str]], "NDArray[np.float32]"]
"""Turns texts into unit vectors, shape (n_texts, n_dimensions)."""

ALIKE = {"nuggets": 0.93, "questions": 0.7}
"""Least cosine similarity of duplicates, on vectors of all-MiniLM-L6-v2.

Nuggets: of the 35 of DL20's 540 that say what another one does by this bound, 32 do, as read.
Questions must also ask for the same in the same words, see `is_one_question`; 0.7 is the median of
all pairs on one query."""


def repeats(
    texts: Sequence[str], kind: BankKind, encode: Encode, least: float | None = None
) -> dict[int, int]:
    """Return the texts that say what an earlier one does: position -> the first one's position.

    Args:
        texts: Of one query.
        kind: Whether they are nuggets or questions.
        encode: The embedder's.
        least: Least similarity of nuggets; by default that of `ALIKE`.
    """
    if len(texts) < 2:
        return {}
    plain = [" ".join(text.casefold().split()).strip(" .?!") for text in texts]
    vectors = encode(texts)
    alike = vectors @ vectors.T
    bound = ALIKE[kind] if kind == "questions" or least is None else least
    found: dict[int, int] = {}
    for later in range(1, len(texts)):
        for first in range(later):
            if first in found:
                continue
            is_close = alike[later, first] >= bound and (
                kind == "nuggets" or is_one_question(texts[first], texts[later])
            )
            if plain[first] == plain[later] or is_close:
                found[later] = first
                break
    return found


def folded_banks(
    banks: Sequence[RubricBank], encode: Encode, least: float | None = None
) -> tuple[tuple[RubricBank, ...], tuple[tuple[str, str], ...]]:
    """Leave out items that say what an earlier one of their query and kind does.

    Returns:
        The banks, and the query and text of each item that was left out. The known answers of a
        folded question go to the one that stays.
    """
    groups: dict[tuple[str, BankKind], list[int]] = {}
    for i, bank in enumerate(banks):
        groups.setdefault((bank.query_id, bank.kind), []).append(i)
    result, folded = list(banks), list[tuple[str, str]]()
    for (query, kind), members in groups.items():
        items = [(i, item) for i in members for item in banks[i].items]
        first = repeats([item.text for _, item in items], kind, encode, least)
        folded += [(query, items[later][1].text) for later in first]
        kept = {n: item for n, (_, item) in enumerate(items) if n not in first}
        for later, n in first.items():
            both = (*kept[n].answers, *items[later][1].answers)
            kept[n] = replace(kept[n], answers=both)
        for i in members:
            own = tuple(item for n, item in kept.items() if items[n][0] == i)
            result[i] = replace(banks[i], items=own)
    return tuple(bank for bank in result if bank.items), tuple(folded)


def with_exam(
    records: Iterable[Record], testbank: str | Path | Sequence[ExamItem]
) -> tuple[tuple[Record, ...], tuple[Rejection, ...]]:
    """Give items of a test bank to the records that have none.

    Args:
        records: They are looked up by topic, else by id.
        testbank: A file, with what people changed in it; or items for all records.

    Returns:
        The records, and the lines of the bank that could not be read; that it has nothing for
        these records is one of them.

    Raises:
        InputError: The file cannot be read.
    """
    if not isinstance(testbank, str | Path):
        items = tuple(testbank)
        return tuple(_give_exam(record, items) for record in records), ()
    path = Path(testbank)
    found = read_bank_file(path)
    by_query = items_by_query(found.banks)
    given = tuple(
        _give_exam(record, by_query.get(_key(record, by_query), ())) for record in records
    )
    return given, (
        *found.rejections,
        *([] if any(r.exam for r in given) else [_unused_bank_rejection(path)]),
    )


def items_by_query(banks: Iterable[RubricBank]) -> dict[str, tuple[ExamItem, ...]]:
    """Return the items of each query, of all its facets and kinds."""
    found: dict[str, tuple[ExamItem, ...]] = {}
    for bank in banks:
        found[bank.query_id] = (*found.get(bank.query_id, ()), *exam_items(bank))
    return found


def _give_exam(record: Record, items: tuple[ExamItem, ...]) -> Record:
    return record if record.exam else record.model_copy(update={"exam": items})


def _key(record: Record, known: dict[str, tuple[ExamItem, ...]]) -> str:
    return record.topic if record.topic in known and record.topic is not None else record.id


def _unused_bank_rejection(path: Path) -> Rejection:
    return Rejection(
        file=str(path),
        line=0,
        problem="none of its queries is the topic or id of an answer: no item was used",
        expected="a bank for the topic ids of the answers",
    )
