"""Parse units of measurement: "mg/dl", "cm\u22122", "\u03bcmol L-1", "hours", "percent"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_PREFIXES = {"f": -15, "p": -12, "n": -9, "\u00b5": -6, "\u03bc": -6, "u": -6, "m": -3, "c": -2}
_PREFIXES |= {"d": -1, "": 0, "h": 2, "k": 3, "M": 6, "G": 9, "T": 12}
_LONG_PREFIXES = {"": 0, "nano": -9, "micro": -6, "milli": -3, "centi": -2, "deci": -1}
_LONG_PREFIXES |= {"kilo": 3, "mega": 6, "giga": 9}

_Power = tuple[str, int]
_Meaning = tuple[Fraction, tuple[_Power, ...]]


def _define_unit(factor: Fraction | int | str, **powers: int) -> _Meaning:
    return Fraction(factor), tuple(powers.items())


_BASE_UNITS = "g m s mol V A W J Hz K eV F N T C S Bq Gy Sv cal IU U lx bp B Da \u03a9 Pa".split()
# Units that take a prefix, each with its factor and the powers of its base units.
_PREFIXED: dict[str, _Meaning] = {
    **{name: _define_unit(1, **{name: 1}) for name in _BASE_UNITS},
    "\u2126": _define_unit(1, **{"\u03a9": 1}),
    "bar": _define_unit(100_000, Pa=1),
    **{name: _define_unit("1/1000", m=3) for name in ("L", "l")},
    "M": _define_unit(1000, mol=1, m=-3),
    "Wh": _define_unit(3600, W=1, s=1),
    "Ah": _define_unit(3600, A=1, s=1),
}
_PLAIN: dict[str, _Meaning] = {
    **{name: _define_unit(60, s=1) for name in ("min", "mins", "minute", "minutes")},
    **{name: _define_unit(3600, s=1) for name in ("h", "hr", "hrs", "hour", "hours")},
    **{name: _define_unit(86400, s=1) for name in ("d", "day", "days")},
    **{name: _define_unit(604800, s=1) for name in ("wk", "week", "weeks")},
    **{name: _define_unit(1, s=1) for name in ("sec", "secs", "second", "seconds")},
    **{name: _define_unit(1, month=1) for name in ("month", "months")},
    **{name: _define_unit(12, month=1) for name in ("yr", "yrs", "year", "years")},
    **{name: _define_unit("1/100") for name in ("%", "percent", "per cent", "percentage")},
    **{
        name: _define_unit(1, celsius=1)
        for name in ("\u00b0C", "\u00baC", "\u2103", "degrees Celsius")
    },
    **{name: _define_unit(1, degree=1) for name in ("\u00b0", "degree", "degrees")},
    **{name: _define_unit(1, fold=1) for name in ("fold", "folds")},
    **{name: _define_unit("1/1000000") for name in ("ppm", "parts per million")},
    **{name: _define_unit("1/1000000000") for name in ("ppb", "parts per billion")},
    **{name: _define_unit(1, mmHg=1) for name in ("mmHg", "mm Hg", "Torr", "torr")},
    **{name: _define_unit("1/10000000000", m=1) for name in ("\u212b", "\u00c5")},
    **{name: _define_unit(1, **{name: 1}) for name in ("rpm", "dB")},
    "\u2030": _define_unit("1/1000"),
    **{
        name: _define_unit(1, fahrenheit=1)
        for name in ("\u00b0F", "\u00baF", "\u2109", "degrees Fahrenheit")
    },
    "cc": _define_unit("1/1000000", m=3),
    **{name: _define_unit("45359237/100000", g=1) for name in ("lb", "lbs", "pound", "pounds")},
    **{name: _define_unit("2835/100", g=1) for name in ("oz", "ounce", "ounces")},
    **{name: _define_unit("254/10000", m=1) for name in ("inch", "inches")},
    "mcg": _define_unit("1/1000000", g=1),
    "atm": _define_unit(101325, Pa=1),
}
_LONG_NAMES = {
    **{"g": "gram grams", "m": "meter meters metre metres", "L": "liter liters litre litres"},
    **{"mol": "mole moles", "M": "molar", "V": "volt volts", "A": "ampere amperes amps"},
    **{"W": "watt watts", "J": "joule joules", "Hz": "hertz", "K": "kelvin"},
    **{"Pa": "pascal pascals", "Da": "dalton daltons", "\u03a9": "ohm ohms"},
    **{"cal": "calorie calories", "s": "second seconds"},
}
_LONG = {name: _PREFIXED[symbol] for symbol, names in _LONG_NAMES.items() for name in names.split()}
_UNITS: dict[str, _Meaning] = {
    prefix + symbol: (factor * Fraction(10) ** exponent, powers)
    for prefixes, symbols in ((_PREFIXES, _PREFIXED), (_LONG_PREFIXES, _LONG))
    for symbol, (factor, powers) in symbols.items()
    for prefix, exponent in prefixes.items()
} | _PLAIN
SYMBOL = "|".join(re.escape(name) for name in sorted(_UNITS, key=len, reverse=True))
"""Regular expression that matches a unit symbol and tries longer symbols first."""
_EXPONENT = r"\^?[({]?(?P<exponent>[-\u2212\u2013]?[1-4]|[\u207b\u00b9\u00b2\u00b3]{1,2})[)}]?"
_FIRST = re.compile(rf"(?P<symbol>{SYMBOL})(?:{_EXPONENT})?(?![^\W_])")
_NEXT = re.compile(
    rf"(?P<by>\s?/\s?|\sper\s|\s?[\u00b7\u22c5*.]?\s?)(?P<symbol>{SYMBOL})(?:{_EXPONENT})?(?![^\W_])"
)
_PER_VOLUME = re.compile(rf"(?:(?:cells?|copies|CFU|platelets)\s?)?(?:/|per\s)\s?{_FIRST.pattern}")
_RAISED = str.maketrans("\u207b\u00b9\u00b2\u00b3\u2212\u2013", "-123--")
_PER_SURFACE = re.compile(
    r"(?:\s?/\s?|\s?\(?per\s|\s?[\u00b7\u22c5*.]?\s?)1[.,\u00b7]73[\s\u00a0\u2009\u202f-]?m"
    r"(?:\^?[({]?[-\u2212\u2013\u207b]?[2\u00b2][)}]?)(?![^\W_])\)?"
)
"""Matches the body surface area in a filtration rate, which is not a separate quantity."""
MOLAR_MASS_G = {
    **{"glucos": "180.16", "sugar": "180.16", "lactat": "90.08", "creatinin": "113.12"},
    **{"cholesterol": "386.65", "triglycerid": "885.4"},
    **dict.fromkeys("ldl ldl-c hdl hdl-c non-hdl-c".split(), "386.65"),
    **{"bilirubin": "584.66", "urat": "168.11", "uric": "168.11", "bun": "28.01", "urea": "60.06"},
    **{"calcium": "40.08", "magnesium": "24.31", "phosphat": "30.97", "vitamin": "400.64"},
}
"""Grams per mole of substances in blood, by stem. Vitamin D is measured as 25-hydroxyvitamin D."""
_SPACE = r"[\s\u00a0\u2009\u202f]"
_PEOPLE = r"persons?|patients?|people|population|inhabitants|residents|women|men|adults|children"
_EVENTS = re.compile(
    r"(?:cases|events|deaths|episodes|infections|admissions|births|hospitali[sz]ations|strokes)$",
    re.IGNORECASE,
)
_RATE_SCALES = {"": 1, "hundred": 100, "thousand": 1000, "million": 10**6}
_RATE_TIMES = {"annum": "year", "annually": "year", "yearly": "year", "py": "year", "pys": "year"}
_RATE = re.compile(
    rf"""(?:{_SPACE}(?P<counted>[^\W\d_][\w-]*(?:{_SPACE}[^\W\d_][\w-]*){{0,4}}?))?
    (?:\s?(?P<slash>/)\s?|\s\(?per\s)
    (?:(?P<number>100?(?:[,]|{_SPACE})?000|1(?:,|{_SPACE})?000(?:(?:,|{_SPACE})?000)?|100)(?![\d.,]*\d)
        |(?:(?:a|1|one)\s)?(?P<scale>hundred|thousand|million)|(?=[a-z]))
    (?:[\s-]?(?:(?:person|patient|participant|subject|women|child|catheter|device|ventilator|bed)s?
            [\s\u2010\u2011-](?P<time>years?|yrs?|months?|weeks?|days?)
        |(?:(?:{_PEOPLE})\s)?(?:(?:per|a|each|every)\s(?P<each>year|annum|month|week|day)
            |(?P<yearly>annually|yearly))
        |(?P<short>PYs?))\b)?""",
    re.IGNORECASE | re.VERBOSE,
)
MOST_FACTORS = 4
"""Maximum number of symbols in a unit. The unit "cm2 V-1 s-1" has three symbols."""


@dataclass(frozen=True)
class Unit:
    """A unit of measurement.

    Attributes:
        factor: Size of the unit in base units, such as 1/1000 for "mg" and 1/100 for "%".
        powers: Base units with their exponents, sorted by name, or () for a share.
        end: Offset after the unit in the parsed text.
        numbered_from: Start offset of a unit that contains a number ("mL/min/1.73 m2"), or None.
    """

    factor: Fraction
    powers: tuple[_Power, ...]
    end: int
    numbered_from: int | None = None


def read_unit(text: str, start: int) -> Unit | None:
    """Return the unit that starts at an offset of a text, or None.

    Example:
        >>> unit = read_unit("200 mg/dl", 4)
        >>> unit.factor, unit.powers
        (Fraction(10, 1), (('g', 1), ('m', -3)))
        >>> read_unit("5 mice", 2) is None
        True
    """
    match, end = _FIRST.match(text, start), start
    if not match:
        return _read_per_volume(text, start)
    factor, powers = Fraction(1), dict[str, int]()
    for n_more in range(MOST_FACTORS):
        exponent = int((match["exponent"] or "1").translate(_RAISED))
        if n_more and ("/" in match["by"] or "per" in match["by"]):
            exponent = -exponent
        one, bases = _UNITS[match["symbol"]]
        factor *= one**exponent
        for base, power in bases:
            powers[base] = powers.get(base, 0) + power * exponent
        end = match.end()
        match = _NEXT.match(text, end)
        # "5 mg h" is not a unit, but "5 mg h-1" and "5 mg/h" are.
        if not match or not (match["exponent"] or match["by"].strip()) or match["by"] == ".":
            break
    surface = _PER_SURFACE.match(text, end)
    end = surface.end() if surface else end
    return Unit(
        factor,
        tuple(sorted((b, p) for b, p in powers.items() if p)),
        end,
        start if surface else None,
    )


def _read_per_volume(text: str, start: int) -> Unit | None:
    """Return the unit of a count in a volume, such as "cells/\u00b5L" and "/mm3"."""
    match = _PER_VOLUME.match(text, start)
    if not match:
        return None
    factor, powers = _UNITS[match["symbol"]]
    exponent = int((match["exponent"] or "1").translate(_RAISED))
    if [(base, power * exponent) for base, power in powers] != [("m", 3)]:
        return None
    return Unit(1 / factor**exponent, (("m", -3),), match.end())


def read_rate(text: str, start: int) -> Unit | None:
    """Return the rate after a number, such as "per 1,000 person-years", or None if there is none.

    A rate without a time unit is a share, like a percentage.

    Example:
        >>> unit = read_rate("12 per 1,000 person-years", 2)
        >>> unit.factor, unit.powers
        (Fraction(1, 12000), (('month', -1),))
        >>> read_rate("12 CFU per 100 mL", 2) is None
        True
    """
    match = _RATE.match(text, start)
    if not match:
        return None
    number = int(re.sub(r"\D", "", match["number"] or "1"))
    number *= _RATE_SCALES[(match["scale"] or "").lower()]
    time = (match["time"] or match["each"] or match["yearly"] or match["short"] or "").lower()
    is_fraction = match["slash"] and number < 1000
    if not time and (number == 1 or is_fraction or not _is_share(text, match)):
        return None
    factor, powers = Fraction(1, number), tuple[_Power, ...]()
    if time:
        size, ((base, _),) = _PLAIN[_RATE_TIMES.get(time, time)]
        factor, powers = factor / size, ((base, -1),)
    return Unit(factor, powers, match.end(), max(match.end("counted"), start))


def _is_share(text: str, match: re.Match[str]) -> bool:
    """Return whether a rate is a share of people or events, which "per 100 mL" is not."""
    end = match.end()
    if read_unit(text, end + (text[end : end + 1] in (" ", "\u00a0", "-"))):
        return False
    return not match["counted"] or bool(_EVENTS.search(match["counted"]))
