"""A person's changes of a test bank. All of them go to the journal.

Nothing here changes the bank's file; `runs.testbanks.edited` applies what stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from ragassay.errors import InputError
from ragassay.formats import BankItem, RubricBank, bank_item_id
from ragassay.formats.workbench.bank_items import BankKind
from ragassay.records import BANK, Review
from ragassay.runs.journal import journal_of
from ragassay.runs.testbanks import AddedItem, BankFile, all_history, edited


@dataclass(frozen=True)
class Author:
    """A person who changes something, and the reason."""

    who: str
    why: str = ""


@dataclass(frozen=True)
class Asked:
    """A person's changes, as given by option.

    Attributes:
        item: Name of an item; see `item_of`.
        text: Its new text.
        answers: Its known answers, or those of the new item.
        secret: Whether systems may not see it.
        remove: Whether it is left out.
        add: Query and text of a new item.
        kind: Kind of the new item.
        facet: Part of the query that the new item covers.
        undo: Name of a review to take back; see `taken_back`.
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
        """Return whether nothing is asked for."""
        return self == Asked()


def asked_reviews(file: BankFile, asked: Asked, author: Author) -> list[Review]:
    """Return the reviews for what a person asks for.

    Raises:
        InputError: It does not go together, or there is no such item or query.
    """
    ways = [name for name in ("item", "add", "undo") if getattr(asked, name)]
    if len(ways) != 1:
        raise InputError("give one of --item ID, --add QUERY TEXT and --undo NAME")
    if asked.undo:
        return [taken_back(file, asked.undo, author)]
    if asked.add:
        query, text = asked.add
        return [
            addition(
                *(file, query, text, author),
                kind=asked.kind,
                facet=asked.facet,
                answers=asked.answers or (),
            )
        ]
    wanted: dict[str, JsonValue] = {
        "text": asked.text,
        "answers": list(asked.answers) if asked.answers else None,
        "secret": asked.secret,
        "removed": asked.remove or None,
    }
    given = {what: value for what, value in wanted.items() if value is not None}
    if not given:
        raise InputError("--item goes with --text, --answer, --secret, --public or --remove")
    return [change(file, asked.item, what, value, author) for what, value in given.items()]


def kept(file: BankFile, reviews: Sequence[Review]) -> tuple[Review, ...]:
    """Add reviews to the bank's journal, once they are known to apply.

    Raises:
        InputError: The bank would not be one with them.
    """
    edited(file.banks, reviews)
    return journal_of(file.path).add(*reviews)


def item_of(file: BankFile, name: str) -> tuple[RubricBank, BankItem]:
    """Return an item by its id, by the beginning of its id, or of the last part of its id.

    Raises:
        InputError: No item has this name, or several do.
    """
    every = [(bank, item) for bank in file.banks for item in bank.items]
    exact = [pair for pair in every if pair[1].id == name]
    begun = [
        pair
        for pair in every
        if pair[1].id.startswith(name) or pair[1].id.rpartition("/")[2].startswith(name)
    ]
    found = exact or begun
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(f"{file.path} has no item {name!r}; `ragassay testbank show` lists them")
    ids = ", ".join(item.id for _, item in found[:3])
    raise InputError(f"{name!r} may be {len(found)} items of {file.path}: {ids}, ...")


def change(file: BankFile, name: str, what: str, value: JsonValue, author: Author) -> Review:
    """Return a person's word on a field of an item.

    Args:
        file: The bank.
        name: See `item_of`.
        what: "text", "answers", "secret" or "removed".
        value: The new value.
        author: The person.

    Raises:
        InputError: There is no such item, or the text is empty.
    """
    bank, item = item_of(file, name)
    if what == "text" and not str(value).strip():
        raise InputError(f"{item.id}: the new text is empty")
    return review_of(bank, item, what, value, author)


def review_of(
    bank: RubricBank, item: BankItem, what: str, value: JsonValue, author: Author
) -> Review:
    """Return a person's word on a field of an item, beside what the bank says."""
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


def addition(
    file: BankFile,
    query: str,
    text: str,
    author: Author,
    *,
    kind: BankKind | None = None,
    facet: str = "",
    answers: Sequence[str] = (),
) -> Review:
    """Return a person's new item of a query.

    Args:
        file: The bank.
        query: The query's id.
        text: The item.
        author: The person.
        kind: Its kind; by default that of the query's first bank.
        facet: Id of the part of the query that it covers.
        answers: Its known answers.

    Raises:
        InputError: There is no such query, the text is empty, or an item has it already.
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
    return review_of_added(added, banks, author)


def review_of_added(added: AddedItem, banks: Sequence[RubricBank], author: Author) -> Review:
    """Return a person's new item of a query.

    Raises:
        InputError: The text is empty, or an item has it already.
    """
    query = banks[0].query_id
    if not added.text:
        raise InputError(f"the new item of {query} has no text")
    alike = [bank for bank in banks if (bank.facet_id, bank.kind) == (added.facet, added.kind)]
    same = [i for bank in alike for i in bank.items if i.text.casefold() == added.text.casefold()]
    if same:
        raise InputError(f"{same[0].id} says this already: {same[0].text!r}")
    used = {item.id for bank in banks for item in bank.items}
    used |= {review.item for bank in banks for review in all_history(bank)}
    plain = name = bank_item_id(query, added.text, added.facet)
    count = 1
    while name in used:
        count += 1
        name = f"{plain}-{count}"
    return Review(
        **{"who": author.who, "why": author.why, "evaluator": BANK, "record": query},
        item=name,
        field="added",
        value=added.model_dump(mode="json"),
    )


def taken_back(file: BankFile, name: str, author: Author) -> Review:
    """Return a review that takes back an earlier one.

    Args:
        file: The bank.
        name: The review's id or the beginning of it; "last" for the author's last one that stands.
        author: The person.

    Raises:
        InputError: No review has this name, or several do.
    """
    undone = {review.undoes for review in file.reviews}
    if name == "last":
        own = [r for r in file.reviews if r.who == author.who and not r.undoes]
        found = [review for review in own if review.id not in undone][-1:]
    else:
        found = [review for review in file.reviews if review.id.startswith(name)]
    if len(found) != 1:
        problem = "several changes" if found else "no change"
        lists = "`ragassay testbank show --history` lists them"
        raise InputError(f"{name!r} names {problem} of {file.path}; {lists}")
    (one,) = found
    return Review(
        **{"who": author.who, "why": author.why, "evaluator": BANK, "record": one.record},
        item=one.item,
        field=one.field,
        undoes=one.id,
    )
