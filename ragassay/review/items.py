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
"""Reason to review an item: undecided, unscored, judges differ, or a primary finding."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a reviewer can choose with one key.

    Attributes:
        value: Value stored in the journal.
        word: Displayed text.
        hint: Optional explanation of when to choose this value.
    """

    value: Value
    word: str
    tone: Tone = "plain"
    hint: str = ""

    @property
    def key(self) -> str:
        """Digit of a single-digit rating, otherwise empty."""
        is_digit = isinstance(self.value, int) and self.word == str(self.value)
        return self.word if is_digit and len(self.word) == 1 else ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """Verdict of one judge on an item."""

    who: str
    word: str
    tone: Tone = "plain"
    why: str = ""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A verdict or test bank item to review.

    Attributes:
        evaluator: Evaluator of the verdict, or `records.BANK`.
        record: Id of the answer, or of the query of a bank.
        item: Item of the verdict, or id of the bank item.
        field: Review field that a choice sets, such as "label", "rating" or "removed".
        place: Location such as "sentence 2, citation 1". Empty for the whole answer.
        item_text: Text that is judged.
        model_choice: Choice made by the model. None if the model made no choice.
        tentative_choice: Choice that an undecided verdict leans toward.
        choices: Values that the reviewer can choose.
        edits: Fields that the reviewer can edit: "label", "text", "answers", "texts".
        written: Texts of a verdict that is a list of texts.
        confidence: Confidence of the model. Empty if unknown.
        states: Reasons to review the item.
        because: Reasons to review the item, as text.
        opinions: Verdicts of several judges or graders.
        sentence: 1-based sentence number. None for the whole answer.
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
        """Key of the item: evaluator, record and item."""
        return self.evaluator, self.record, self.item

    def word_of(self, value: object) -> tuple[str, Tone]:
        """Return the displayed text and tone of a review value."""
        choice = next((choice for choice in self.choices if choice.value == value), None)
        return (choice.word, choice.tone) if choice else (value_text(value), "plain")


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A sentence of the answer or passage; `number` is 0 if sentences are not numbered."""

    text: str
    number: int = 0
    cites: tuple[str, ...] = ()
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class RelatedItem:
    """A related verdict, nugget or question, shown next to the text.

    Attributes:
        text: Text that was judged.
        word: Verdict as text.
        about: Key of the review item to link to. None if there is none.
        is_asked: Whether this is the item under review.
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
    """A passage and its source."""

    text: str
    title: str = ""
    document: str = ""
    url: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Related items of one kind."""

    title: str
    rows: tuple[RelatedItem, ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """Context of a review item.

    Attributes:
        sections: Other verdicts on the answer.
        asks: Question of the rubric.
        notes: Names and values of additional facts, such as known answers and ids.
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
        noun: Noun for the reviewed texts: "answer", "passage" or "item".
    """

    name: str
    noun: str
    items: Sequence[ReviewItem]
    journal: Journal

    finish: ClassVar[str] = ""
    """Text of the button that ends the review if a run waits for it, otherwise empty."""

    @abstractmethod
    def view(self, item: ReviewItem) -> View:
        """Return the context of an item."""

    def addition(self, item: ReviewItem, text: str) -> tuple[str, JsonValue]:
        """Return the id and value of a new item in the same list as an existing item.

        Raises:
            InputError: The source does not support additions.
        """
        raise InputError(f"{self.name} does not support adding items")

    def find_added(self, review: Review) -> ReviewItem | None:
        """Return the item that a review adds, or None if the review adds nothing."""
        return None


def value_text(value: object) -> str:
    """Return a value as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return "; ".join(map(value_text, value))
    if isinstance(value, dict):
        return value_text(value.get("text", "")) or "; ".join(map(value_text, value.values()))
    return str(value).replace("_", " ") if _is_label(value) else str(value)


def _is_label(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and " " not in value and value.islower()
