"""Read "3.730" as 3730 if the language of the text groups digits with points."""

from __future__ import annotations

import re

from ragassay.text.units import read_unit

_EITHER = re.compile(
    r"(?<![\w.,/-])(?:[1-9][0-9]{0,2}(?:\.[0-9]{3}){1,4}(?:,[0-9]{1,9})?(?!/)"
    r"|(?P<decimal>[0-9]{1,3},[0-9]{3}))(?![0-9]|[.,][0-9])"
)
"""Matches digits grouped with points, or a decimal comma before three digits."""
_RATIO = re.compile(
    r"\b(?:HR|OR|RR|IRR|SHR|p|Ratio|Hazard|Odds|Risiko|riesgo|raz\u00f3n|KI|CI|IC|IK|\u00b1)\W{0,3}"
    r"(?:(?:von|war|betrug|de|fue|=|<|>)\s?)?(?:[0-9.,]{1,8}\s?(?:bis|a|-|\u2013|;|,)\s?)?$",
    re.IGNORECASE,
)
"""Matches text before a number whose point is a decimal point in any language, as in "HR 1.234"."""
_BEFORE = 32
_DECIMAL = re.compile(r"(?<![\w.,/-])(?:[0-9]{1,6}\.[0-9]{1,2}|0\.[0-9]{3})(?![\w.]|,[0-9])")
"""Matches a number whose point cannot group digits, so the text uses decimal points."""
_COUNTED = re.compile(
    r"\s(?:\w{1,20}\s)?(?:patient|teilnehm|proband|person|f\u00e4lle|studien|kinder|frauen|m\u00e4nner"
    r"|pacient|participant|caso|estudios|personas|ni\u00f1os|mujeres|pazient|partecipant|casi\b|pati\u00eb"
    r"|deelnemer|mensen)",
    re.IGNORECASE,
)
"""Matches a counted noun after a number, which therefore has no decimals."""

_PEOPLE = re.compile(
    r"(?<![\w.,/-])([1-9][0-9]{0,2})\.(?=[0-9]{3}\s(?:patients|participants|people|persons|adults"
    r"|children|women|men|individuals|subjects)\b(?!\sper))"
)
"""Matches the point in a number of people, which has no decimals in any language."""

_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = frozenset(
    "the of and with was were is are to for by from at this that which who had have has not than "
    "between after per patients participants".split()
)
_BY_POINTS = frozenset(
    # German, Spanish, Italian, Portuguese, Dutch; none is an English word or a short name (MIT).
    "der und von bei wurden wurde nicht dem eine einer einem einen zum zur f\u00fcr auf ist sind "
    "waren auch nach oder durch sich werden wird hatten haben unter \u00fcber zwischen insgesamt "
    "betrug lag tag tage tagen wochen monate monaten t\u00e4glich dosis "
    "d\u00eda d\u00edas semanas meses "
    "etwa rund mehr weniger patienten probanden teilnehmer personen studie jahre jahren "
    "el que por una fue fueron pacientes participantes personas estudio ensayo entre m\u00e1s "
    "a\u00f1os tratamiento recibieron gli della delle degli sono stati nella pazienti studio anni "
    "foram n\u00e3o uma estudo anos deze werden aan zijn pati\u00ebnten onderzoek".split()
)


def _groups_by_points(text: str) -> bool:
    """Return whether a text is in a language that writes 3730 as "3.730"."""
    words = {word.lower() for word in _WORD.findall(text)}
    return len(words & _BY_POINTS) > 2 * len(words & _ENGLISH)


def write_english_numbers(text: str) -> str:
    """Write "3.730" as "3,730" in a text whose language groups digits with points.

    In other texts, only numbers of people ("3.730 patients") are changed.
    The length of the text does not change. A decimal comma becomes a point only before three digits
    and a unit, where it would be read as a thousands separator.

    Example:
        >>> write_english_numbers("Eingeschlossen wurden 3.730 Patienten.")
        'Eingeschlossen wurden 3,730 Patienten.'
        >>> write_english_numbers("A dose of 3.730 mg was given.")
        'A dose of 3.730 mg was given.'
    """
    if not _EITHER.search(text):
        return text
    if not _groups_by_points(text):
        return _PEOPLE.sub(r"\1,", text)
    return _EITHER.sub(lambda match: _convert_number(text, match), text)


def _convert_number(text: str, match: re.Match[str]) -> str:
    number = match[0]
    if match["decimal"]:
        at = match.end() + (text[match.end() : match.end() + 1] in (" ", "\u00a0", "\u202f"))
        return number.replace(",", ".") if read_unit(text, at) else number
    is_single = number.count(".") == 1 and "," not in number
    if is_single and not (number.endswith("00") or _COUNTED.match(text, match.end())):
        return number
    before = text[max(0, match.start() - _BEFORE) : match.start()]
    if is_single and (_RATIO.search(before) or _DECIMAL.search(text)):
        return number
    return number.translate({ord("."): ",", ord(","): "."})
