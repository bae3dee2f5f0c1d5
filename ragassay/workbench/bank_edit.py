"""A person's changes of a test bank, one by one or in its text, kept in the journal."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from ragassay.errors import InputError
from ragassay.formats import BankItem, RubricBank, bank_item_id
from ragassay.formats.workbench.bank_items import BankKind
from ragassay.records import BANK, Review
from ragassay.runs.banks import AddedItem, BankFile, all_history, apply_reviews
from ragassay.runs.journal import journal_of, until_read


@dataclass(frozen=True)
class Author:
    """A person who changes something, and the reason."""

    who: str
    why: str = ""


@dataclass(frozen=True)
class ItemChanges:
    """A person's changes, as given by option.

    Attributes:
        item: Name of an item; see `item_of`.
        answers: Its known answers, or those of the new item.
        secret: Whether systems may not see it.
        remove: Whether it is left out.
        add: Query and text of a new item.
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
        return self == ItemChanges()


def asked_reviews(file: BankFile, asked: ItemChanges, author: Author) -> list[Review]:
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
    changes = {what: value for what, value in wanted.items() if value is not None}
    if not changes:
        raise InputError("--item goes with --text, --answer, --secret, --public or --remove")
    return [change(file, asked.item, what, value, author) for what, value in changes.items()]


def keep_reviews(file: BankFile, reviews: Sequence[Review]) -> tuple[Review, ...]:
    """Add reviews to the bank's journal, once they are known to apply.

    Raises:
        InputError: The bank would not be one with them.
    """
    apply_reviews(file.banks, reviews)
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
        kind: Its kind; by default that of the query's first bank.
        facet: Id of the part of the query that it covers.

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


HELP = """\
# {query}: {text}
#
# One item a line: its number, a tab or spaces, its text. Change texts; delete a line to remove its
# item; write a new item after a +. A line that starts with = is a known answer of the item above.
# Lines that start with # are left out.
"""


def edited_by_hand(
    file: BankFile,
    edit: Callable[[str], str],
    author: Author,
    tell: Callable[[str], None],
    query: str = "",
) -> tuple[Review, ...]:
    """Show each bank in an editor, and keep what is changed after each.

    Args:
        file: The bank.
        edit: Shows a text to a person and returns the edited text.
        tell: Receives why an edit cannot be used.
        query: Only this query; empty for all.

    Raises:
        InputError: There is no such query.
    """
    chosen = [bank for bank in file.banks if query in ("", bank.query_id)]
    if not chosen:
        raise InputError(f"{file.path} has no query {query!r}")
    found: list[Review] = []
    for bank in chosen:
        read = functools.partial(reviews_of_text, bank=bank, author=author)
        found += keep_reviews(file, until_read(bank_as_text(bank), read, edit, tell))
    return tuple(found)


@dataclass
class _EditedLine:
    """An item of the edited text."""

    text: str
    answers: list[str] = field(default_factory=list[str])


def bank_as_text(bank: RubricBank) -> str:
    """Return a bank as text to edit."""
    part = f" / {bank.facet_text or bank.facet_id}" if bank.facet_id else ""
    lines: list[str] = []
    for number, item in enumerate(bank.items, 1):
        lines.append(f"{number}\t{_one_line(item.text)}")
        lines += [f"= {_one_line(answer)}" for answer in item.answers]
    opening = HELP.format(query=_one_line(bank.query_id), text=_one_line(bank.query_text + part))
    return f"{opening}\n" + "\n".join(lines) + "\n"


def reviews_of_text(text: str, bank: RubricBank, author: Author) -> tuple[Review, ...]:
    """Return what a person changed in the text of a bank; nothing where it is as it was.

    Raises:
        InputError: Names the line and what is wrong with it.
    """
    kept, new = _parse_lines(text, len(bank.items))
    found: list[Review] = []
    for number, item in enumerate(bank.items, 1):
        line = kept.get(number)
        if line is None:
            found.append(review_of(bank, item, "removed", True, author))
            continue
        if line.text != _one_line(item.text):
            found.append(review_of(bank, item, "text", line.text, author))
        if sorted(set(line.answers)) != sorted({_one_line(a) for a in item.answers}):
            found.append(review_of(bank, item, "answers", list(line.answers), author))
    for line in new:
        added = AddedItem(
            text=line.text, kind=bank.kind, facet=bank.facet_id, answers=tuple(line.answers)
        )
        found.append(review_of_added(added, [bank], author))
    return tuple(found)


def _parse_lines(text: str, n_items: int) -> tuple[dict[int, _EditedLine], list[_EditedLine]]:
    kept: dict[int, _EditedLine] = {}
    new: list[_EditedLine] = []
    last: _EditedLine | None = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("="):
            answer = _one_line(line[1:])
            if last is None or not answer:
                raise InputError(f"line {number}: write an item first, then = and its answer")
            last.answers.append(answer)
            continue
        mark, rest = (line[0], line[1:]) if line.startswith("+") else _first_word(line)
        last = _EditedLine(_one_line(rest))
        if not last.text:
            raise InputError(f"line {number} has no text after {mark!r}")
        if mark == "+":
            new.append(last)
        elif not mark.isdecimal() or not 1 <= int(mark) <= n_items:
            raise InputError(f"line {number} starts with {mark!r}: write an item's number, or +")
        elif kept.setdefault(int(mark), last) is not last:
            raise InputError(f"line {number} has the number {mark} again")
    return kept, new


def _first_word(line: str) -> tuple[str, str]:
    mark, *rest = line.split(maxsplit=1)
    return mark, "".join(rest)


def _one_line(text: str) -> str:
    return " ".join(text.split())
