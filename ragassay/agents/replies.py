"""Find the verdict in a judge's reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
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
from ragassay.agents.reply_cues import (
    find_reasoning_end,
    is_aside,
    is_draft,
    is_withdrawn,
    states_other_label,
)
from ragassay.agents.reply_values import strip_bounds
from ragassay.errors import UnparsableReplyError
from ragassay.text.faults import replace_surrogates

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
    begin = find_reasoning_end(outside)
    objects = [o for o in objects if o.start >= begin]
    if begin and not outside[begin:].strip() and not objects:
        raise ValueError("the reply has reasoning but no verdict")
    broken = [o for o in objects if o.problem]
    complete = [o for o in objects if not o.problem]
    verdict, problem = _find_verdict(text, outside, complete, names, wanted, begin)
    last = verdict.end if verdict else begin
    after = next((o for o in broken if o.start >= last and _has_any_field(text, o, names)), None)
    if after is None and verdict:
        _reject_quoted(text, broken, last)
        if not verdict.is_draft:
            return verdict.fields
    start = after.start if after else _find_loose_start(outside, last)
    if start is None:
        raise ValueError(problem)
    before = outside[last:start]
    if is_draft(before, ""):
        raise ValueError(_DRAFT_PROBLEM)
    repaired = _repair(text, start, names, wanted)
    _require_no_aside(verdict, repaired, before, wanted)
    return repaired


_DRAFT_PROBLEM = "the verdict is a draft, an example or a quotation"


@dataclass(frozen=True)
class _Verdict:
    """Fields and end of an object with all wanted fields."""

    fields: dict[str, Field]
    end: int
    is_draft: bool


def _find_verdict(
    text: str,
    outside: str,
    objects: Sequence[JsonObject],
    names: Sequence[str],
    wanted: Sequence[str],
    begin: int,
) -> tuple[_Verdict | None, str]:
    """Return the last object after `begin` with all wanted fields, and what is missing otherwise.

    Raises:
        ValueError: A later object has some of the wanted fields or is ambiguous.
    """
    verdict: _Verdict | None = None
    problem, last = "no JSON object", begin
    for candidate in objects:
        fields = unwrap_fields(text, candidate.fields, names, wanted)
        missing = [name for name in wanted if name not in fields]
        if not missing:
            before = outside[last : candidate.start]
            _require_no_aside(verdict, fields, before, wanted)
            last = candidate.end
            verdict = _Verdict(fields, last, is_draft(before, outside[last : last + 2]))
            problem = _DRAFT_PROBLEM
        elif verdict and _has_any_field(text[: candidate.end], candidate, wanted):
            raise ValueError(f"the last object has no single field {missing[0]!r}")
        else:
            problem = f"no field {missing[0]!r}"
    return verdict, problem


def _require_no_aside(
    verdict: _Verdict | None, fields: Mapping[str, Field], between: str, wanted: Iterable[str]
) -> None:
    """Check that different fields after a verdict are no aside, because the last verdict counts.

    Raises:
        ValueError: The objects may be items of a list, or the later one may be an example.
    """
    if verdict is None or all(verdict.fields[name].value == fields[name].value for name in wanted):
        return
    if is_aside(between) and not verdict.is_draft:
        raise ValueError("the reply has two different verdicts")


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


def require_no_correction(text: str, field: Field, values: Set[Any], annotation: Any) -> None:
    """Check that the text after the object does not change the verdict.

    Args:
        field: Last field of the verdict.
        values: All labels or ratings of the verdict.

    Raises:
        UnparsableReplyError: The text withdraws the verdict or states another.
    """
    _, outside, objects = _read_first_turn(text)
    rest = outside[field.end :]
    if not any(o.start <= field.start < o.end for o in objects if not o.problem):
        rest = rest.rpartition("}")[2]
    if states_other_label(rest, values, get_args(strip_bounds(annotation))) or is_withdrawn(rest):
        raise UnparsableReplyError(
            f"the text after the verdict contradicts it: {rest.strip()[:200]!r}"
        )


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
