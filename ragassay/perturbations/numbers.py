"""Change a number: a dose, a share, a count, a duration."""

from __future__ import annotations

import random
import re
from decimal import Decimal

_N = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_UNIT = (
    r"(?:%|percent|per cent|(?:mg|µg|μg|mcg|ng|kg|g|ml|mL|dl|dL|l|L|IU|units|mmol|mm|cm|m|km|nm|µm"
    r"|nM|µM|mM|mmHg|Hz|kHz|GHz|eV|keV|K|h|s|ms|hours?|days?|weeks?|months?|years?|minutes?"
    r"|seconds?|fold|times|patients|participants|subjects|individuals|people|women|men|children"
    r"|adults|cases|deaths|studies|trials|doses|tablets|mice|rats|cycles|sessions|genes|samples"
    r"|countries|items|degrees|points)\b|°)"
)
# Not a part of a name ("IL-6", "p53"), of a decimal, of a date or of a fraction.
_NUMBER = re.compile(
    rf"(?<![\w.,/)\]\u2013-])(?P<first>{_N})"
    rf"(?:(?P<to>\s?[-\u2013]\s?|\sto\s)(?P<second>{_N}))?"
    rf"(?P<unit>[\s\u00a0-]?{_UNIT})?(?![\w/]|[.,]\d|[-\u2013]\w)"
)
_AMOUNT = re.compile(
    r"(?:\b(?:of|by|to|than|about|approximately|around|roughly|nearly|almost|at|least|most|over"
    r"|under|above|below|only|from|between|was|were|is|are|up|total|score|reached)|[=<>\u2264\u2265~:])"
    r"\s*$",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\s(?!is\b|was\b|has\b|this\b|its\b|vs\b|as\b|plus\b|across\b)[a-z]{3,}s\b")
_NAMED = re.compile(
    r"(?:(?<=\s)[A-Z][\w-]*|\b(?i:type|phase|grade|stage|class|vitamin|group|arm|chromosome|exon"
    r"|level|version|step|number|chapter|section|table|figure|factor|protein|receptor|interleukin"
    r"|paper|study|reference|hepatitis|no\.|fig\.|eq\.|PMID:?))\s$"
)
_LEFT_CHARS = 60
"""How far before a number it is looked for what it counts."""

_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_FACTORS = tuple(Decimal(f) for f in ("0.1", "0.5", "2", "3", "10"))
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
_WORD = re.compile(
    rf"(?<!the )(?<!these )(?<!those )(?<![\w-])(?P<word>{'|'.join(_WORDS)})(?= [a-z])", re.I
)
_OFTEN = re.compile(r"\b(?P<word>once|twice)(?= (?:daily|weekly|monthly|a |per |every ))", re.I)


def change_number(sentence: str, rng: random.Random) -> str | None:
    """Replace a number by a multiple or a fraction of it.

    Years, citations and numbers that are part of a name are left alone. Numbers with a unit come
    first, then bare ones, then those in words.

    Args:
        sentence: Any sentence.
        rng: Draws the number and the factor: 0.1, 0.5, 2, 3 or 10; a whole number stays whole, a
            share stays below a hundred percent, and a number below 1 stays below 1.

    Returns:
        None where there is not a number to change.

    Example:
        >>> change_number("It took 7 days.", random.Random(0))
        'It took 21 days.'
    """
    found = [m for m in _NUMBER.finditer(sentence) if m["unit"] and _factors(m)]
    found = found or [m for m in _NUMBER.finditer(sentence) if _is_amount(m) and _factors(m)]
    if not found:
        return _change_word(sentence, rng)
    chosen = rng.choice(found)
    factor = rng.choice(_factors(chosen))
    text = _times(chosen["first"], factor)
    if chosen["second"]:
        text += chosen["to"] + _times(chosen["second"], factor)
    return (
        sentence[: chosen.start()]
        + text
        + sentence[chosen.end("second" if chosen["second"] else "first") :]
    )


def _is_amount(match: re.Match[str]) -> bool:
    """Return whether a number without a unit is an amount: not "factor 21", "Paper 2", "(3)"."""
    if match["second"] or _YEAR.fullmatch(match["first"]):
        return False
    text, start, end = match.string, match.start(), match.end()
    left = text[max(0, start - _LEFT_CHARS) : start]
    return bool(_AMOUNT.search(left)) or (
        not _NAMED.search(left) and bool(_COUNTED.match(text, end))
    )


def _value(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def _factors(match: re.Match[str]) -> list[Decimal]:
    """Return the factors that leave a number plausible."""
    numbers = [n for n in (match["first"], match["second"]) if n]
    # "1 year" has no plural.
    if any(_value(n) == 0 or n == "1" for n in numbers):
        return []
    is_share = bool(re.search("%|percent|per cent", match["unit"] or ""))
    return [f for f in _FACTORS if all(_fits(n, _value(n) * f, is_share) for n in numbers)]


def _fits(number: str, value: Decimal, is_share: bool) -> bool:
    if "." not in number and value != value.to_integral_value():
        return False
    below = 100 if is_share else 1 if _value(number) < 1 else None
    return below is None or value < below


def _times(number: str, factor: Decimal) -> str:
    value = _value(number) * factor
    if "." not in number:
        return f"{int(value):,}" if "," in number else str(int(value))
    n_decimals = len(number.split(".")[1])
    rounded = round(value, n_decimals)
    return f"{rounded if rounded == value else value.normalize():f}"


def _change_word(sentence: str, rng: random.Random) -> str | None:
    found = [*_WORD.finditer(sentence), *_OFTEN.finditer(sentence)]
    if not found:
        return None
    chosen = rng.choice(found)
    word = chosen["word"]
    others = [w for w in _WORDS if w != word.lower()]
    other = {"once": "twice", "twice": "once"}.get(word.lower()) or rng.choice(others)
    if word[0].isupper():
        other = other.capitalize()
    return sentence[: chosen.start()] + other + sentence[chosen.end() :]
