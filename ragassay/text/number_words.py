"""Parse numbers written as words: "two hundred and five", "two thirds", "half of"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from ragassay.text.units import read_unit

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
_ONES += " fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL_NUMBERS = {word: number for number, word in enumerate(_ONES.split())}
SMALL_NUMBERS |= {word: 10 * number for number, word in enumerate(_TENS.split(), start=2)}
SCALES = {"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
SCALES |= {"trillion": 10**12}
_SHARES = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "tenth": 10}
_SCALE_WORDS = "|".join(SCALES)
_WORD = "|".join(sorted([*SMALL_NUMBERS, *SCALES], key=len, reverse=True))
_SPELLED = re.compile(
    rf"\b(?:(?:an?[\s-](?={_SCALE_WORDS}))?(?:{_WORD})(?:(?:-|\s|\sand\s)(?:{_WORD})(?=\b|fold\b)){{0,12}}"
    rf"(?:[\s-](?P<share>(?:{'|'.join(_SHARES)})s?)\b)?|an?[\s-](?P<a>third|quarter|fifth|tenth)(?=\sof\b)"
    r"|(?P<half>half)(?=\s(?:of|the|an?|that)\b))(?=\b|fold\b)",
    re.IGNORECASE,
)


def find_number_words(text: str) -> Iterator[tuple[int, int, Fraction]]:
    """Yield the start, end and value of each number that is written as words.

    Ordinals are skipped. "One" without a unit is also skipped, because it is usually a pronoun.

    Example:
        >>> [str(value) for *_, value in find_number_words("Two thirds of a hundred and five.")]
        ['2/3', '105']
    """
    for match in _SPELLED.finditer(text):
        share = (match["share"] or match["a"] or match["half"] or "").lower()
        words = re.findall(r"[a-z]+", match[0].lower())
        number = _compute_value(words[:-1] if share else words)
        if share:
            number = Fraction(number or 1, _SHARES.get(share) or _SHARES[share[:-1]])
        if share or words != ["one"] or read_unit(text, match.end() + 1):
            yield match.start(), match.end(), Fraction(number)


def _compute_value(words: list[str]) -> int:
    """Return the value of number words, such as 205,000 for "two hundred and five thousand"."""
    total = part = 0
    for word in words:
        if word in SMALL_NUMBERS:
            part += SMALL_NUMBERS[word]
        elif word in ("hundred", "dozen"):
            part = (part or 1) * SCALES[word]
        elif word in SCALES:
            total += (part or 1) * SCALES[word]
            part = 0
    return total + part
