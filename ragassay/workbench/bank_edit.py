"""Edit test banks with command-line options or in a text editor, and store edits in the journal."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from ragassay.errors import InputError
from ragassay.formats import BankItem, RubricBank, build_bank_item_id
from ragassay.formats.workbench.bank_items import BankKind
from ragassay.records import BANK, Review
from ragassay.runs.banks import AddedItem, BankFile, apply_reviews, collect_history
from ragassay.runs.journal import open_journal, read_with_repairs


@dataclass(frozen=True)
class Author:
    """The user who makes a change, and the reason for it."""

    who: str
    why: str = ""


@dataclass(frozen=True)
class ItemChanges:
    """Changes that command-line options request.

    Attributes:
        item: Id or id prefix of an item. See `find_bank_item`.
        answers: New known answers of the item, or known answers of an added item.
        secret: Whether the item is to be hidden from systems.
        undo: Id or id prefix of a review to undo. See `undo_review`.
    """

    item: str = ""
    text: str | None = None
    answers: Sequence[str] | None = None
    secret: bool | None = None
    remove: bool = False
    add: tuple[str, str] | None = None
    kind: BankKind | None = None
    facet: str = ""
    undo: str = ""

    @property
    def is_empty(self) -> bool:
        """Return whether no change is requested."""
        return self == ItemChanges()


def build_change_reviews(file: BankFile, asked: ItemChanges, author: Author) -> list[Review]:
    """Return the reviews that make the changes requested by options.

    Raises:
        InputError: The options conflict, or the item or query does not exist.
    """
    if sum(map(bool, (asked.item, asked.add, asked.undo))) != 1:
        raise InputError("pass exactly one of --item ID, --add QUERY TEXT and --undo NAME")
    if asked.undo:
        return [undo_review(file, asked.undo, author)]
    if asked.add:
        query, text = asked.add
        return [
            build_addition_review(
                *(file, query, text, author),
                kind=asked.kind,
                facet=asked.facet,
                answers=asked.answers or (),
            )
        ]
    values: dict[str, JsonValue] = {
        "text": asked.text,
        "answers": list(asked.answers) if asked.answers else None,
        "secret": asked.secret,
        "removed": asked.remove or None,
    }
    changes = {name: value for name, value in values.items() if value is not None}
    if not changes:
        raise InputError("--item requires --text, --answer, --secret, --public or --remove")
    return [change(file, asked.item, name, value, author) for name, value in changes.items()]


def append_reviews(file: BankFile, reviews: Sequence[Review]) -> tuple[Review, ...]:
    """Check that reviews can be applied, and add them to the journal of the test banks.

    Raises:
        InputError: The resulting bank would be invalid.
    """
    apply_reviews(file.banks, reviews)
    return open_journal(file.path).add(*reviews)


def find_bank_item(file: BankFile, name: str) -> tuple[RubricBank, BankItem]:
    """Return the item whose id, or the last part of whose id, starts with `name`.

    Raises:
        InputError: `name` matches no item or several items.
    """
    pairs = [(bank, item) for bank in file.banks for item in bank.items]
    exact = [pair for pair in pairs if pair[1].id == name]
    matches = exact or [
        pair
        for pair in pairs
        if pair[1].id.startswith(name) or pair[1].id.rpartition("/")[2].startswith(name)
    ]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise InputError(
            f"{file.path} has no item {name!r}; list the items with `ragassay testbank show`"
        )
    ids = ", ".join(item.id for _, item in matches[:3])
    raise InputError(f"{name!r} matches {len(matches)} items of {file.path}: {ids}, ...")


def change(file: BankFile, name: str, what: str, value: JsonValue, author: Author) -> Review:
    """Return a review that changes a field of a test bank item.

    Args:
        name: Id or id prefix of the item. See `find_bank_item`.
        what: Field to change: "text", "answers", "secret" or "removed".

    Raises:
        InputError: The item does not exist, or the text is empty.
    """
    bank, item = find_bank_item(file, name)
    if what == "text" and not str(value).strip():
        raise InputError(f"{item.id}: the new text is empty")
    return review_field_change(bank, item, what, value, author)


def review_field_change(
    bank: RubricBank, item: BankItem, what: str, value: JsonValue, author: Author
) -> Review:
    """Return a review that stores the old and the new value of an item's field."""
    was: dict[str, JsonValue] = {
        "text": item.text,
        "answers": list(item.answers),
        "secret": item.is_secret,
        "removed": False,
    }
    return Review(
        **{"who": author.who, "why": author.why, "evaluator": BANK, "record": bank.query_id},
        item=item.id,
        field=what,
        was=was[what],
        value=value,
    )


def build_addition_review(
    file: BankFile,
    query: str,
    text: str,
    author: Author,
    *,
    kind: BankKind | None = None,
    facet: str = "",
    answers: Sequence[str] = (),
) -> Review:
    """Return a review that adds a test bank item to a query.

    Args:
        kind: Item kind, by default the kind of the query's first bank.

    Raises:
        InputError: The query does not exist, the text is empty, or an item already has this text.
    """
    banks = [bank for bank in file.banks if bank.query_id == query]
    if not banks:
        raise InputError(f"{file.path} has no query {query!r}")
    added = AddedItem(
        text=" ".join(text.split()),
        kind=kind or banks[0].kind,
        facet=facet,
        answers=tuple(answers),
    )
    return review_added_item(added, banks, author)


