"""Parse the numbers in a text and their units, in any notation, by rules."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ragassay.text.number_locale import write_english_numbers
from ragassay.text.number_words import SCALES, SMALL_NUMBERS, find_number_words
from ragassay.text.units import SYMBOL, Unit, read_rate, read_unit

_PLAIN_NUMBER = re.compile(r"\d+(?:[.,\u00b7]\d+)*")
_ALONE = re.compile(rf"(?<![\w.^]){_PLAIN_NUMBER.pattern}")
_REFERENCE = re.compile(
    r"\b(?:papers?|stud(?:y|ies)|ref(?:erence)?s?\.?|articles?|sources?)\s\d+(?:(?:,|\sand)?\s\d+)*",
    re.IGNORECASE,
)
"""Matches numbers that identify a source."""


def extract_numbers(text: str) -> set[str]:
    """Return the numbers in a text with a uniform decimal point, without signs and units."""
    return set(map(_normalize_number, _PLAIN_NUMBER.findall(text)))


def extract_stated_numbers(text: str) -> set[str]:
    """Return the numbers in a text, except in names ("p53"), exponents and references ("Paper 2").

    Example:
        >>> sorted(extract_stated_numbers("Paper 2 says that p53 rose by 1,200 to 10^7."))
        ['10', '1200']
    """
    return set(map(_normalize_number, _ALONE.findall(_REFERENCE.sub("", text))))


def _normalize_number(number: str) -> str:
    return number.replace(",", "").replace("\u00b7", ".")


_DASH = "[-\u2212\u2013\u2010\u2011]"
_RAISED = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b"
_LOWERED = str.maketrans(_RAISED + "\u2212\u2013\u2010\u2011", "0123456789+-----")
_NUMBER = re.compile(
    r"(?<![0-9])(?:"
    r"(?P<share>[1-4]/[2-5])(?![0-9/%]|[.,][0-9])"
    r"|(?P<thousands>[1-9][0-9]{0,2}(?:(?:,[0-9]{3}){1,5}|(?:[ \u00a0\u2009\u202f][0-9]{3}){1,5}))"
    r"(?![0-9])(?:[.\u00b7](?P<rest>[0-9]{1,20}))?"
    r"|(?P<whole>[0-9]{1,20})(?![0-9])"
    r"(?:[.\u00b7](?P<point>[0-9]{1,20})|,(?P<comma>[0-9]{1,20})(?!,[0-9]))?"
    r"|(?<=[\s(=<>\u2264\u2265~\u2212-])\.(?P<naked>[0-9]{1,20})"
    r"|(?P<part>[\u00bd\u2153\u2154\u00bc\u00be]))(?![0-9])"
)
_PARTS = {"\u00bd": "1/2", "\u2153": "1/3", "\u2154": "2/3", "\u00bc": "1/4", "\u00be": "3/4"}
_EXPONENT = (
    rf"(?:\s?(?:\^|\*\*)\s?[({{]?(?P<marked>[-+\u2212\u2013]?[0-9]{{1,2}})[)}}]?"
    rf"|\((?P<bracketed>[-+\u2212\u2013]?[0-9]{{1,2}})\)|(?P<raised>[{_RAISED}]{{1,3}})"
    rf"|(?P<lost>(?:\s?{_DASH}\s?)?[1-9][0-9]?))(?![0-9]|\.[0-9])"
)
_TIMES_TEN = re.compile(rf"\)?\s?[\u00d7\u2715xX*\u00b7\u22c5]\s?10{_EXPONENT}")
_TEN = re.compile(rf"10{_EXPONENT}")
_E = re.compile(r"[eE]([-+\u2212]?[0-9]{1,2})(?![^\W_])")
_SCALE = re.compile(rf"[\s-]({'|'.join(SCALES)})\b", re.IGNORECASE)

_ITEM = r"\(?S?[0-9]{1,3}(?:\.[0-9]{1,3}){0,3}[a-zA-Z]?\)?"
_ENDS = rf"(?!\w|\.\d|\s?[%\u00b0]|\s(?-i:{SYMBOL})\b)"
_NUMBERED = (
    r"fig(?:ure)?|table|eq(?:uation)?|scheme|section|ref(?:erence)?|chart|appendix|chapter|step"
    r"|page|type|phase|grade|stage|class|group|arm|version|category|tier|schedule|footnote|panel"
    r"|supplement|item|criterion|domain|llama|gemini|claude|windows"
)
_PAPERS = (
    r"papers?|stud(?:y|ies)|articles?|sources?|trials?|experiments?|levels?|options?|examples?"
)
_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_POINTERS = re.compile(
    rf"\b(?:{_NUMBERED}|no(?=\.)|vitamin|chromosome|trisomy|exon|hepatitis|factor)\b\.?\s?{_ITEM}"
    rf"(?:\s?(?:[-\u2013/]|\bor\b|\band\b|\bto\b)\s?{_ITEM})?{_ENDS}"
    rf"|\b(?:{_PAPERS})\s[1-9][0-9]?(?:(?:,|,?\s(?:and|or))?\s[1-9][0-9]?){{0,9}}"
    r"(?=[\])]?(?:[.,;:)](?![0-9])|\s(?:and|or|in|is|was|has|had|found|showed|reported|says?|states?)\b|$))"
    rf"|\b(?:(?:{_NUMBERED}|no)e?s|pp)\b\.?\s?{_ITEM}"
    rf"(?:\s?(?:,|and|&|to|[-\u2013])\s?{_ITEM}){{1,20}}{_ENDS}"
    r"|\[[1-9][0-9]{0,2}(?:\s?[,;\u2013-]\s?[0-9]{1,3}){0,30}\]"
    r"|\b(?:et al\.?|colleagues|co-?workers),?\s\(?(?:19|20)[0-9]{2}[a-z]?"
    # "(Smith & Lee, 2020; Wu 2019)", and the number of an article or a trial.
    r"|[(;]\s?(?:see |e\.g\.,? )?(?-i:[A-Z])[^\W\d_]{1,30}"
    r"(?:[\s&,.-]{1,3}(?-i:[A-Z]|and|de|van|von)[^\W\d_]{0,30}){0,6},?\s(?:19|20)[0-9]{2}[a-z]?(?=\s?[);,:])"
    r"|\b(?-i:[A-Z])[^\W\d_]{1,30}\s\((?:19|20)[0-9]{2}[a-z]?\)"
    r"|\b(?:PMID|PMCID|PMC|NCT|ISBN|ISSN|ISRCTN|CAS|ICD|DSM)\b:?[\s-]?[0-9][0-9X-]{0,17}\b"
    rf"|\b[0-9]{{1,2}}(?:st|nd|rd|th)?\s(?={_MONTHS}\.?,?\s(?:19|20)[0-9]{{2}}\b)"
    rf"|\b{_MONTHS}\.?\s[0-9]{{1,2}}(?:st|nd|rd|th)?(?=,?\s(?:19|20)[0-9]{{2}}\b)"
    r"|(?<=[a-z)\]][.,])[0-9]{1,3}(?:[,\u2013-][0-9]{1,3}){0,9}(?=\s|$)"
    r"|\b(?:19|20)[0-9]{2};\s?[0-9]{1,4}(?:\([0-9]{1,3}\))?:\s?[0-9]{1,6}(?:[-\u2013][0-9]{1,6})?"
    r"|\+[0-9]{1,3}[\s-][0-9]{1,4}(?:[\s-][0-9]{2,5}){1,4}"
    r"|\b10\.[0-9]{4,9}/\S{1,80}|https?://\S{1,200}"
    # A date, a registry number, "14-3-3".
    r"|(?<![\w.-])[0-9]{1,7}(?:-[0-9]{1,4}){2,4}(?![\w-])"
    r"|(?:^|[\n:;,.]\s|\band\s)\(?[0-9]{1,2}\)(?=\s)|(?:^|\n|[.:;!?]\s)[0-9]{1,2}\.(?=\s+\w)",
    re.IGNORECASE,
)
"""Matches numbers that are not quantities, such as table numbers, identifiers and dates."""
_COUNTED = re.compile(
    r"-(?:well|point|item|step|day|way|bit|layer|electron|digit|channel|cycle|dose|mer|dimensional"
    r"|membered|year|month|week|hour|minute|second|times)\b",
    re.IGNORECASE,
)
_LOCANTS = re.compile(r"(?:,[0-9]+'?)*['\u2032]?-\(?(?:[0-9,]+-)?[^\W\d_]")
_SUFFIX = re.compile(r"(?<=0)s\b|[xX\u00d7](?![^\W_])|-?fold\b")
_NAMED = re.compile(
    r"(?<!\bpH)(?:[^\W\d_]|[^\W\d_][-\u2010\u2011]|[^\W\d_][-\u2010]?\(|[^\W\d_]\^)$"
)
# "s\u22121", "12.3(4)"
_SMALL_PRINT = re.compile(r"[0-9]\($|(?:[^\W\d_]|\))[\u2212\u2013]$")
_ABOUT = re.compile(
    r"(?:\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|circa|ca\.?|close to"
    r"|some)|[~\u223c\u2248])\s?$",
    re.IGNORECASE,
)
_JOINED = re.compile(
    rf"-?\s?(?:{_DASH}|\bto\b|\band\b|\bor\b|\bvs\b\.?|\bversus\b|,|,\s(?:and|or)|\u00b1|\+/-|/|:)\s?{_DASH}?|\s?\u00d7\s?"
)
_WORDS = "|".join(word for word, number in SMALL_NUMBERS.items() if number)
_IN_MANY = re.compile(
    r"(?<![\w.,-])(?:(?P<part>[1-9][0-9]{0,2})\s(?:in|out of)\s(?:every\s)?"
    r"(?P<whole>10|20|50|100|1,?000|10,?000|(?<=\b1\sin\s)[2-9]|(?<=\sout\sof\s)[1-9][0-9]{0,3})"
    rf"|(?P<part_word>{_WORDS})\s(?:in|out of)\s(?:every\s)?(?P<whole_word>{_WORDS}))(?=\s[a-z])",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"(?:\s(?:with|in|on|for|among)(?:\s[^\W\d][\w-]*){1,4})?,?\s"
    r"(?:and|or|to|vs\.?|versus|(?:as\s)?compared\s(?:with|to))\s"
)
"""Matches the text between the number of one study arm and that of the other."""
_INTERVAL = re.compile(
    r"[\s,;:]{0,3}[(\[]?\s?9[0-9](?:\.[0-9])?\s?%[\s-]"
    r"?(?:CI|CrI|confidence intervals?)[\s,;:=]{0,3}(?:of\s)?"
)
"""Matches the text between an estimate and the lower limit of its interval."""
_NOT_COUNTED = re.compile(r"\s(?:with|in|on|for|among)\b|\s?(?:[,;).]|$)")
# In "1.60, 95% CI", the percent sign belongs to the interval only.
_LEVEL = re.compile(r"\s?%\s?(?:CI|CrI|confidence|credible)\b")
_UNIT_BEFORE = re.compile(
    r"(?:^\W*|\b(?:at|by|on|in|of|from|to|until|through|after|before|since|and)\s)"
    r"(?P<unit>day|week|month|year)s?\s$",
    re.IGNORECASE,
)
"""Matches the unit of "at week 12", which is 12 weeks. Larger numbers are calendar years."""
_SAME_POWER = re.compile(rf"\s?(?:{_DASH}|\u00b1)\s?")


@dataclass(frozen=True)
class Quantity:
    """A number in a text with its unit.

    Attributes:
        end: Offset after the number, without the unit.
        value: The most likely value.
        also: Further values that the notation may stand for.
        power: Power of ten that the number may be: 1000 for "10^3", but also for "103", which may
            have lost its superscript.
        is_name: Whether the number is part of a name and therefore not a quantity.
        digits: Number of decimal places, or the negative number of trailing zeros: -2 for "7500".
        factor: Factor after the number, such as a power of ten or "million".
    """

    start: int
    end: int
    value: Fraction
    also: tuple[Fraction, ...] = ()
    power: Fraction | None = None
    unit: Unit | None = None
    is_about: bool = False
    is_name: bool = False
    digits: int = 0
    factor: Fraction = Fraction(1)


def read_quantities(text: str) -> list[Quantity]:
    """Return the numbers in a text in order, including those that are part of a name.

    Example:
        >>> [str(q.value) for q in read_quantities("p53 rose from 1,200 to 2.5 \u00d7 10^4")]
        ['53', '1200', '25000']
    """
    plain = write_english_numbers(_POINTERS.sub(lambda match: " " * len(match[0]), text))
    quantities, end = list[Quantity](), 0
    for one in sorted(
        [*_read_figures(plain), *_read_number_words(plain)], key=lambda q: (q.start, -q.end)
    ):
        if one.start >= end:
            quantities.append(_add_context(plain, one))
            end = _find_unit_end(quantities[-1])
    return _share_rates(plain, _share_units(plain, quantities))


def _find_unit_end(one: Quantity) -> int:
    return one.unit.end if one.unit and one.unit.numbered_from is not None else one.end


def _read_figures(text: str) -> Iterator[Quantity]:
    position = 0
    while match := _NUMBER.search(text, position):
        one = _parse_power_of_ten(text, match) or _parse_number(text, match)
        yield one
        position = one.end


def _parse_number(text: str, match: re.Match[str]) -> Quantity:
    start, end = match.span()
    if match["part"] or (match["share"] and match["share"][0] < match["share"][2]):
        return _build_share(start, end, Fraction(_PARTS.get(match[0], match[0])))
    if match["share"]:
        return Quantity(start, start + 1, Fraction(match["share"][0]))
    groups = re.split(r"[^0-9]", match["thousands"] or match["whole"] or "0")
    decimals = match["rest"] or match["point"] or match["comma"] or match["naked"] or ""
    whole = "".join(groups)
    value = Fraction(int(whole + decimals), 10 ** len(decimals))
    parts = [groups[0], match["comma"]] if match["comma"] else groups if " " in match[0] else []
    digits = len(decimals) or -(len(whole) - len(whole.rstrip("0")))
    one = Quantity(start, end, value, tuple(Fraction(part) for part in parts), digits=digits)
    return _read_multiplier(text, one)


def _read_multiplier(text: str, one: Quantity) -> Quantity:
    """Multiply a number by the factor after it: "\u00d7 10^5", "e-5", "million"."""
    times, short = _TIMES_TEN.match(text, one.end), _E.match(text, one.end)
    scale = _SCALE.match(text, one.end)
    if times:
        exponent, end = _parse_exponent(times), times.end()
    elif short:
        exponent, end = int(short[1].translate(_LOWERED)), short.end()
    elif scale:
        factor = Fraction(SCALES[scale[1].lower()])
        return replace(one, end=scale.end(), value=one.value * factor, factor=factor)
    else:
        return one
    factor, digits = Fraction(10) ** exponent, one.digits - exponent
    return replace(one, end=end, value=one.value * factor, factor=factor, digits=digits)


def _parse_power_of_ten(text: str, match: re.Match[str]) -> Quantity | None:
    """Parse powers of ten: "10^3", "10\u22123", and "103" or "10-12", which are ambiguous."""
    ten = _TEN.match(text, match.start())
    if not ten or text[match.start() - 1 : match.start()] in ("/", "\u00d7"):
        return None
    exponent, lost = _parse_exponent(ten), ten["lost"]
    value = Fraction(10) ** exponent
    if lost is None or "\u2212" in lost:
        return Quantity(*ten.span(), value, power=value)
    if not re.match(_DASH, lost.strip()):
        is_whole = ten.end() == match.end()
        return Quantity(*ten.span(), Fraction(ten[0]), power=value) if is_whole else None
    if exponent > -10 and " " not in lost:
        # Not a range, because the second number is smaller.
        return Quantity(*ten.span(), value, (Fraction(10), Fraction(-exponent)), power=value)
    return replace(_parse_number(text, match), power=value)


def _parse_exponent(match: re.Match[str]) -> int:
    text = match["marked"] or match["bracketed"] or match["raised"] or match["lost"]
    return int(re.sub(r"\s", "", text.translate(_LOWERED)))


def _read_number_words(text: str) -> Iterator[Quantity]:
    """Yield numbers written as words, and shares such as "9 in 10 patients"."""
    for match in _IN_MANY.finditer(text):
        part, whole = (
            SMALL_NUMBERS.get(word.lower()) or int(word.replace(",", ""))
            for word in (match["part"] or match["part_word"], match["whole"] or match["whole_word"])
        )
        value = Fraction(part, whole)
        if value < 1 and not read_unit(text, match.end() + 1):
            yield _build_share(*match.span(), value)
    for start, end, value in find_number_words(text):
        yield (
            _build_share(start, end, value)
            if value.denominator > 1
            else Quantity(start, end, value)
        )


def _build_share(start: int, end: int, value: Fraction) -> Quantity:
    return Quantity(start, end, value, unit=Unit(Fraction(1), (), end))


def _add_context(text: str, one: Quantity) -> Quantity:
    before, after = text[max(0, one.start - 24) : one.start], text[one.end : one.end + 40]
    suffix = _SUFFIX.match(after)
    at = one.end + (1 if after[:1] in ("-", " ", "\u00a0", "\u2009") else 0)
    is_closed = after[:1] in (")", "]")
    unit = one.unit or read_unit(text, at) or read_rate(text, one.end + is_closed)
    if not unit and one.value < 1000 and (named := _UNIT_BEFORE.search(before)):
        named_unit = read_unit(named["unit"].lower(), 0)
        unit = named_unit and replace(named_unit, end=one.end)
    is_glued = bool(re.match(r"[^\W\d_]", after)) and not (unit and at == one.end)
    is_compound = bool(_LOCANTS.match(after)) and not (unit or _COUNTED.match(after))
    is_version = bool(re.match(r"\.[0-9]", after) or re.search(r"[0-9]\.$", before))
    is_small_print = one.value < 10 and not one.digits and _SMALL_PRINT.search(before)
    is_name = not suffix and (is_glued or is_compound or is_version)
    is_name = is_name or bool(_NAMED.search(before) or is_small_print)
    sign = re.search(rf"(?:^|[\s(=,;:~<>\u2248\u223c]){_DASH}$", before)
    value, also = one.value, one.also
    if sign:
        value, also = -value, (*also, value)
        before = before[:-1]
    return replace(
        one,
        value=value,
        also=also,
        unit=unit,
        is_name=is_name,
        is_about=bool(_ABOUT.search(before)),
    )


def _share_units(text: str, quantities: Sequence[Quantity]) -> list[Quantity]:
    """Apply the unit and factor of the last number in a range or list to the earlier numbers."""
    result: list[Quantity] = []
    for one in reversed(quantities):
        after = result[-1] if result else None
        gap = text[one.end : after.start] if after and after.start - one.end < 10 else None
        is_level = after and _LEVEL.match(text, after.end)
        if after and gap is not None and not one.unit and not is_level and _JOINED.fullmatch(gap):
            one = replace(one, unit=after.unit)
        if after and gap is not None and one.factor == 1 != after.factor:
            one = _scale_value(one, after.factor, gap)
        result.append(one)
    return result[::-1]


def _share_rates(text: str, quantities: list[Quantity]) -> list[Quantity]:
    """Apply the rate of one number in "12 with the drug and 15 with placebo" to the other."""
    result = _share_with_interval(text, quantities)
    for n, (left, right) in enumerate(itertools.pairwise(quantities)):
        start = _find_unit_end(left)
        if not _AGAINST.fullmatch(text, start, max(start, right.start)):
            continue
        if _is_rate(right) and not left.unit:
            result[n] = replace(left, unit=right.unit)
        elif _is_rate(left) and not right.unit and _NOT_COUNTED.match(text, right.end):
            result[n + 1] = replace(right, unit=left.unit)
    return result


def _share_with_interval(text: str, quantities: Sequence[Quantity]) -> list[Quantity]:
    """Apply a rate to an estimate and its interval: "1.2 (95% CI 1.0 to 1.4) per 100"."""
    result = list(quantities)
    for n, (one, _, low, high) in enumerate(
        zip(quantities, quantities[1:], quantities[2:], quantities[3:], strict=False)
    ):
        if not _INTERVAL.fullmatch(text, _find_unit_end(one), low.start):
            continue
        rate = next((end.unit for end in (one, high) if _is_rate(end)), None)
        for index in (n, n + 2, n + 3):
            if rate and not result[index].unit:
                result[index] = replace(result[index], unit=rate)
    return result


def _is_rate(one: Quantity) -> bool:
    """Return whether a number is a rate such as "per 1,000". "/1.73 m2" is not a rate."""
    if one.unit is None or one.unit.numbered_from is None:
        return False
    return {base for base, _ in one.unit.powers} <= {"month", "s"}


def _scale_value(one: Quantity, factor: Fraction, gap: str) -> Quantity:
    """Multiply the "6" in "6\u20139 million". In "6 to 9 million", "6" may be 6 million."""
    if _SAME_POWER.fullmatch(gap):
        return replace(one, value=one.value * factor, also=(*one.also, one.value))
    return replace(one, also=(*one.also, one.value * factor))
