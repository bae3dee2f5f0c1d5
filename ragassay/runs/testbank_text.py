"""Turn a test bank into text that a person edits, and back into what was changed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

from ragassay.errors import InputError
from ragassay.formats import RubricBank
from ragassay.records import Review
from ragassay.runs.nugget_edit import until_read
from ragassay.runs.testbank_edit import Author, kept, review_of, review_of_added
from ragassay.runs.testbanks import AddedItem, BankFile

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
        author: The person.
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
        found += kept(file, until_read(bank_as_text(bank), read, edit, tell))
    return tuple(found)


@dataclass
class _Line:
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
    kept, new = _parsed(text, len(bank.items))
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


def _parsed(text: str, n_items: int) -> tuple[dict[int, _Line], list[_Line]]:
    kept: dict[int, _Line] = {}
    new: list[_Line] = []
    last: _Line | None = None
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
        last = _Line(_one_line(rest))
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
