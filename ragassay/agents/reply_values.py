"""Parse the values of a judge's reply: ratings, labels and texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin

from dspy.adapters.utils import parse_value

from ragassay.errors import UnparsableReplyError

_NUMBER = re.compile(r"(?<![\w.,-])[+]?(\d{1,4})(?:\.0{1,9})?(?![\w,]|\.\d)")
_OF = re.compile(
    r"[\s(]{0,9}(?:/|out of|of)\s{0,9}(\d{1,4})(?:\.0{1,9})?(?![\w.,]*\d)", re.IGNORECASE
)
_RANGE = re.compile(r"\d\s{0,9}(?:-|\u2013|to|or|and)\s{0,9}\d", re.IGNORECASE)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORD_NUMBER = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_VAGUE = re.compile(
    r"(?:[<>\u2264\u2265]|\b(?:not|than|below|above|under|over|least|most|almost|nearly))\s?(?:an?\s)?$",
    re.IGNORECASE,
)
"""Words before a number that make it a bound or deny it, as in "less than 4"."""


def list_required_fields(types: Mapping[str, Any]) -> list[str]:
    """Return the required fields of a reply, given the types of all fields in order.

    The last label or rating and all fields before it, such as the reasoning, are required. Later
    fields, such as a rationale, may be missing. If there is no label, all fields are required.
    """
    labels = [n for n, kind in enumerate(types.values()) if is_label(kind)]
    return list(types)[: labels[-1] + 1 if labels else len(types)]


def is_label(annotation: Any) -> bool:
    """Return whether a type is a `Literal` of labels or ratings."""
    return get_origin(strip_bounds(annotation)) is Literal


def convert_value(name: str, value: Any, annotation: Any) -> Any:
    """Parse a value as its declared type.

    Case and punctuation of labels are ignored. "supported" and "supports: ..." match the label
    "supports". "4/5" and "4 out of 5" are read as 4 if 5 is the highest rating. Length constraints
    are not checked.

    Raises:
        UnparsableReplyError: The value has the wrong type or matches no label.

    Example:
        >>> convert_value("rating", "4/5", Literal[1, 2, 3, 4, 5])
        4
        >>> convert_value("label", "Not relevant.", Literal["neutral", "not_relevant"])
        'not_relevant'
    """
    kind = strip_bounds(annotation)
    try:
        if get_origin(kind) is Literal:
            return _parse_label(value, get_args(kind))
        if kind is str:
            return _parse_text(value)
        if isinstance(value, bool) is not (kind is bool):
            raise ValueError("the value has the wrong type")
        if get_origin(kind) is list:
            return _parse_list(value, kind)
        return parse_value(value, kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnparsableReplyError(
            f"field {name!r} has the invalid value {str(value)[:100]!r}"
        ) from error


def strip_bounds(annotation: Any) -> Any:
    """Remove `Annotated` constraints from a type and the type of its items."""
    if get_origin(annotation) is Annotated:
        return strip_bounds(get_args(annotation)[0])
    if get_origin(annotation) is list:
        return list[strip_bounds(get_args(annotation)[0])]
    return annotation


def _parse_text(value: Any) -> str:
    """Return a value as text. None becomes an empty string, and a list of strings is joined."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    if not isinstance(value, str):
        raise TypeError("the value has the wrong type")
    # Control characters come from unescaped backslashes, as in \beta and \frac.
    return value.replace("\b", "\\b").replace("\f", "\\f")


def _parse_list(value: Any, kind: Any) -> Any:
    item = get_args(kind)[0]
    if not isinstance(value, list):
        value = [] if value is None else [value]
    if item is str or get_origin(item) is Literal:
        return [convert_value("item", element, item) for element in value]
    return parse_value(value, kind)


def _parse_label(value: Any, labels: Sequence[Any]) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    for label in labels:
        if value == label and isinstance(value, bool) is isinstance(label, bool):
            return label
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if not isinstance(value, str):
        raise ValueError("the label is unknown")
    if re.search(r"\?\W*$", value):
        raise ValueError("the label is uncertain")
    by_word: Mapping[str, Any] = {normalize_label(str(label)): label for label in labels}
    if normalize_label(value) in by_word:
        return by_word[normalize_label(value)]
    if any(isinstance(label, int) for label in labels):
        return _parse_rating(value, labels)
    head, *reason = _REASON.split(value, maxsplit=1)
    matches = [
        label
        for word, label in by_word.items()
        if _stem_label(word) == _stem_label(normalize_label(head))
    ]
    next_word = re.search(r"\w+", " ".join(reason))
    if len(matches) != 1 or (next_word and normalize_label(next_word[0]) in {*_HEDGES, *by_word}):
        raise ValueError("the label is unknown")
    return matches[0]


_REASON = re.compile(r"[:,;(\u2013\u2014]|\s-|-\s|\.\s")
"""Separator between a label and the reason after it."""
_HEDGES = frozenset(
    "or and but not no only partial partially partly in somewhat weakly mostly largely although "
    "though except however unclear unsure uncertain perhaps maybe possibly probably likely close "
    "borderline".split()
)
_SYNONYMS: Mapping[str, str] = {
    "irrelevant": "notrelevant",
    **dict.fromkeys(("unsupported", "nosupport", "doesnotsupport", "doesntsupport"), "notsupport"),
    "ok": "okay",
}


def _stem_label(word: str) -> str:
    """Return a normalized label without verb endings, so that "supported" matches "supports"."""
    word = re.sub("^partially", "partial", _SYNONYMS.get(word, word))
    return re.sub(r"(?<=\w{5})(?:s|ed|ing|ion|ory)$", "", word)


def _parse_rating(value: str, labels: Sequence[Any]) -> Any:
    """Return the rating in a text with a single number, such as "4/5" or "4 (good)"."""
    value = _WORD_NUMBER.sub(lambda word: str(_WORDS.index(word[0].casefold())), value)
    first = _NUMBER.search(value)
    if first is None or _RANGE.search(value) or _VAGUE.search(value[: first.start()]):
        raise ValueError("the value contains no number")
    rest = value[first.end() :]
    top = _OF.match(rest)
    if top and int(top[1]) != max(labels):
        raise ValueError("the rating is on a different scale")
    rest = rest[top.end() :] if top else rest
    if re.match(r"[-+](?!\w)", rest):
        raise ValueError("the rating is uncertain")
    if re.search(r"\d", value[: first.start()] + rest):
        raise ValueError("the value contains more than one number")
    if int(first[1]) not in labels:
        raise ValueError("the rating is outside the scale")
    return int(first[1])


def normalize_label(label: str) -> str:
    """Return a label in lowercase without punctuation, except for signs at a digit."""
    signs = r"^-\d|[<>\u2264\u2265]\s?\d|(?<=\d)[-+?](?!\w)"
    return re.sub(rf"(?!{signs})[\W_]", "", label).casefold()


def find_label(word: str, labels: Sequence[Any]) -> Any:
    """Return the label or rating that a word or two in a text name, or None."""
    if isinstance(labels[0], int) and re.match(r"\D+\s", word):  # as in "one dose"
        return None
    try:
        return _parse_label(word, labels)
    except ValueError:
        return None
