"""Make a number wrong: a digit, its scale, its exponent, its unit, another number in its place."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from ragassay.text.quantities import Quantity

Edit = tuple[int, int, str]
"""Start, end and new text of what is replaced."""

Wrong = Callable[[str, Quantity, random.Random], Edit | None]
"""Makes a number of a text wrong; returns None where it cannot."""

_MANTISSA = re.compile(r"[0-9][0-9,]*(?:[.\u00b7][0-9]+)?")
_EXPONENT = re.compile(
    r"(?<=10)\s?(?:\^|\*\*)?\s?[({]?[-+\u2212\u2013]?(?P<figure>[0-9]{1,2})[)}]?$"
)
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
_UNIT = re.compile(
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
    """Change a digit, or a number word."""
    found = _MANTISSA.match(text, one.start, one.end)
    if not found:
        return _change_word(text, one, rng)
    figures = found[0]
    places = [n for n, sign in enumerate(figures) if sign.isdigit()]
    # A first zero says where the point is: "0.7" becomes "0.3", not "4.7".
    places = [n for n in places if n or figures[0] != "0"] or places
    place = rng.choice(places)
    first = "123456789" if place == 0 else "0123456789"
    digit = rng.choice([sign for sign in first if sign != figures[place]])
    return found.start() + place, found.start() + place + 1, digit


def _change_word(text: str, one: Quantity, rng: random.Random) -> Edit | None:
    word = text[one.start : one.end]
    if word.lower() not in _WORDS:
        return None
    other = rng.choice([w for w in _WORDS if w != word.lower()])
    return one.start, one.end, other.capitalize() if word[0].isupper() else other


def scale_by_ten(text: str, one: Quantity, rng: random.Random) -> Edit | None:
    """Multiply or divide by ten."""
    found = _MANTISSA.match(text, one.start, one.end)
    if not found or not float(found[0].replace(",", "").replace("\u00b7", ".")):
        return None
    whole, _, rest = found[0].replace(",", "").replace("\u00b7", ".").partition(".")
    if rng.random() < 0.5:
        whole, rest = whole + (rest[:1] or "0"), rest[1:]
    elif not rest and whole.endswith("0"):
        whole = whole[:-1]
    else:
        whole, rest = whole[:-1], whole[-1] + rest
    number = f"{whole.lstrip('0') or '0'}.{rest}" if rest else whole.lstrip("0")
    return found.start(), found.end(), number


def change_exponent(text: str, one: Quantity, rng: random.Random) -> Edit | None:
    """Change the exponent of a power of ten by one to three."""
    found = _EXPONENT.search(text, one.start, one.end)
    if not found:
        return None
    old = int(found["figure"])
    others = [old + step for step in (-3, -2, -1, 1, 2, 3) if old + step > 0]
    return found.start("figure"), found.end("figure"), str(rng.choice(others))


def change_unit(text: str, one: Quantity, rng: random.Random) -> Edit | None:
    """Change the order of magnitude of a unit: "mg" to "\u00b5g", "min" to "h"."""
    other = _NAMED_UNIT.match(text, one.end)
    if other:
        return other.start("unit"), other.end("unit"), rng.choice(_OTHER_UNITS[other["unit"]])
    found = _UNIT.match(text, one.end)
    if not found or one.unit is None:
        return None
    return found.start("prefix"), found.end("prefix"), rng.choice(_NEAR_PREFIXES[found["prefix"]])


WRONG: dict[str, Wrong] = {
    "digit": change_digit,
    "scale": scale_by_ten,
    "exponent": change_exponent,
    "unit": change_unit,
}
"""Ways to make a number wrong, by name."""
