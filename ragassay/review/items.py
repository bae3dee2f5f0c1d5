"""Review items: verdicts and test bank items, with their context."""

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
"""Value that a reviewer can choose for an item."""

State = MissingState | Literal["judges", "leads"]
"""Reason to review an item: it is undecided or unscored, judges differ on it ("judges"), or it
belongs to a main finding ("leads")."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a reviewer can choose by pressing a key.

    Attributes:
        value: Value to store in the journal of reviews.
        word: Text that the page shows for the value.
        tone: Colour of the value on the page.
        hint: Optional explanation of when to choose the value.
    """

    value: Value
    word: str
    tone: Tone = "plain"
    hint: str = ""

    @property
    def key(self) -> str:
        """Key to press for a rating with one digit, or empty for other values."""
        is_digit = isinstance(self.value, int) and self.word == str(self.value)
        return self.word if is_digit and len(self.word) == 1 else ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """Verdict of one judge or grader on an item, for display."""

    who: str
    word: str
    tone: Tone = "plain"
    why: str = ""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A verdict or test bank item to review.

    Attributes:
        evaluator: Evaluator of the verdict, or `records.BANK` for a test bank item.
        record: Id of the answer, or id of the query that a test bank belongs to.
        item: Key of the verdict within the answer, or id of the test bank item.
        item_text: Text that the model judged.
        field: Field of a review that a choice sets, such as "label", "rating" or "removed".
        place: Location such as "sentence 2 · [1]", or empty for the whole answer.
        model_choice: Value that the model chose, or None if it made no choice.
        tentative_choice: Tentative value of an undecided verdict.
        edits: Fields that the reviewer can edit: "label", "text", "answers", "texts".
        written: Texts in the verdict if the verdict is a list, such as a list of nuggets.
        confidence: Confidence of the model as text, or empty if unknown.
        states: Reasons to review the item, as keys for filters.
        because: Reasons to review the item, as text for display.
        opinions: Verdicts of all judges or graders, if there are several.
        sentence: Number of the sentence, starting at 1, or None for the whole answer.
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
        """Values that identify the item: evaluator, record and item."""
        return self.evaluator, self.record, self.item

    def describe_choice(self, value: object) -> tuple[str, Tone]:
        """Return the text and the colour that the page uses for a value."""
        choice = next((choice for choice in self.choices if choice.value == value), None)
        return (choice.word, choice.tone) if choice else (format_review_value(value), "plain")


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A sentence of an answer or passage, with number 0 if sentences are not numbered."""

    text: str
    number: int = 0
    cites: tuple[str, ...] = ()
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class RelatedItem:
    """A verdict, nugget or question that is related to the reviewed item.

    Attributes:
        text: Text that the verdict judges.
        word: Verdict as text for display.
        about: Key of the review item to link to, or None without a link.
        is_asked: Whether this is the reviewed item itself.
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
    """An evidence passage and its source."""

    text: str
    title: str = ""
    document: str = ""
    url: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled list of related items."""

    title: str
    rows: tuple[RelatedItem, ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """Texts and related items that the page shows around a review item.

    Attributes:
        sections: Lists of related items, such as other verdicts on the answer.
        notes: Names and values of further facts, such as known answers and ids.
        asks: Question of the rubric, if the item is a rating.
    """

    question: str
    lines: tuple[ShownLine, ...] = ()
    passages: tuple[Passage, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    asks: str = ""


@dataclass(frozen=True)
class ReviewSource(ABC):
    """A run, graded file or test bank to review.

    Attributes:
        noun: Noun for a reviewed text on the page: "answer", "passage", "item" or "nugget".
        journal: File that stores the reviews.
    """

    name: str
    noun: str
    items: Sequence[ReviewItem]
    journal: Journal

    finish: ClassVar[str] = ""
    """Text of the button that ends a review for which a run waits, or empty if no run waits."""

    @abstractmethod
    def view(self, item: ReviewItem) -> View:
        """Return what the page shows around an item."""

    def build_addition(self, item: ReviewItem, text: str) -> tuple[str, JsonValue]:
        """Return the id and value of an item that a reviewer adds to the list of another item.

        Raises:
            InputError: Items cannot be added to this kind of source.
        """
        raise InputError(f"{self.name} does not support adding items")

    def find_added(self, review: Review) -> ReviewItem | None:
        """Return the item that a review adds, or None if the review adds no item."""
        return None


def format_review_value(value: object) -> str:
    """Return a review value as text for display."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return "; ".join(map(format_review_value, value))
    if isinstance(value, dict):
        return format_review_value(value.get("text", "")) or "; ".join(
            map(format_review_value, value.values())
        )
    return str(value).replace("_", " ") if _is_label(value) else str(value)


def _is_label(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and " " not in value and value.islower()
