"""Find numbers that a claim states for the wrong study arm, group, dose or interval limit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragassay.text.number_mentions import NumberMention, read_mentions
from ragassay.text.number_qualifiers import is_of_group

_RESPECTIVELY = re.compile(r"\brespectively\b", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b(?:compar\w+|than|versus|vs|relative|against|over|from|between|both|same|equal\w*)\b",
    re.IGNORECASE,
)
"""Matches a comparison, in which the words near a number may be those of the other group."""

Misplaced = dict[int, tuple[NumberMention, str]]
"""The text's value and the study arm to which it belongs, or "", by index of the claim's number."""


def find_misplaced_numbers(
    claim: str,
    text: str,
    claimed: Sequence[NumberMention],
    known: Sequence[Sequence[NumberMention]],
) -> Misplaced:
    """Return the text's values for numbers that the claim states for the wrong arm or group.

    `known` contains, for each number of the claim, the equal numbers of the text. With
    "respectively" in either text, the order of the numbers is not analysed.
    """
    if _RESPECTIVELY.search(claim) or _RESPECTIVELY.search(text):
        return {}
    swapped = _find_swapped(claimed, known)
    if _COMPARED.search(claim):
        return swapped
    return _find_numbers_of_groups(claimed, known, read_mentions(text)) | swapped


def _find_swapped(
    claimed: Sequence[NumberMention], known: Sequence[Sequence[NumberMention]]
) -> Misplaced:
    """Return the text's values for numbers that the claim states for the wrong arm, by index."""
    swapped: Misplaced = {}
    for index, one in enumerate(claimed[:-1]):
        other = claimed[index + 1]
        if one.kind != other.kind or one.sentence != other.sentence or one.in_interval:
            continue
        pairs = [
            (a, b)
            for a in known[index]
            for b in known[index + 1]
            if a.sentence == b.sentence and a is not b and a.amount != b.amount
        ]
        arms = [arm for a, b in pairs if (arm := _find_crossed_arms(one, other, a, b))]
        if pairs and len(arms) == len(pairs):
            (a, b), (first, second) = pairs[0], arms[0]
            swapped[index], swapped[index + 1] = (b, first), (a, second)
    return swapped


def _find_numbers_of_groups(
    claimed: Sequence[NumberMention],
    known: Sequence[Sequence[NumberMention]],
    stated: Sequence[NumberMention],
) -> Misplaced:
    """Return the text's number for a group if the claim gives it the number of another, by index.

    This is 17 % for "12% on placebo" if the text is "12% in the drug group and 17% on placebo".
    """
    taken = {id(other) for fitting in known for other in fitting}
    misplaced: Misplaced = {}
    free = [other for other in stated if other.qualifiers and id(other) not in taken]
    for index, one in enumerate(claimed):
        is_single_value = not one.partner and one.bound not in ("over", "under")
        if not is_single_value or not known[index]:
            continue
        alike = [other for other in free if one.qualifiers & other.qualifiers]
        of_group = [
            [
                other
                for other in alike
                if (other.sentence, other.kind) == (mine.sentence, mine.kind)
                and is_of_group(one.qualifiers, other.qualifiers, mine.qualifiers)
            ]
            for mine in known[index]
        ]
        if all(of_group):
            misplaced[index] = of_group[0][0], ""
    return misplaced


def _is_list(one: NumberMention, other: NumberMention) -> bool:
    """Return whether no word can stand between two numbers, as in "at 1 and 5 min"."""
    return other.start - one.end <= len(" and ")


def _find_crossed_arms(
    one: NumberMention, other: NumberMention, mine: NumberMention, theirs: NumberMention
) -> tuple[str, str] | None:
    """Return the study arms of the text's two numbers if the claim swapped the arms, or None."""
    if _is_list(one, other) or _is_list(*sorted((mine, theirs), key=lambda number: number.start)):
        return None
    first, second = one.near - other.near, other.near - one.near
    mine_only, theirs_only = mine.near - theirs.near, theirs.near - mine.near
    straight = ((first & mine_only) - (one.lead & mine.lead)) | (second & theirs_only)
    crossed = sorted(first & theirs_only), sorted(second & mine_only)
    if straight or not all(crossed):
        return None
    return crossed[0][0], crossed[1][0]
