"""Read a value of a reply as its declared type, however a model spells it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin

from dspy.adapters.utils import parse_value

from ragassay.errors import UnparsableReplyError

_NUMBER = re.compile(r"(?<![\w.,-])[+]?(\d{1,4})(?:\.0{1,9})?(?![\w,]|\.\d)")
_OF = re.compile(r"\s{0,9}(?:/|out of|of)\s{0,9}(\d{1,4})(?![\w.,]*\d)", re.IGNORECASE)
_RANGE = re.compile(r"\d\s{0,9}(?:-|\u2013|to|or|and)\s{0,9}\d", re.IGNORECASE)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def required_fields(types: Mapping[str, Any]) -> list[str]:
    """Return the fields without which a reply has no verdict, by all fields' types in order.

    They are the label or rating and what comes before it, such as the reasoning that it rests on; a
    reason behind it may be missing. Without a label, all fields are required.
    """
    labels = [n for n, kind in enumerate(types.values()) if get_origin(unbounded(kind)) is Literal]
    return list(types)[: labels[-1] + 1 if labels else len(types)]


def value_of(name: str, value: Any, annotation: Any) -> Any:
    """Return a reply's value as its type.

    Labels are compared without case and punctuation; of "4/5" and "4 out of 5" the first number
    counts where the second is the scale's highest. Bounds of length are not checked: a reply beyond
    them is still a reply.

    Raises:
        UnparsableReplyError: It is of another type, or none of the labels.

    Example:
        >>> value_of("rating", "4/5", Literal[1, 2, 3, 4, 5])
        4
        >>> value_of("label", "Not relevant.", Literal["neutral", "not_relevant"])
        'not_relevant'
    """
    kind = unbounded(annotation)
    try:
        if get_origin(kind) is Literal:
            return _label(value, get_args(kind))
        if kind is str:
            return _text(value)
        if isinstance(value, bool) is not (kind is bool):
            raise ValueError("another type")
        if get_origin(kind) is list:
            return _list(value, kind)
        return parse_value(value, kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnparsableReplyError(
            f"field {name!r} is {str(value)[:100]!r}, which is not of its type"
        ) from error


def unbounded(annotation: Any) -> Any:
    """Return a type without the bounds that `Annotated` puts on it or on its items."""
    if get_origin(annotation) is Annotated:
        return unbounded(get_args(annotation)[0])
    if get_origin(annotation) is list:
        return list[unbounded(get_args(annotation)[0])]
    return annotation


def _text(value: Any) -> str:
    """Return free text; a missing one is empty, a list of sentences one text."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    if not isinstance(value, str):
        raise TypeError("another type")
    # No model means a backspace or a form feed: it wrote \beta or \frac and meant a backslash.
    return value.replace("\b", "\\b").replace("\f", "\\f")


def _list(value: Any, kind: Any) -> Any:
    item = get_args(kind)[0]
    if not isinstance(value, list):
        value = [] if value is None else [value]
    if item is str or get_origin(item) is Literal:
        return [value_of("item", one, item) for one in value]
    return parse_value(value, kind)


def _label(value: Any, labels: Sequence[Any]) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) and not any(isinstance(label, bool) for label in labels):
        raise ValueError("another type")
    for label in labels:
        if value == label and isinstance(value, bool) is isinstance(label, bool):
            return label
    if not isinstance(value, str):
        raise ValueError("no such label")
    by_word: Mapping[str, Any] = {_plain(str(label)): label for label in labels}
    if _plain(value) in by_word:
        return by_word[_plain(value)]
    if any(isinstance(label, int) for label in labels):
        return _rating(value, labels)
    raise ValueError("no such label")


def _rating(value: str, labels: Sequence[Any]) -> Any:
    """Return the only number of a text, such as "4/5" or "4 (good)".

    Raises:
        ValueError: There is none or more than one, or it is not on the scale.
    """
    word = value.strip().casefold()
    number, rest = (_WORDS.index(word), "") if word in _WORDS else (None, value)
    if number is None:
        first = _NUMBER.search(value)
        if first is None or _RANGE.search(value):
            raise ValueError("no number")
        number, rest = int(first[1]), value[first.end() :]
        top = _OF.match(rest)
        if top and int(top[1]) != max(labels):
            raise ValueError("another scale")
        rest = rest[top.end() :] if top else rest
        if re.search(r"\d", value[: first.start()] + rest):
            raise ValueError("more than one number")
    if number not in labels:
        raise ValueError("not on the scale")
    return number


def _plain(label: str) -> str:
    """Return a label without case, punctuation and emphasis; the minus of a number stays."""
    return re.sub(r"(?!^-\d)[\W_]", "", label).casefold()
