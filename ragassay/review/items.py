"""The items of a review: a verdict or an item of a test bank, with its context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import JsonValue

from ragassay.errors import InputError
from ragassay.records import MissingState, Review
from ragassay.reports.display import Tone
from ragassay.runs.journal import Journal

Value = str | float | bool
"""What can be said of an item with one key."""

State = MissingState | Literal["judges", "leads"]
"""What makes an item worth a look: nobody could tell, nobody said, judges differ, or its finding
leads the report."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to say with one key.

    Attributes:
        value: What the journal then holds.
        word: How it is shown.
        hint: When to choose it; may be empty.
    """

    value: Value
    word: str
    tone: Tone = "plain"
    hint: str = ""

    @property
    def key(self) -> str:
        """The digit of a rating; empty where its place tells."""
        is_digit = isinstance(self.value, int) and self.word == str(self.value)
        return self.word if is_digit and len(self.word) == 1 else ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """One judge's word on an item."""

    who: str
    word: str
    tone: Tone = "plain"
    why: str = ""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One thing in question.

    Attributes:
        evaluator: The verdict's evaluator, or `records.BANK`.
        record: The answer, or the query of a bank.
        item: The verdict's item, or the id of the bank's.
        field: What a choice says: "label", "rating" or "removed".
        place: Where it is: "sentence 2, citation 1"; empty for the whole.
        item_text: What is judged, as a line of text.
        model_choice: The model's value, as one of the choices; None where it gave none.
        tentative_choice: The choice that an undecided verdict tends to.
        choices: What a person can say with one key.
        edits: What a person can write: "label", "text", "answers", "texts".
        written: The texts that a list has, where the verdict is one.
        confidence: The model's; empty where not given.
        states: What makes it worth a look.
        priority: The highest comes first.
        because: The same in words.
        opinions: What each judge of a panel or grader said, where there are several.
        sentence: 1-based; None for the whole.
    """

    evaluator: str
    record: str
    item: str
    kind: str
    item_text: str
    field: str = "label"
    place: str = ""
    system: str = ""
    model_choice: Value | None = None
    tentative_choice: Value | None = None
    word: str = ""
    tone: Tone = "plain"
    choices: tuple[Choice, ...] = ()
    edits: tuple[str, ...] = ("label",)
    written: tuple[str, ...] = ()
    confidence: str = ""
    why: str = ""
    states: tuple[State, ...] = ()
    priority: float = 0.0
    because: tuple[str, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    sentence: int | None = None

    @property
    def about(self) -> tuple[str, str, str]:
        """The part of a review that names it."""
        return self.evaluator, self.record, self.item

    def word_of(self, value: object) -> tuple[str, Tone]:
        """Return how a value that somebody said of it is shown."""
        known = next((one for one in self.choices if one.value == value), None)
        return (known.word, known.tone) if known else (value_text(value), "plain")


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A sentence of the answer or passage; `number` is 0 where sentences are not numbered."""

    text: str
    number: int = 0
    cites: tuple[str, ...] = ()
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class RelatedItem:
    """A row beside the text: another verdict, a nugget, a question.

    Attributes:
        text: What it is about.
        word: What was said of it.
        about: Of the item that it is, to go there; None where it is none.
        is_asked: Whether it is the one in question.
    """

    text: str
    place: str = ""
    word: str = ""
    tone: Tone = "plain"
    why: str = ""
    about: tuple[str, str, str] | None = None
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage, and where it stands."""

    text: str
    title: str = ""
    document: str = ""
    url: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of one kind."""

    title: str
    rows: tuple[RelatedItem, ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """The surroundings of an item.

    Attributes:
        sections: Everything else that was said of the answer.
        asks: What is asked of the answer: a rubric's question.
        notes: Facts beside the item, by name: known answers, ids.
    """

    question: str
    lines: tuple[ShownLine, ...] = ()
    passages: tuple[Passage, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    asks: str = ""


@dataclass(frozen=True)
class ReviewSource(ABC):
    """The subject of a review: a run, a graded file or a test bank.

    Attributes:
        noun: What its texts are: "answer", "passage", "item".
    """

    name: str
    noun: str
    items: Sequence[ReviewItem]
    journal: Journal

    finish: ClassVar[str] = ""
    """What ends the review, in words, where a run waits for it."""

    @abstractmethod
    def view(self, item: ReviewItem) -> View:
        """Return what stands around an item."""

    def addition(self, item: ReviewItem, text: str) -> tuple[str, JsonValue]:
        """Return id and value of a new item beside another one.

        Raises:
            InputError: Nothing can be added here.
        """
        raise InputError(f"nothing can be added to {self.name}")

    def find_added(self, review: Review) -> ReviewItem | None:
        """Return the item that a review adds; None where it adds none."""
        return None


def value_text(value: object) -> str:
    """Return a value as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return "; ".join(value_text(one) for one in value)
    if isinstance(value, dict):
        return value_text(value.get("text", "")) or "; ".join(
            value_text(one) for one in value.values()
        )
    return "" if value is None else str(value).replace("_", " ") if _is_label(value) else str(value)


def _is_label(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and " " not in value and value.islower()
