"""Find the verdict in a judge's reply, and read its values as their declared types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin

import json_repair
from dspy.adapters.utils import parse_value

from ragassay.agents.json_objects import (
    MOST_DEPTH,
    WRAPPERS,
    Field,
    JsonObject,
    find_objects,
    plain_name,
    unwrap_fields,
)
from ragassay.errors import UnparsableReplyError
from ragassay.text.faults import find_reasoning, with_whole_characters

_NUMBER = re.compile(r"(?<![\w.,-])[+]?(\d{1,4})(?:\.0{1,9})?(?![\w,]|\.\d)")
_OF = re.compile(r"\s{0,9}(?:/|out of|of)\s{0,9}(\d{1,4})(?![\w.,]*\d)", re.IGNORECASE)
_RANGE = re.compile(r"\d\s{0,9}(?:-|\u2013|to|or|and)\s{0,9}\d", re.IGNORECASE)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def required_fields(types: Mapping[str, Any]) -> list[str]:
    """Return the fields without which a reply has no verdict, by all fields' types in order.

    They are the label or rating and what comes before it, such as the reasoning that it rests on; a
    reason behind it may be missing. Without a label, all fields are required.
    """
    labels = [n for n, kind in enumerate(types.values()) if is_label(kind)]
    return list(types)[: labels[-1] + 1 if labels else len(types)]


def is_label(annotation: Any) -> bool:
    """Return whether a type is a set of labels, or a scale."""
    return get_origin(strip_bounds(annotation)) is Literal


def value_of(name: str, value: Any, annotation: Any) -> Any:
    """Return a reply's value as its type.

    Labels are compared without case and punctuation; "supported" and "supports: ..." are the label
    "supports". Of "4/5" and "4 out of 5" the first number counts where the second is the scale's
    highest. Bounds of length are not checked: a reply beyond them is still a reply.

    Raises:
        UnparsableReplyError: It is of another type, or none of the labels.

    Example:
        >>> value_of("rating", "4/5", Literal[1, 2, 3, 4, 5])
        4
        >>> value_of("label", "Not relevant.", Literal["neutral", "not_relevant"])
        'not_relevant'
    """
    kind = strip_bounds(annotation)
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


def strip_bounds(annotation: Any) -> Any:
    """Return a type without the bounds that `Annotated` puts on it or on its items."""
    if get_origin(annotation) is Annotated:
        return strip_bounds(get_args(annotation)[0])
    if get_origin(annotation) is list:
        return list[strip_bounds(get_args(annotation)[0])]
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
    head, *reason = _REASON.split(value, maxsplit=1)
    meant = [label for word, label in by_word.items() if _stem(word) == _stem(_plain(head))]
    next_word = re.search(r"\w+", " ".join(reason))
    if len(meant) != 1 or (next_word and _plain(next_word[0]) in {*_HEDGES, *by_word}):
        raise ValueError("no such label")
    return meant[0]


_REASON = re.compile(r"[:,;(\u2013\u2014]|\s-|-\s|\.\s")
"""Parts a label from the reason that stands behind it."""
_HEDGES = frozenset("or and but not no only partial partially partly in somewhat weakly".split())


def _stem(word: str) -> str:
    """Return a label's word without the ending of a verb: "supported" is "supports"."""
    return re.sub(r"(?<=\w{5})(?:s|ed|ing)$", "", "notrelevant" if word == "irrelevant" else word)


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


_QUOTES = "\"'`\u201c\u201d\u2018\u2019"
_LOOSE_OPENING = re.compile(
    r"\{(?=\s{0,99}(?:(?://|#)[^\n]{0,200}\s{1,99}|/\*[^*]{0,200}\*/\s{0,99})?"
    rf"[{_QUOTES}]?[^\W\d]\w{{0,40}}[{_QUOTES}]?\s{{0,9}}:)"
)
"""Begins an object as models write it by hand: other quotation marks, none, a comment before."""

_BARE_FIELD = re.compile(rf"\s{{0,99}}[{_QUOTES}]\w{{1,40}}[{_QUOTES}]\s{{0,9}}:")

_REFUSAL = re.compile(
    r"\W{0,9}(?:i['\u2019]?m sorry|i am sorry|sorry|i apologi[sz]e|as an ai\b"
    r"|i (?:cannot|can['\u2019]t|could not|won['\u2019]t|will not|am (?:unable|not able)"
    r"|must decline))",
    re.IGNORECASE,
)
MOST_REPAIRED_CHARS = 50_000


