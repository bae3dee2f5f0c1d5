"""Check what a browser sends, and turn it into a review."""

from __future__ import annotations

from pydantic import ConfigDict, Field, JsonValue, ValidationError

from ragassay.errors import InputError
from ragassay.records import BANK, Review, VerdictBase
from ragassay.records.base import Frozen
from ragassay.review.items import ReviewItem, ReviewSource, Value

LONGEST_TEXT = 4_000
LONGEST_NAME = 80


class Submission(Frozen):
    """A message of the browser: a person said something.

    Attributes:
        id: Made by the browser, so that sending it again adds nothing.
        field: What is said: the item's own field, one of its edits, "removed", "note", "added".
        undoes: The review that is taken back.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    id: str = Field(pattern=r"^[A-Za-z0-9-]{8,64}$")
    who: str = Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")
    n: int = Field(ge=0)
    field: str = ""
    value: JsonValue = None
    why: str = Field(default="", max_length=LONGEST_TEXT)
    undoes: str = Field(default="", max_length=64)


def read_said(body: bytes) -> Submission:
    """Read what a browser sent.

    Raises:
        InputError: The message has another form.
    """
    try:
        return Submission.model_validate_json(body)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "body"
        raise InputError(f"{where}: {problem['msg']}") from error


def review_of(said: Submission, item: ReviewItem, source: ReviewSource) -> Review:
    """Return the review of an item; what the model said is read from the item.

    Raises:
        InputError: The value is none that can be said of the item.
    """
    field = said.field or item.field
    if not said.undoes:
        problem = _problem(field, said.value, item)
        if problem:
            raise InputError(f"{field}: {problem}")
    name, value = item.item, said.value
    if field == "added" and isinstance(value, dict):
        name, value = source.addition(item, str(value["text"]))
    return Review(
        id=said.id,
        who=said.who,
        why=said.why,
        evaluator=item.evaluator,
        record=item.record,
        item=name,
        field=field,
        was=_was(field, item),
        value=None if said.undoes else value,
        undoes=said.undoes,
    )


def _was(field: str, item: ReviewItem) -> Value | None:
    if field == item.field:
        return item.said
    return item.subject if field == "text" else None


def _problem(field: str, value: JsonValue, item: ReviewItem) -> str:
    """Return what is wrong with a value; empty where nothing is."""
    if field == "removed":
        return "" if isinstance(value, bool) else "true or false is wanted"
    if field == "note" or (field == "text" and "text" in item.edits):
        return _text_problem(value)
    if field in ("answers", "texts") and field in item.edits:
        is_list = isinstance(value, list) and all(not _text_problem(one) for one in value)
        return "" if is_list else "a list of texts is wanted"
    if field == "added" and item.evaluator == BANK:
        is_item = isinstance(value, dict) and not _text_problem(value.get("text"))
        return "" if is_item else "an item with a text is wanted"
    if field != item.field:
        return "nothing of the kind can be said of this item"
    if any(choice.value == value and type(choice.value) is type(value) for choice in item.choices):
        return ""
    if field == "rating" and _is_between(value, item):
        return ""
    # Labels of a user's own evaluator are known by what it said so far.
    is_open = field == "label" and item.evaluator not in VerdictBase.kinds
    if is_open and not _text_problem(value):
        return ""
    return f"one of {', '.join(choice.word for choice in item.choices)} is wanted"


def _is_between(value: JsonValue, item: ReviewItem) -> bool:
    """Return whether a number lies on the scale of an item whose ratings are no whole numbers."""
    scale = [choice.value for choice in item.choices]
    is_share = any(isinstance(one, float) for one in scale)
    numbers = [one for one in scale if isinstance(one, int | float)]
    if not is_share or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return min(numbers) <= value <= max(numbers)


def _text_problem(value: JsonValue) -> str:
    if not isinstance(value, str) or not value.strip():
        return "a text is wanted"
    is_long = len(value) > LONGEST_TEXT
    return f"a text of at most {LONGEST_TEXT:,} characters is wanted" if is_long else ""
