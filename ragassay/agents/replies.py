"""Find the verdict in a judge's reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from typing import Any, get_args

import json_repair

from ragassay.agents.json_objects import (
    MOST_DEPTH,
    WRAPPERS,
    Field,
    JsonObject,
    find_objects,
    match_fields,
    unwrap_fields,
)
from ragassay.agents.reply_values import find_label, normalize_label, strip_bounds
from ragassay.errors import UnparsableReplyError
from ragassay.text.faults import find_reasoning, replace_surrogates

_QUOTES = "\"'`\u201c\u201d\u2018\u2019"
_WIDE = re.compile(
    rf"(?<=[{_QUOTES}])\s{{0,9}}\uff1a|(?<=[\d{_QUOTES}])\s{{0,9}}\uff0c(?=\s{{0,99}}[{_QUOTES}])"
)
"""Colon or comma in Chinese typography, between the parts of an object."""
_LOOSE_OPENING = re.compile(
    r"\{(?=\s{0,99}(?:(?://|#)[^\n]{0,200}\s{1,99}|/\*[^*]{0,200}\*/\s{0,99})?"
    rf"[{_QUOTES}]?[^\W\d]\w{{0,40}}[{_QUOTES}]?\s{{0,9}}[:\uff1a])"
)
"""Start of an object that has unusual or no quotation marks, or a comment."""

_BARE_FIELD = re.compile(rf"\s{{0,99}}[{_QUOTES}]\w{{1,40}}[{_QUOTES}]\s{{0,9}}:")

_REFUSAL = re.compile(
    r"\W{0,9}(?:unfortunately,? )?(?:(?:i['\u2019]?m |i am )?sorry|i apologi[sz]e"
    r"|as an? (?:ai|(?:large )?language model)\b|i must decline"
    r"|(?:es )?tut mir leid|(?:je suis )?d\u00e9sol\u00e9|lo siento|\u5f88?\u62b1\u6b49"
    r"|i(?: (?:cannot|can['\u2019]t|won['\u2019]t|will not)"
    r"|(?: am|['\u2019]m) (?:unable|not able) to)\W{0,3}"
    r"(?:$|(?:answer|assess|assist|comply|continue|do|engage|evaluate|fulfil+|grade|help|judge"
    r"|label|provide|rate|respond|review|score)\b))",
    re.IGNORECASE,
)
MOST_REPAIRED_CHARS = 50_000


def read_reply(
    text: str, names: Sequence[str], required: Iterable[str] | None = None
) -> dict[str, Field]:
    """Return the fields of the last object that has all required fields and follows the reasoning.

    Args:
        text: Reply. The object may be surrounded by text.
        names: Names of the fields to return. Case is ignored.
        required: Names of the required fields, by default all.

    Raises:
        ValueError: No object has all required fields, or the object is ambiguous.

    Example:
        >>> read_reply('{"rating": 1}? No.</think> {"Rating": 4,}', ["rating"])["rating"].value
        4
    """
    wanted = tuple(names if required is None else required)
    text, outside, objects = _read_first_turn(text)
    reasoning = find_reasoning(outside)
    begin = max((end for _, end in reasoning), default=0)
    objects = [o for o in objects if o.start >= begin]
    if begin and not outside[begin:].strip() and not objects:
        raise ValueError("the reply has reasoning but no verdict")
    broken = [o for o in objects if o.problem]
    complete = [o for o in objects if not o.problem]
    verdict, last, problem = _find_verdict(text, outside, complete, names, wanted)
    last = max(last, begin)
    after = next((o for o in broken if o.start >= last and _has_any_field(text, o, names)), None)
    if after is None and verdict:
        _reject_quoted(text, broken, last)
        return verdict
    start = after.start if after else _find_loose_start(outside, last)
    if start is None:
        raise ValueError(after.problem if after else problem)
    return _repair(text, start, names, wanted)


def _find_verdict(
    text: str,
    outside: str,
    objects: Sequence[JsonObject],
    names: Sequence[str],
    wanted: Sequence[str],
) -> tuple[dict[str, Field], int, str]:
    """Return the fields of the last object with all wanted fields, its end, and what is missing.

    Raises:
        ValueError: A later object has some of the wanted fields or is ambiguous.
    """
    verdict: dict[str, Field] = {}
    problem, last = "no JSON object", 0
    for candidate in objects:
        fields = unwrap_fields(text, candidate.fields, names, wanted)
        missing = [name for name in wanted if name not in fields]
        if not missing:
            if any(verdict[name].value != fields[name].value for name in wanted if verdict):
                _require_correction(outside[last : candidate.start])
            verdict, last = fields, candidate.end
        elif verdict and _has_any_field(text[: candidate.end], candidate, wanted):
            raise ValueError(f"the last object has no single field {missing[0]!r}")
        else:
            problem = f"no field {missing[0]!r}"
    return verdict, last, problem


_NEXT_TURN = re.compile(
    r"<\|(?:im_end|eot_id|endoftext)\|>|<\|im_start\|>user|<end_of_turn>|</s>|\[INST\]"
    r"|^(?:User|Human): ",
    re.MULTILINE,
)


def _read_first_turn(text: str) -> tuple[str, str, list[JsonObject]]:
    """Return a reply before any invented next turn, its text outside of objects, and its objects.

    Models that miss their stop token continue with another question and its verdict.
    """
    objects = find_objects(text)
    complete = [o for o in objects if not o.problem]
    outside = "".join(_blank_objects(text, complete))
    turn = _NEXT_TURN.search(outside, text.index("{")) if "{" in text else None
    end = turn.start() if turn else len(text)
    return text[:end], outside[:end], [o for o in objects if o.start < end]


_ASIDE = re.compile(
    r"\b(?:draft|initial(?:ly)?|original(?:ly)?|previous(?:ly)?|considered|e\.g|example|at first"
    r"|before|had|if|or|alternatively|(?:would|could|might) (?:have|be|get))\b",
    re.IGNORECASE,
)


def _require_correction(between: str) -> None:
    """Check that the text between two different verdicts does not make the second an aside.

    Raises:
        ValueError: The objects are items of a list, or the second may be a draft or an example.
    """
    lead = re.split(r"[.!?]\s{1,9}(?=[A-Z])|\n", between.strip())[-1]
    if lead == "," or _ASIDE.search(lead):
        raise ValueError("the reply has two different verdicts")


_CUE = re.compile(
    r"(?<![^\W_])(?:final(?:ly)?|actual(?:ly)?|revis(?:e|ed|ing|ion)|correct(?:ed|ing|ion)"
    r"|on (?:reflection|(?:further|closer|second) \w+)|re-?(?:read|check|consider|evaluat)\w{0,5}"
    r"|second thoughts?|instead|chang(?:es?|ed|ing)|adjust(?:ed|ing)?|updat(?:ed|ing)|wait|hmm"
    r"|sorry|mistake|edit|should (?:be|get|have been)|make (?:it|that)|go(?:ing)? with|settle"
    r"|deserves|merits|downgrad(?:ed|ing)|lower(?:ed|ing)?|reduced?|rais(?:e|ed|ing)|conclusion"
    r"|boxed|I(?: would| will|['\u2019](?:d|ll))? (?:rate|give|say|score)|result"
    r"|ratings?|score|grade|verdict|label|answer(?=\W{0,4}(?:[:=>]|is\b)))(?![^\W_])",
    re.IGNORECASE,
)
"""Words with which a text changes or states a verdict."""
_NAMED = re.compile(
    r"(?:[]:=>{|\u2013\u2014\u2192]|\b(?:is|(?<!to )(?<!not )be|(?<!would have )been|becomes?|to|as"
    r"|at|on|(?<!not give )it|that|this|with|(?<!not )give|say|get|assign|deserves|merits|rating"
    r"|(?<!would )score|grade|verdict|label|answer|actually|finally|instead|correction|wait)\b,?)"
    r"(?:\san?\s)?[\s*_`\"']{0,9}(?!is\b)"
    r"(\d+(?:\s?(?:/|out of|of)\s?\d+)?|[^\W\d_]{1,40}(?:[ _-][^\W\d_]{1,40})?)"
    r"(?!(?<=\n\d)[.)])"  # the number of a list item
    r"(?=[\s*_`\"')}$]{0,9}(?:\Z|\n|[.,;:!<|](?!\d)"
    r"|\b(?:after|instead|because|since|as|given|rather|not|for|due|and|but|is|seems)\b))",
    re.IGNORECASE,
)
"""A value that the text presents as the verdict, such as "rating is 2" or "to a 2"."""
_ALONE = re.compile(r"^[^\w\n]{0,99}(\w+)[^\w\n]{0,99}$", re.MULTILINE)
"""A value that is a line of its own, such as "**2**"."""


def require_no_correction(text: str, field: Field, values: Set[Any], annotation: Any) -> None:
    """Check that the text after the object does not change the verdict.

    A number without a cue such as "final" or "rating" before it is ignored.

    Args:
        field: Last field of the verdict.
        values: All labels or ratings of the verdict.

    Raises:
        UnparsableReplyError: The text mentions another label or rating.
    """
    _, outside, objects = _read_first_turn(text)
    rest = outside[field.end :]
    if not any(o.start <= field.start < o.end for o in objects if not o.problem):
        rest = rest.rpartition("}")[2]
    labels = get_args(strip_bounds(annotation))
    words = _ALONE.findall(rest)
    cue = _CUE.search(rest)
    if cue:
        rest = rest[rest.rfind("\n", 0, cue.start()) + 1 :]
    if cue or not any(isinstance(label, int) for label in labels):
        words += _NAMED.findall(rest)
    named = {find_label(word, labels) for word in words} - {None}
    if cue and not named:
        long = {normalize_label(str(label)): label for label in labels if len(str(label)) > 5}
        named = {long[word] for word in map(normalize_label, rest.split()) if word in long}
        named = set() if values & named else named
    if named - values:
        raise UnparsableReplyError(
            f"the text after the verdict contradicts it: {rest.strip()[:200]!r}"
        )


def is_refusal(text: str) -> bool:
    """Return whether a reply, after any reasoning, is a refusal that contains no object.

    Example:
        >>> is_refusal("I'm sorry, but I can't assist with that.")
        True
    """
    begin = max((end for _, end in find_reasoning(text)), default=0)
    return "{" not in text[begin:] and _REFUSAL.match(text, begin) is not None


def _blank_objects(text: str, objects: Iterable[JsonObject]) -> Iterable[str]:
    position = 0
    for found in objects:
        yield text[position : found.start]
        yield " " * (found.end - found.start)
        position = found.end
    yield text[position:]


def _has_any_field(text: str, candidate: JsonObject, wanted: Sequence[str]) -> bool:
    return any(_find_values(text, candidate.start, name) for name in wanted)


def _reject_quoted(text: str, broken: Sequence[JsonObject], end: int) -> None:
    """Reject a verdict that may be an unescaped quotation inside a broken object.

    Raises:
        ValueError: A broken object before the verdict may contain it: the object breaks off after a
            string or brace, or a closing bracket follows the verdict.
    """
    for candidate in broken:
        if candidate.start >= end:
            return
        is_in_string = text[: candidate.end].rstrip()[-1:] in ('"', "{")
        if is_in_string or re.search(r"[}\]]", text[end:]):
            raise ValueError(candidate.problem)


def _find_loose_start(text: str, begin: int) -> int | None:
    opening = _LOOSE_OPENING.search(text, begin)
    if opening:
        return opening.start()
    # Some servers omit the "{" from replies if the prompt ends with it.
    bare = _BARE_FIELD.match(text, begin)
    return bare.start() if bare else None


def _repair(text: str, start: int, names: Sequence[str], wanted: Sequence[str]) -> dict[str, Field]:
    """Return the fields of the broken object that starts at an offset.

    Raises:
        ValueError: The object cannot be repaired, or is ambiguous.
    """
    rest = text[start:].rstrip().rstrip("`~").rstrip()  # Removes a closing code fence.
    if len(rest) > MOST_REPAIRED_CHARS:
        raise ValueError(f"broken JSON with {len(rest)} characters")
    offsets = {name: _find_values(text, start, name) for name in names}
    for name in wanted:
        if not offsets[name]:
            raise ValueError(f"broken JSON: no field {name!r}")
    for name, matches in offsets.items():
        if len(matches) > 1:
            raise ValueError(f"broken JSON: field {name!r} occurs twice")
    is_open = rest[-1:] not in ("}", "]")
    optional = [matches[0] for name, matches in offsets.items() if name not in wanted and matches]
    if is_open and any(offsets[name][0] > min(optional, default=len(text)) for name in wanted):
        raise ValueError("broken JSON: the reply is incomplete")
    brace = "" if rest.lstrip().startswith("{") else "{"
    rest = _WIDE.sub(lambda sign: ":" if "\uff1a" in sign[0] else ",", rest)
    try:
        repaired = json_repair.loads(brace + rest, skip_json_loads=True)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"broken JSON: {error}") from error
    fields = _select_fields(repaired, names, wanted)
    if is_open and any(isinstance(fields.get(name), list) for name in names):
        raise ValueError("broken JSON: the reply is incomplete and ends inside a list")
    return {
        name: Field(replace_surrogates(_clean_value(value, text[at:end])), at, end)
        for name, value in fields.items()
        for at in offsets[name]
        for end in [_find_value_end(text, at)]
    }


def _clean_value(value: Any, written: str) -> Any:
    """Return a text without curly quotation marks, or a number with the words around it."""
    if isinstance(value, str):
        is_curly = written[:1] in ("\u2018", "\u201c")
        return value.strip("\u2018\u2019\u201c\u201d") if is_curly else value
    number = re.split("//|#|/[*]", written)[0].strip()  # without a comment
    is_changed = type(value) is int and number != str(value)
    return number if is_changed else value


def _select_fields(repaired: Any, names: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
    options = repaired if isinstance(repaired, list) else [repaired]
    for option in options:
        for _ in range(MOST_DEPTH):
            if not isinstance(option, dict):
                break
            fields = {str(key): Field(value, 0, 0) for key, value in option.items()}
            matching = match_fields(fields, names)
            if all(name in matching for name in wanted):
                return {name: field.value for name, field in matching.items()}
            inner = [
                value
                for key, value in option.items()
                if isinstance(value, dict) and not WRAPPERS.search(str(key))
            ]
            option = inner[0] if len(inner) == 1 else None
    raise ValueError(f"broken JSON: no field {wanted[0]!r}" if wanted else "broken JSON")


def _find_values(text: str, start: int, name: str) -> list[int]:
    pattern = r"[\s_-]?".join(re.escape(part) for part in name.split("_"))
    start_of_key = rf"(?:[{{,\uff0c\n]|\A)\s{{0,99}}[{_QUOTES}]?"
    key = rf"{start_of_key}{pattern}[{_QUOTES}]?\s{{0,9}}[:\uff1a]\s{{0,9}}"
    # The line break allows for a comment before the name.
    return [match.end() for match in re.compile(key, re.IGNORECASE).finditer(text, start)]


def _find_value_end(text: str, start: int) -> int:
    # "1, 2 or 3" without quotation marks is one value.
    rest = rf"(?:[^,}}\n{_QUOTES}]|,(?=\s{{0,9}}\d)){{0,99}}"
    match = re.compile(rf"[{_QUOTES}]?{rest}").match(text, start)
    return match.end() if match else start
