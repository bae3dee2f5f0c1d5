"""Compare the numbers of a claim with the numbers of a text.

A number of the claim is "same" if the text states it or implies it in one step, "other" if the text
gives another value for the same thing, and "absent" otherwise. Only "other" is a contradiction, so
doubtful cases are "absent".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ragassay.text.number_arms import find_misplaced_numbers
from ragassay.text.number_context import GENERIC, PEOPLE
from ragassay.text.number_mentions import (
    MONTH_S,
    PRESSURE,
    NumberMention,
    can_compute_number,
    completes_share,
    is_same,
    read_mentions,
)
from ragassay.text.number_qualifiers import is_contrast

NumberVerdict = Literal["same", "absent", "other"]

PLAIN, ALIKE, AFTER_LONG_SLIP, STRICT = (0.75, 0.5), (0.5, 0.55), (0.3, 0.0), (0.85, 0.6)
"""Minimum shares of common words around two numbers that may describe the same quantity.

The first share is that of the words around the claim's number, and the second that of the words
around the text's number. `ALIKE` applies if the adjacent words are the same or the digits differ by
a typing error. `AFTER_LONG_SLIP` applies to typing errors in numbers with many digits. `STRICT`
applies to thresholds ("over 50 years"), because many texts contain several thresholds.
"""
LONG_SLIP = 3

BESIDE = 0.5
"""Value added to the similarity of two numbers if the numbers next to them are equal."""

MOST_CLAIMED = 20
"""Maximum number of numbers in a claim that are compared. The limit bounds the run time."""

MOST_PLACES = 20
"""Maximum number of occurrences of a number in a text. The limit bounds the run time."""

SMALL_COUNT = 12
"""Counts up to this value, and "one" with a unit, are ignored if they are written as words ("two
effects", "one week")."""

TIME_UNITS_S = (60, 3_600, 86_400, 604_800, 2_592_000, 31_536_000)
"""Minimum number of seconds in a minute, hour, day, week, month and year."""

_ARMS = frozenset({"placebo", "control", "group", "arm"})
_AGE = frozenset({"age", "old", "older", "young", "younger"})
_NEVER_OTHER = frozenset({"p", "year"})


@dataclass(frozen=True)
class ComparedNumber:
    """A number in a claim, with the result of its comparison with a text.

    Attributes:
        end: Offset after the number and its unit.
        stated: Span of the text's value if the verdict is "other", otherwise None.
        arm: Study arm to which the text's value belongs if the claim swapped two values, or "".
    """

    start: int
    end: int
    verdict: NumberVerdict
    stated: tuple[int, int] | None = None
    arm: str = ""


def compare_numbers(claim: str, text: str) -> list[ComparedNumber]:
    """Compare each number in a claim with the numbers in a text, in the order of the claim.

    Example:
        >>> [one.verdict for one in compare_numbers("5 mg for 2 weeks", "2 mg for 14 days")]
        ['other', 'same']
        >>> [one.verdict for one in compare_numbers("The dose was 5 mg.", "The dose was 2 mg.")]
        ['other']
    """
    claimed = [one for one in read_mentions(claim) if not _is_small_count(one, claim)]
    claimed = claimed[:MOST_CLAIMED]
    if not claimed:
        return []
    stated = read_mentions(text)
    known = [_find_same_numbers(one, stated) for one in claimed]
    misplaced = find_misplaced_numbers(claim, text, claimed, known)
    missing = [
        not fitting and not can_compute_number(one, stated, text)
        for one, fitting in zip(claimed, known, strict=True)
    ]
    compared: list[ComparedNumber] = []
    for index, one in enumerate(claimed):
        verdict, other, arm = "same", None, ""
        if index in misplaced:
            verdict, (other, arm) = "other", misplaced[index]
        elif missing[index]:
            other = _find_other_value(index, claimed, known, stated)
            others = [claimed[n] for n, is_missing in enumerate(missing) if is_missing]
            if other and _has_other_condition(one, other, others, stated):
                other = None
            silent = "same" if completes_share(one, stated) else "absent"
            verdict = "other" if other else silent
        span = (other.start, other.end) if other else None
        compared.append(ComparedNumber(one.start, one.end, verdict, span, arm))
    return compared


def has_complement(claim: str, text: str) -> bool:
    """Return whether a share in a claim is 100 % minus a share in a text with other words.

    Example:
        >>> has_complement("Of them, 80% did not relapse.", "Of them, 20% relapsed.")
        True
        >>> has_complement("Of them, 80% relapsed.", "Of them, 20% relapsed.")
        False
    """
    stated = read_mentions(text)
    return any(_is_rest(one, other) for one in read_mentions(claim) for other in stated)


def _is_small_count(one: NumberMention, claim: str) -> bool:
    is_word = not re.search(r"\d", claim[one.start : one.end])
    is_count = one.kind in ("count", "bare") and one.amount <= SMALL_COUNT
    return is_word and (is_count or one.quantity.value == 1)


def _find_same_numbers(one: NumberMention, stated: Sequence[NumberMention]) -> list[NumberMention]:
    fitting = (
        other
        for other in stated
        if is_same(one, other)
        # 90 in "140/90 mm Hg" does not fit "systolic pressure below 120".
        and not (one.kind == PRESSURE and is_contrast(one.qualifiers, other.qualifiers))
    )
    return list(itertools.islice(fitting, MOST_PLACES))


def _find_other_value(
    index: int,
    claimed: Sequence[NumberMention],
    known: Sequence[Sequence[NumberMention]],
    stated: Sequence[NumberMention],
) -> NumberMention | None:
    """Return the number that the text states instead of a claim's number, or None if in doubt."""
    one = claimed[index]
    if one.in_interval or one.kind in _NEVER_OTHER:
        return None
    taken = {id(other) for n, fitting in enumerate(known) if n != index for other in fitting}
    best_score, best = 0.0, None
    for n, other in enumerate(stated):
        if id(other) in taken or not _is_comparable(one, other) or _is_rest(one, other):
            continue
        if one.partner:
            # Ranges without a common end are more likely to measure different things.
            end = stated[n + other.partner]
            if not any(known_end is end for known_end in known[index + one.partner]):
                continue
        score = _score_likeness(one, other, _has_companion(index, other, known))
        score += BESIDE * bool(score and _has_same_neighbour(index, n, known, stated))
        if score > best_score:
            best_score, best = score, other
    return best


def _has_other_condition(
    one: NumberMention,
    other: NumberMention,
    missing: Sequence[NumberMention],
    stated: Sequence[NumberMention],
) -> bool:
    """Return whether two sentences also differ in a number of another kind, such as the dose."""
    around = {_find_measure(n) for n in stated if n.sentence == other.sentence}
    around -= {_find_measure(one)}
    return any(
        two.sentence == one.sentence and _find_measure(two) in around
        for two in missing
        if not two.in_interval and two.kind not in ("p", "bare")
    )


def _find_measure(one: NumberMention) -> tuple[str, Fraction | None]:
    """Return the kind and scale of a number, so that a dose in mg is not a weight in kg."""
    return one.kind, one.quantity.unit.factor if one.quantity.unit else None


def _has_companion(
    index: int, other: NumberMention, known: Sequence[Sequence[NumberMention]]
) -> bool:
    """Return whether another number of the claim is in the same sentence as the text's number."""
    return any(
        n != index and any(one.sentence == other.sentence and one.kind != "year" for one in fitting)
        for n, fitting in enumerate(known)
    )


def _has_same_neighbour(
    index: int, n: int, known: Sequence[Sequence[NumberMention]], stated: Sequence[NumberMention]
) -> bool:
    """Return whether an equal number is next to both numbers, such as 2 in "19% with 2 mg"."""
    mine = [
        end
        for fitting in (*known[max(0, index - 1) : index], *known[index + 1 : index + 2])
        for end in fitting
    ]
    theirs = (*stated[max(0, n - 1) : n], *stated[n + 1 : n + 2])
    return any(one is other for one in mine for other in theirs)


def _is_comparable(one: NumberMention, other: NumberMention) -> bool:
    if one.kind != other.kind or other.in_interval or one.partner != other.partner:
        return False
    if one.change != other.change and one.kind not in ("fold", "ratio"):
        return False
    if _meets_bound(one, other) or _meets_bound(other, one):
        return False
    # The second end of a range has a clause of its own, without the negation.
    if one.is_negated != other.is_negated and not one.partner:
        return False
    if is_contrast(one.qualifiers, other.qualifiers):
        return False
    if one.kind == "share" and _is_rate(one) != _is_rate(other):
        return False
    if one.kind == "time" and not _is_one_duration(one, other):
        return False
    if not one.names <= other.words | other.topic:
        return False
    if one.kind == "count" or (one.noun and other.noun):
        return _find_counted_noun(one) == _find_counted_noun(other)
    # The nouns counted by either rate must occur around the other number.
    return set(one.noun[-1:]) <= other.words | other.topic and set(other.noun[-1:]) <= one.words


def _is_rate(one: NumberMention) -> bool:
    """Return whether a share is written as a rate, such as "per 100,000"."""
    return one.quantity.unit is not None and one.quantity.unit.numbered_from is not None


def _meets_bound(bound: NumberMention, one: NumberMention) -> bool:
    """Return whether a number is within a bound: 3.2 % is fewer than 5 %."""
    if one.bound in ("over", "under"):
        return False
    is_within = one.amount <= bound.amount if bound.bound == "under" else one.amount >= bound.amount
    return bound.bound in ("over", "under") and is_within


def _is_rest(one: NumberMention, other: NumberMention) -> bool:
    """Return whether two shares with different words add up to 100 %: 95 % survived, 5 % died."""
    is_worded_alike = one.near == other.near and one.is_negated == other.is_negated
    is_change = one.change or other.change
    return completes_share(one, [other]) and not is_worded_alike and not is_change


def _is_one_duration(one: NumberMention, other: NumberMention) -> bool:
    """Return whether two times may be durations of the same thing.

    A duration is not compared with a period over which something was measured. Units must be the
    same or adjacent, such as days and weeks, unless the values are equal.
    """
    if one.period != other.period:
        return False
    is_unit_slip = one.quantity.value == other.quantity.value
    return is_unit_slip or abs(_rank_time_unit(one) - _rank_time_unit(other)) <= 1


def _rank_time_unit(one: NumberMention) -> int:
    """Return 0 for a time in seconds, 1 for minutes, and so on up to 6 for years."""
    unit = one.quantity.unit
    if unit is None:
        return 0
    factor = unit.factor * (MONTH_S if unit.powers == (("month", 1),) else 1)
    return sum(factor >= least for least in TIME_UNITS_S)


def _find_counted_noun(one: NumberMention) -> str:
    """Return the last noun after a count, or "people" if it counts people."""
    if PEOPLE & set(one.noun):
        return "people"
    return one.noun[-1] if one.noun else ""


def _score_likeness(one: NumberMention, other: NumberMention, has_companion: bool) -> float:
    if not one.near and one.words and not has_companion and one.kind != "ratio":
        return 0.0
    mine = one.near if len(one.near) > 1 else one.near | one.lead
    theirs = other.near if len(other.near) > 1 else other.near | other.lead
    wanted = {word for word in mine if word in other.words or word not in other.topic}
    # A number in the first sentence is about the words next to it, not about all of the topic.
    topic = other.topic if other.sentence else frozenset[str]()
    back = {word for word in other.near if word in one.words or word not in topic}
    if one.bound in ("over", "under"):
        wanted, back = wanted - _AGE, back - _AGE
    if not wanted and not has_companion:
        return 0.5 if not theirs or one.kind == "ratio" else 0.0
    cover = (len(wanted & (theirs | other.lead)) + has_companion) / (len(wanted) + has_companion)
    cover_back = (len(back & one.words) + has_companion) / (len(back) + has_companion or 1)
    slip, head = count_slip_digits(one, other), _has_same_head(one, other)
    is_threshold = one.bound in ("over", "under")
    if slip >= LONG_SLIP and one.near & other.near:
        least = AFTER_LONG_SLIP
    elif is_threshold:
        least = STRICT
    else:
        least = ALIKE if slip or head else PLAIN
    is_unit_slip = one.quantity.value == other.quantity.value
    has_own_words = wanted - other.words - other.topic and back - one.words
    if has_own_words and slip <= LONG_SLIP and not is_unit_slip:
        # As in "acute" and "chronic".
        return 0.0
    if cover < least[0] or (back and cover_back < least[1]):
        return 0.0
    return cover + cover_back + 0.25 * slip + head + 0.25 * len(one.near & other.near)


def _has_same_head(one: NumberMention, other: NumberMention) -> bool:
    mine, theirs = set(one.head), set(other.head)
    shared = (mine & theirs) - _ARMS
    closest = {word for word in one.head[:2] if word not in GENERIC}
    return len(shared) > 1 and bool(shared - GENERIC) and closest <= other.words


def count_slip_digits(one: NumberMention, other: NumberMention) -> int:
    """Return the number of digits if two numbers differ by a typing error, otherwise 0.

    A typing error is one wrong digit, two swapped digits or a misplaced decimal point.

    Example:
        >>> one, other = read_mentions("1,520 mg and 1,250 mg")
        >>> count_slip_digits(one, other)
        4
    """
    mine, theirs = _extract_digits(one), _extract_digits(other)
    if mine.strip("0") == theirs.strip("0"):
        return len(mine.strip("0"))
    if len(mine) != len(theirs) or len(mine) < 2:
        return 0
    off = [n for n, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b]
    is_swap = len(off) == 2 and mine[off[0]] == theirs[off[1]] and mine[off[1]] == theirs[off[0]]
    return len(mine) if len(off) == 1 or (is_swap and len(mine) > 2) else 0


def _extract_digits(one: NumberMention) -> str:
    value = abs(one.quantity.value)
    return re.sub(r"\D", "", f"{float(value):.10f}".rstrip("0"))