def review_added_item(added: AddedItem, banks: Sequence[RubricBank], author: Author) -> Review:
    """Return a review that adds a test bank item, and give the item a unique id.

    Raises:
        InputError: The text is empty, or an item already has this text.
    """
    query = banks[0].query_id
    if not added.text:
        raise InputError(f"the new item of {query} has no text")
    for bank in banks:
        if (bank.facet_id, bank.kind) == (added.facet, added.kind):
            for item in bank.items:
                if item.text.casefold() == added.text.casefold():
                    raise InputError(f"{item.id} already has this text: {item.text!r}")
    used = {item.id for bank in banks for item in bank.items}
    used |= {review.item for bank in banks for review in collect_history(bank)}
    base = name = build_bank_item_id(query, added.text, added.facet)
    count = 1
    while name in used:
        count += 1
        name = f"{base}-{count}"
    return Review(
        **{"who": author.who, "why": author.why, "evaluator": BANK, "record": query},
        item=name,
        field="added",
        value=added.model_dump(mode="json"),
    )


def undo_review(file: BankFile, name: str, author: Author) -> Review:
    """Return a review that undoes an earlier review.

    Args:
        name: Id of the review, or its first characters, or "last" for the latest review by the
            author that is not undone.

    Raises:
        InputError: `name` matches no review or several reviews.
    """
    undone = {review.undoes for review in file.reviews}
    if name == "last":
        own = [r for r in file.reviews if r.who == author.who and not r.undoes]
        matches = [review for review in own if review.id not in undone][-1:]
    else:
        matches = [review for review in file.reviews if review.id.startswith(name)]
    if len(matches) != 1:
        raise InputError(
            f"{name!r} matches {'several changes' if matches else 'no change'} of {file.path}; "
            "list the changes with `ragassay testbank show --history`"
        )
    (review,) = matches
    return Review(
        **{"who": author.who, "why": author.why, "evaluator": BANK, "record": review.record},
        item=review.item,
        field=review.field,
        undoes=review.id,
    )


HELP = """\
# {query}: {text}
#
# Each line has an item number and the item's text. Edit the text to change an item. Delete a line
# to remove its item. Start a line with + to add an item. A line starting with = is a known answer
# to the item above it. Lines starting with # are ignored.
"""


def edit_banks(
    file: BankFile,
    edit: Callable[[str], str],
    author: Author,
    tell: Callable[[str], None],
    query: str = "",
) -> tuple[Review, ...]:
    """Open each test bank in an editor, and store the user's changes.

    Args:
        edit: Function that opens a text in an editor and returns the edited text.
        tell: Function to call with the error message if an edit is invalid.
        query: Id of the query whose banks are edited (empty for all queries).

    Raises:
        InputError: The query does not exist.
    """
    chosen = [bank for bank in file.banks if query in ("", bank.query_id)]
    if not chosen:
        raise InputError(f"{file.path} has no query {query!r}")
    reviews: list[Review] = []
    for bank in chosen:
        read = functools.partial(parse_bank_reviews, bank=bank, author=author)
        reviews += append_reviews(file, read_with_repairs(format_bank_text(bank), read, edit, tell))
    return tuple(reviews)


@dataclass
class _EditedItem:
    text: str
    answers: list[str] = field(default_factory=list[str])


def format_bank_text(bank: RubricBank) -> str:
    """Return a test bank as a text that users can edit."""
    facet = f" / {bank.facet_text or bank.facet_id}" if bank.facet_id else ""
    lines: list[str] = []
    for number, item in enumerate(bank.items, 1):
        lines.append(f"{number}\t{_collapse_whitespace(item.text)}")
        lines += [f"= {_collapse_whitespace(answer)}" for answer in item.answers]
    header = HELP.format(
        query=_collapse_whitespace(bank.query_id),
        text=_collapse_whitespace(bank.query_text + facet),
    )
    return f"{header}\n" + "\n".join(lines) + "\n"


def parse_bank_reviews(text: str, bank: RubricBank, author: Author) -> tuple[Review, ...]:
    """Return the changes that a user made in the text of a test bank.

    Raises:
        InputError: A line is invalid.
    """
    kept, new = _parse_lines(text, len(bank.items))
    reviews: list[Review] = []
    for number, item in enumerate(bank.items, 1):
        line = kept.get(number)
        if line is None:
            reviews.append(review_field_change(bank, item, "removed", True, author))
            continue
        if line.text != _collapse_whitespace(item.text):
            reviews.append(review_field_change(bank, item, "text", line.text, author))
        if sorted(set(line.answers)) != sorted({_collapse_whitespace(a) for a in item.answers}):
            reviews.append(review_field_change(bank, item, "answers", list(line.answers), author))
    for line in new:
        added = AddedItem(
            text=line.text, kind=bank.kind, facet=bank.facet_id, answers=tuple(line.answers)
        )
        reviews.append(review_added_item(added, [bank], author))
    return tuple(reviews)


def _parse_lines(text: str, n_items: int) -> tuple[dict[int, _EditedItem], list[_EditedItem]]:
    kept: dict[int, _EditedItem] = {}
    new: list[_EditedItem] = []
    last: _EditedItem | None = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("="):
            answer = _collapse_whitespace(line[1:])
            if last is None or not answer:
                raise InputError(
                    f"line {number}: a line that starts with = requires an answer and a preceding "
                    "item"
                )
            last.answers.append(answer)
            continue
        mark, *rest = ("+", line[1:]) if line.startswith("+") else line.split(maxsplit=1)
        last = _EditedItem(_collapse_whitespace("".join(rest)))
        if not last.text:
            raise InputError(f"line {number} has no text after {mark!r}")
        if mark == "+":
            new.append(last)
        elif not mark.isdecimal() or not 1 <= int(mark) <= n_items:
            raise InputError(
                f"line {number} starts with {mark!r}; start it with an item number or +"
            )
        elif kept.setdefault(int(mark), last) is not last:
            raise InputError(f"line {number} repeats the item number {mark}")
    return kept, new


def _collapse_whitespace(text: str) -> str:
    return " ".join(text.split())