def read_reply(
    text: str, names: Sequence[str], required: Iterable[str] | None = None
) -> dict[str, Field]:
    """Return the fields of the last object after the model's reasoning that has what is required.

    Args:
        text: Any text may surround the object. Names are compared without case.
        names: The fields to return; others are dropped.
        required: Those that it must have; by default all.

    Raises:
        ValueError: There is no such object, or it can be read in two ways.

    Example:
        >>> read_reply('{"rating": 1}? No.</think> {"Rating": 4,}', ["rating"])["rating"].value
        4
    """
    wanted = tuple(names if required is None else required)
    objects = find_objects(text)
    outside = "".join(_blank_objects(text, (o for o in objects if not o.problem)))
    reasoning = find_reasoning(outside)
    begin = max((end for _, end in reasoning), default=0)
    if begin and not outside[begin:].strip() and not any(o.start >= begin for o in objects):
        raise ValueError("reasoning without a verdict")
    candidates = [one for one in objects if one.start >= begin]
    found: dict[str, Field] = {}
    problem, last = "no JSON object", begin
    for one in candidates:
        if one.problem:
            continue
        fields = unwrap_fields(text, one.fields, names, wanted)
        if not (missing := [name for name in wanted if name not in fields]):
            found, last = fields, one.end
        elif not found:
            problem = f"no field {missing[0]!r}"
    broken = [one for one in candidates if one.problem]
    after = next((o for o in broken if o.start >= last and _names_any(text, o, wanted)), None)
    if after is None and found:
        _refuse_quoted(text, broken, last)
        return found
    start = after.start if after else _loose_start(outside, last)
    if start is None:
        raise ValueError(after.problem if after else problem)
    return _repair(text, start, names, wanted)


_CUE = re.compile(
    r"\b(?:final(?:ly)?|actual(?:ly)?|revis(?:e|ed|ing|ion)|correct(?:ed|ion)|on reflection"
    r"|second thoughts?|reconsider(?:ed|ing)?|instead|chang(?:e|ed|ing))\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:[:=>\u2192]|\b(?:is|be|becomes?|to|as|it|give|assign|rating|score|grade|verdict|label"
    r"|answer|actually|finally|instead|correction)\b,?)(?:\san?\s)?[\s*_`\"']{0,9}"
    r"(\d+(?:\s?(?:/|out of|of)\s?\d+)?|[^\W\d]+(?:[ _-][^\W\d]+)?)"
    r"(?!(?<=\n\d)[.)])"  # the number of a list's item
    r"(?=[\s*_`\"')]{0,9}(?:\Z|\n|[.,;:!](?!\d)"
    r"|\b(?:instead|because|since|as|given|rather|not|for|due|and|but)\b))",
    re.IGNORECASE,
)
"""A value that words call the verdict, not a number of something else: "rating is 2", "to a 2"."""


def refuse_correction(text: str, field: Field, value: Any, annotation: Any) -> None:
    """Refuse a verdict where the words behind its object change it.

    Words without a cue such as "final" or "actually" change nothing.

    Args:
        annotation: Its labels.

    Raises:
        UnparsableReplyError: The words name another label, or another number of the scale.
    """
    objects = [one for one in find_objects(text) if not one.problem]
    behind = "".join(_blank_objects(text, objects))[field.end :]
    if not any(one.start <= field.start < one.end for one in objects):
        behind = behind.rpartition("}")[2]
    if not _CUE.search(behind):
        return
    labels = get_args(strip_bounds(annotation))
    named = {_find_label(word, labels) for word in _NAMED.findall(behind)} - {None}
    if not named:
        words = {_plain(str(one)): one for one in labels if len(str(one)) > len("three")}
        named = {words[word] for word in map(_plain, behind.split()) if word in words}
        named = set() if value in named else named
    if named - {value}:
        raise UnparsableReplyError(f"the reply says {value!r} and then {behind.strip()[:200]!r}")


def _find_label(word: str, labels: Sequence[Any]) -> Any:
    try:
        return _label(word, labels)
    except ValueError:
        return None


def is_refusal(text: str) -> bool:
    """Return whether a text without an object is a refusal, after the model's reasoning.

    Example:
        >>> is_refusal("I'm sorry, but I can't assist with that.")
        True
    """
    begin = max((end for _, end in find_reasoning(text)), default=0)
    return "{" not in text[begin:] and _REFUSAL.match(text, begin) is not None


def _blank_objects(text: str, objects: Iterable[JsonObject]) -> Iterable[str]:
    """Return a text with spaces for its objects: a tag inside a value is no tag."""
    position = 0
    for one in objects:
        yield text[position : one.start]
        yield " " * (one.end - one.start)
        position = one.end
    yield text[position:]


