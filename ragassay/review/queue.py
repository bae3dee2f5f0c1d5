"""The queue: which items a person sees, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from ragassay.reports.labels import label_text
from ragassay.review.desk import Desk
from ragassay.review.items import Item

LONGEST = 200
"""Characters of a filter that are read."""

States = Callable[[Desk, Item, str], bool]

STATES: Mapping[str, tuple[str, States]] = {
    "todo": ("not yet reviewed by me", lambda desk, item, who: not desk.is_done(item, who)),
    "done": ("reviewed by me", lambda desk, item, who: desk.is_done(item, who)),
    "open": (
        "undecided or unscored",
        lambda desk, item, who: "undecided" in item.states or "unscored" in item.states,
    ),
    "judges": ("judges differ", lambda desk, item, who: "judges" in item.states),
    "people": ("people differ", lambda desk, item, who: desk.people_differ(item)),
    "leads": ("leads the report", lambda desk, item, who: "leads" in item.states),
}
"""What can be asked for beside a system and a verdict, in words."""

ORDERS = {"worth": "most worth a look", "file": "order of the file"}


@dataclass(frozen=True)
class Filter:
    """The part of the queue that a person asked to see; an empty field lets everything pass.

    Attributes:
        system: Who wrote the answer.
        evaluator: The kind of verdict.
        verdict: What the model said, in words.
        state: A key of `STATES`.
        text: Words that the item, its id, its place or its record must have.
        order: A key of `ORDERS`.
    """

    system: str = ""
    evaluator: str = ""
    verdict: str = ""
    state: str = ""
    text: str = ""
    order: str = "worth"

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Filter:
        """Read a filter from an address; what it does not know, it leaves out."""
        given = {one.name: asked.get(one.name, "")[:LONGEST] for one in fields(cls)}
        given["state"] = given["state"] if given["state"] in STATES else ""
        given["order"] = given["order"] if given["order"] in ORDERS else "worth"
        return cls(**given)

    def passes(self, item: Item, desk: Desk, who: str) -> bool:
        """Return whether an item is wanted."""
        exact = (
            (self.system, item.system),
            (self.evaluator, item.evaluator),
            (self.verdict, item.word),
        )
        if any(wanted and wanted != own for wanted, own in exact):
            return False
        if self.state and not STATES[self.state][1](desk, item, who):
            return False
        words = self.text.casefold().split()
        named = f"{item.record} {item.item} {item.system} {item.kind} {item.place}"
        own = f"{named} {item.subject} {item.why}".casefold()
        return not words or all(word in own for word in words)


def queue(desk: Desk, wanted: Filter, who: str) -> list[int]:
    """Return the numbers of the wanted items in their order."""
    found = [n for n, item in enumerate(desk.items) if wanted.passes(item, desk, who)]
    if wanted.order == "worth":
        found.sort(key=lambda n: -desk.items[n].worth)
    return found


@dataclass(frozen=True)
class Option:
    """A value to filter by, and how many items have it."""

    value: str
    word: str
    n: int


def options(desk: Desk) -> dict[str, list[Option]]:
    """Return what can be filtered by; fields with a single value are left out."""
    kinds = {item.evaluator: item.kind for item in desk.items}
    counted = {
        "evaluator": Counter(item.evaluator for item in desk.items),
        "verdict": Counter(item.word for item in desk.items if item.word),
        "system": Counter(item.system for item in desk.items if item.system),
    }
    return {
        name: [
            Option(value, kinds.get(value, label_text(value)) if name == "evaluator" else value, n)
            for value, n in counts.most_common()
        ]
        for name, counts in counted.items()
        if len(counts) > 1
    }
