"""Make numbers in a text wrong by changing a value, digit, exponent or unit."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from decimal import Decimal

from ragassay.text.quantities import Quantity

_N = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_UNIT = (
    r"(?:%|percent|per cent|(?:mg|µg|μg|mcg|ng|kg|g|ml|mL|dl|dL|l|L|IU|units|mmol|mm|cm|m|km|nm|µm"
    r"|nM|µM|mM|mmHg|Hz|kHz|GHz|eV|keV|K|h|s|ms|hours?|days?|weeks?|months?|years?|minutes?"
    r"|seconds?|fold|times|patients|participants|subjects|individuals|people|women|men|children"
    r"|adults|cases|deaths|studies|trials|doses|tablets|mice|rats|cycles|sessions|genes|samples"
    r"|countries|items|degrees|points)\b|°)"
)
# Excludes parts of names ("IL-6", "p53"), decimals, dates and fractions.
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
"""Number of characters before a number that are searched for its context."""

_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_FACTORS = tuple(Decimal(f) for f in ("0.1", "0.5", "2", "3", "10"))
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
_WORD = re.compile(
    rf"(?<!the )(?<!these )(?<!those )(?<![\w-])(?P<word>{'|'.join(_WORDS)})(?= [a-z])", re.I
)
_OFTEN = re.compile(r"\b(?P<word>once|twice)(?= (?:daily|weekly|monthly|a |per |every ))", re.I)


def change_number(sentence: str, rng: random.Random) -> str | None:
    """Multiply a number by 0.1, 0.5, 2, 3 or 10, or replace a number word.

    Numbers with a unit are preferred, then plain numbers, then number words. Years, citations and
    numbers in names are never changed. Integers stay integers, percentages stay below 100, and
    numbers below 1 stay below 1. Returns None if there is no suitable number.

    Example:
        >>> change_number("It took 7 days.", random.Random(0))
        'It took 21 days.'
    """
    matches = [m for m in _NUMBER.finditer(sentence) if _list_factors(m)]
    candidates = [m for m in matches if m["unit"]] or [m for m in matches if _is_amount(m)]
    if not candidates:
        return _change_word(sentence, rng)
    chosen = rng.choice(candidates)
    factor = rng.choice(_list_factors(chosen))
    text, end = _multiply(chosen["first"], factor), chosen.end("first")
    if chosen["second"]:
        text += chosen["to"] + _multiply(chosen["second"], factor)
        end = chosen.end("second")
    return sentence[: chosen.start()] + text + sentence[end:]


def _is_amount(match: re.Match[str]) -> bool:
    """Return whether a number without a unit is an amount, unlike "factor 21" or "(3)"."""
    if match["second"] or _YEAR.fullmatch(match["first"]):
        return False
    text, start, end = match.string, match.start(), match.end()
    left = text[max(0, start - _LEFT_CHARS) : start]
    return bool(_AMOUNT.search(left)) or (
        not _NAMED.search(left) and bool(_COUNTED.match(text, end))
    )


def _parse_number(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def _list_factors(match: re.Match[str]) -> list[Decimal]:
    numbers = [n for n in (match["first"], match["second"]) if n]
    # Multiples of 1 would need a plural unit.
    if any(_parse_number(n) == 0 or n == "1" for n in numbers):
        return []
    is_percentage = bool(re.search("%|percent|per cent", match["unit"] or ""))
    return [f for f in _FACTORS if all(_is_plausible(n, f, is_percentage) for n in numbers)]


def _is_plausible(number: str, factor: Decimal, is_percentage: bool) -> bool:
    value = _parse_number(number) * factor
    if "." not in number and value != value.to_integral_value():
        return False
    limit = 100 if is_percentage else 1 if _parse_number(number) < 1 else None
    return limit is None or value < limit


def _multiply(number: str, factor: Decimal) -> str:
    value = _parse_number(number) * factor
    if "." not in number:
        return f"{int(value):,}" if "," in number else str(int(value))
    n_decimals = len(number.split(".")[1])
    rounded = round(value, n_decimals)
    return f"{rounded if rounded == value else value.normalize():f}"


def _change_word(sentence: str, rng: random.Random) -> str | None:
    matches = [*_WORD.finditer(sentence), *_OFTEN.finditer(sentence)]
    if not matches:
        return None
    match = rng.choice(matches)
    return (
        sentence[: match.start()] + _choose_other_word(match["word"], rng) + sentence[match.end() :]
    )


def _choose_other_word(word: str, rng: random.Random) -> str:
    others = [other for other in _WORDS if other != word.lower()]
    other = {"once": "twice", "twice": "once"}.get(word.lower()) or rng.choice(others)
    return other.capitalize() if word[0].isupper() else other


Edit = tuple[int, int, str]
"""Start, end and new text of a replacement."""

Wrong = Callable[[str, Quantity, random.Random], Edit | None]
"""Function that makes a number in a text wrong, or returns None if this is not possible."""

_MANTISSA = re.compile(r"[0-9][0-9,]*(?:[.\u00b7][0-9]+)?")
_EXPONENT = re.compile(
    r"(?<=10)\s?(?:\^|\*\*)?\s?[({]?[-+\u2212\u2013]?(?P<figure>[0-9]{1,2})[)}]?$"
)
_UNIT_WITH_PREFIX = re.compile(
    r"(?P<gap>[\s\u00a0-]?)(?P<prefix>[pnu\u00b5\u03bcmk]?)(?P<base>g|L|l|mol|M|m|s|V|A|W|Da|Hz|eV)(?![a-zA-Z])"
)
_NAMED_UNIT = re.compile(
    r"(?P<gap>[\s\u00a0-]?)(?P<unit>cm|dl|dL|min|minutes|h|hours|days|weeks|s|seconds)\b"
)
_OTHER_UNITS = {
    **{"cm": ("mm", "m"), "dl": ("ml", "l"), "dL": ("mL", "L"), "min": ("h", "s")},
    **{"minutes": ("hours", "seconds"), "h": ("min", "s"), "hours": ("minutes", "days")},
    **{"days": ("hours", "weeks"), "weeks": ("days", "months"), "s": ("min", "h")},
    "seconds": ("minutes", "hours"),
}
_NEAR_PREFIXES = {
    **{"p": "n", "n": "p\u00b5", "u": "nm", "\u00b5": "nm", "\u03bc": "nm"},
    **{"m": "\u00b5", "": "mk", "k": "mM"},
}


def change_digit(text: str, one: Quantity, rng: random.Random) -> Edit | None:
    """Change one digit, or replace a number word."""
    found = _MANTISSA.match(text, one.start, one.end)
    if not found:
        word = text[one.start : one.end]
        is_known = word.lower() in _WORDS
        return (one.start, one.end, _choose_other_word(word, rng)) if is_known else None
    figures = found[0]
    indices = [i for i, char in enumerate(figures) if char.isdigit()]
    # A leading zero stays: "0.7" becomes "0.3", not "4.7".
    index = rng.choice([i for i in indices if i or figures[0] != "0"] or indices)
    digits = "123456789" if index == 0 else "0123456789"
    digit = rng.choice([char for char in digits if char != figures[index]])
    start = found.start() + index
    return start, start + 1, digit


def scale_by_ten(text: str, one: Quantity, rng: random.Random) -> Edit | None:
    """Multiply or divide a number by ten."""
    found = _MANTISSA.match(text, one.start, one.end)
    figures = found[0].replace(",", "").replace("\u00b7", ".") if found else "0"
    if not found or not float(figures):
        return None
    whole, _, rest = figures.partition(".")
    if rng.random() < 0.5:
        whole, rest = whole + (rest[:1] or "0"), rest[1:]
    elif not rest and whole.endswith("0"):
        whole = whole[:-1]
    else:
        whole, rest = whole[:-1], whole[-1] + rest
    number = f"{whole.lstrip('0') or '0'}.{rest}" if rest else whole.lstrip("0")
    return found.start(), found.end(), number


def change_exponent(text: str, one: Quantity, rng: random.Random) -> Edit | None:
    """Increase or decrease the exponent of a power of ten by one to three."""
    found = _EXPONENT.search(text, one.start, one.end)
    if not found:
        return None
    old = int(found["figure"])
    others = [old + step for step in (-3, -2, -1, 1, 2, 3) if old + step > 0]
    return found.start("figure"), found.end("figure"), str(rng.choice(others))


def change_unit(text: str, one: Quantity, rng: random.Random) -> Edit | None:
    """Replace a unit with a larger or smaller one, such as "min" with "h"."""
    named = _NAMED_UNIT.match(text, one.end)
    if named:
        return named.start("unit"), named.end("unit"), rng.choice(_OTHER_UNITS[named["unit"]])
    found = _UNIT_WITH_PREFIX.match(text, one.end)
    if not found or one.unit is None:
        return None
    return found.start("prefix"), found.end("prefix"), rng.choice(_NEAR_PREFIXES[found["prefix"]])


WRONG: dict[str, Wrong] = {
    "digit": change_digit,
    "scale": scale_by_ten,
    "exponent": change_exponent,
    "unit": change_unit,
}