def _names_any(text: str, one: JsonObject, wanted: Sequence[str]) -> bool:
    return any(_fields_fields_by_name(text, one.start, name) for name in wanted)


def _refuse_quoted(text: str, broken: Sequence[JsonObject], end: int) -> None:
    """Refuse an object that may stand inside a broken one, as a quotation that was not escaped.

    Raises:
        ValueError: An object before it broke off behind a text, or something is closed after it.
    """
    for one in broken:
        if one.start >= end:
            return
        broke_behind_text = text[: one.end].rstrip()[-1:] in ('"', "{")
        if broke_behind_text or re.search(r"[}\]]", text[end:]):
            raise ValueError(one.problem)


def _loose_start(text: str, begin: int) -> int | None:
    """Return where an object begins that no JSON reader would see; None without one."""
    opening = _LOOSE_OPENING.search(text, begin)
    if opening:
        return opening.start()
    # Where a request began the reply with "{", some servers return what follows it.
    bare = _BARE_FIELD.match(text, begin)
    return bare.start() if bare else None


def _repair(text: str, start: int, names: Sequence[str], wanted: Sequence[str]) -> dict[str, Field]:
    """Return the fields of the broken object that begins at an offset.

    Raises:
        ValueError: It cannot be repaired, or in more than one way.
    """
    rest = text[start:].rstrip().rstrip("`~").rstrip()  # a fence may close it
    if len(rest) > MOST_REPAIRED_CHARS:
        raise ValueError(f"broken JSON of {len(rest)} characters")
    places = {name: _fields_fields_by_name(text, start, name) for name in names}
    for name in wanted:
        if not places[name]:
            raise ValueError(f"broken JSON: no field {name!r}")
    for name, found in places.items():
        if len(found) > 1:
            raise ValueError(f"broken JSON: field {name!r} twice")
    is_open = rest.rstrip()[-1:] not in ("}", "]")
    optional = [found[0] for name, found in places.items() if name not in wanted and found]
    if is_open and any(places[name][0] > min(optional, default=len(text)) for name in wanted):
        raise ValueError("broken JSON: the reply breaks off")
    bare = "" if rest.lstrip().startswith("{") else "{"
    try:
        made = json_repair.loads(bare + rest, skip_json_loads=True)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"broken JSON: {error}") from error
    fields = _fields_of(made, names, wanted)
    if is_open and any(isinstance(fields.get(name), list) for name in names):
        raise ValueError("broken JSON: the reply breaks off in a list")
    return {
        name: Field(
            with_whole_characters(_unquote(value, text[at : at + 1])), at, _value_end(text, at)
        )
        for name, value in fields.items()
        for at in places[name]
    }


def _unquote(value: Any, first: str) -> Any:
    """Return a text without the curly quotation marks that a model took for JSON's."""
    is_curly = isinstance(value, str) and first in ("\u2018", "\u201c")
    return value.strip("\u2018\u2019\u201c\u201d") if is_curly else value


def _fields_of(made: Any, names: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
    """Return the named values of what was repaired.

    Raises:
        ValueError: One that is wanted is missing.
    """
    options = made if isinstance(made, list) else [made]
    for option in options:
        for _ in range(MOST_DEPTH):
            if not isinstance(option, dict):
                break
            spelled = {plain_name(str(key)): value for key, value in option.items()}
            found = {
                name: spelled[plain_name(name)] for name in names if plain_name(name) in spelled
            }
            if all(name in found for name in wanted):
                return found
            inner = [
                value
                for key, value in option.items()
                if isinstance(value, dict) and not WRAPPERS.search(str(key))
            ]
            option = inner[0] if len(inner) == 1 else None
    raise ValueError(f"broken JSON: no field {wanted[0]!r}" if wanted else "broken JSON")


def _fields_fields_by_name(text: str, start: int, name: str) -> list[int]:
    """Return the offsets at which values of a field may begin."""
    spelled = r"[\s_-]?".join(re.escape(part) for part in name.split("_"))
    key = rf"(?:[{{,\n]|\A)\s{{0,99}}[{_QUOTES}]?{spelled}[{_QUOTES}]?\s{{0,9}}:\s{{0,9}}"
    # A comment may stand before the name, and its line break is then what begins it.
    return [found.end() for found in re.compile(key, re.IGNORECASE).finditer(text, start)]


def _value_end(text: str, start: int) -> int:
    """Return about where a number or a label ends."""
    found = re.compile(rf"[{_QUOTES}]?[^,}}\n{_QUOTES}]{{0,99}}").match(text, start)
    return found.end() if found else start
