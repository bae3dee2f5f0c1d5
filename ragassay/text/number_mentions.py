"""Read the numbers that a text states, each with its kind and the words around it.

A kind says what may be compared: two shares, two spans of time, two counts. Numbers of names,
references and lists are left out, and so is the level of a confidence interval.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from ragassay.text.number_words import DULL, PEOPLE, SMALL_WORDS, WORD, stem_of, stems_of
from ragassay.text.quantities import Quantity, read_quantities
from ragassay.text.sentences import split_sentences

Kind = str
"""What a number measures: "share", "time", "ratio", "fold", "count", "bare", "year", "p", "money",
or base units with powers, as "g1" or "g1 m-3"."""

Bound = Literal["", "about", "over", "under"]

MONTH_DAYS = Fraction(36525, 1200)
_DAY_S = 86_400
HEAD = 3
"""Words on either side of a number that name what it measures."""
WORD_SHARE = Fraction(1, 20)
"""How far, relative to it, a share in words may be off: "a quarter" is 24.6 %."""
_BEFORE, _AFTER, _NEAR, _LEAD = 48, 60, 90, 300
"""Characters read before and behind a number, on either side for its surroundings, and
at a sentence's start."""

_HEDGE = r"(?:(?:the|a|an|of|than|to|by|as|at|for|in)\s){0,2}"
_SIGN = r"[-\u2212\u2013+]?"
_OVER = re.compile(
    r"(?:\b(?:more|greater|higher|longer|larger|older) than|\bover|\babove|\bexceed(?:s|ed|ing)?"
    r"|\bat least|\bno (?:less|fewer) than|\bnot less than|\bminimum(?: of)?|\bbeyond|\bas \w+ as"
    rf"|[>\u2265])\s?{_HEDGE}{_SIGN}$",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"(?:\b(?:less|fewer|lower|shorter|smaller|younger) than|\bunder|\bbelow|\bup to|\bat most"
    rf"|\bno (?:more|greater|longer) than|\bmaximum(?: of)?|\bwithin|[<\u2264])\s?{_HEDGE}{_SIGN}$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|circa|ca\.?|close to|some"
    r"|just (?:over|under)|estimated(?: at)?|an estimated)|[~\u223c\u2248])"
    rf"\s?{_HEDGE}{_SIGN}$",
    re.IGNORECASE,
)
_OVER_BEHIND = re.compile(r"\s?(?:or (?:more|above|older|over|higher|greater|longer)\b|\+)")
_UNDER_BEHIND = re.compile(r"\s?or (?:less|fewer|below|younger|under|lower|shorter)\b")

_RATIO = re.compile(
    r"\b(?:(?:hazards?|odds|risk|rate|prevalence|likelihood|mortality|incidence)[\s-]{1,2}ratios?"
    r"|relative (?:risk|rate|hazard)s?|[as]?(?:HR|OR|RR)s?|IRR|aHR|aOR|aRR|SMR|SIR)\b"
)
_P = re.compile(r"\b[Pp][\s-]?(?:values?)?\s?(?:of|was|is|[=<>\u2264\u2265]{1,2})?\s?$")
_LEVEL_BEFORE = re.compile(
    r"\b(?:confidence|credible) (?:interval|limit)s?,?\s?\(?$|\bCI,?\s?\(?$", re.IGNORECASE
)
_LEVEL_BEHIND = re.compile(
    r"\s?-?(?:%|per ?cent)?[\s-]?(?:CI|CrI|CL|confidence|credible|prediction)\b"
)
_INTERVAL = re.compile(
    r"\b(?:CI|CrI|intervals?|IQR|SD|SE|SEM)\b(?:[^.;)a-z]|\.(?=\d)|to|and|of|was|from){0,36}$|\u00b1\s?$"
)
_SPREAD = re.compile(r"[\d%]\s?[(\[](?:[\d.,%\s]{1,12}(?:[-\u2013,]|to)\s?)?$")
_PER = re.compile(r"/|\bper\s(?!cent)|ppm|ppb")
_NAME = re.compile(r"(?<![.:;!?]\s)\b(?:[A-Z][\w-]*|[a-z]+[A-Z0-9][\w-]*)")
_TO = re.compile(r"\s?(?:[-\u2013\u2212]|to|until|up to)\s?", re.IGNORECASE)
_AND = re.compile(r"\s?(?:and|or)\s?", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|either)\s[^.;]{0,12}$", re.IGNORECASE)
_MONEY = re.compile(r"(?:[$\u20ac\u00a3\u00a5]|\b(?:USD|EUR|GBP))\s?$")
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|of|by|until|till|from|to|during|and|after|before|year|years|between|early"
    r"|late|mid|through|around|as of|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\.?,?"
    r"|[(,;/\u2013-])\s?(?:the )?$|^\s*$",
    re.IGNORECASE,
)
_TIMES = re.compile(r"[\s-]?times\b(?!\s(?:a|per|each|every|daily|weekly)\b)", re.IGNORECASE)
_NOUN = re.compile(r"[\s-]{1,2}(?:of )?(?:the |these |all |those )?((?:[^\W\d_][\w-]*[ ,]?){1,4})")
_CLAUSE = re.compile(
    r"[;:]|,(?=\s)|\b(?:and|but|while|whereas|versus|vs|or|compared (?:with|to)|than|against"
    r"|respectively)\b",
    re.IGNORECASE,
)
"""What stands between two clauses, where each has a number."""


@dataclass(frozen=True)
class NumberMention:
    """A number that a text states.

    Attributes:
        start: Its first character.
        end: One past its last, its unit included.
        quantity: The number as it was read.
        kind: What it measures.
        amount: Its size in the kind's base units, without a sign.
        step: Half a unit of its last digit, in base units: what rounding may hide.
        bound: Whether it is about, over or under that.
        in_interval: Whether it is an end of a confidence interval, or a spread.
        noun: Stems of the words that follow a count: what is counted.
        sentence: Number of its sentence, from 0.
        partner: Where the other end of its range is: 1 for the next number, -1 for the last one.
        near: Stems of the words of its clause that are not far from it.
        head: Stems of the words next to it, the closest first.
        names: Stems of the names of its clause and of `lead`.
        lead: Stems of the words between the sentence's start and its first number.
        words: Stems of the words of its sentence.
        change: Whether it says by how much something differs.
        topic: Stems of the words of the text's first sentence, or of its title.
    """

    start: int
    end: int
    quantity: Quantity
    kind: Kind
    amount: Fraction
    step: Fraction
    bound: Bound
    in_interval: bool
    noun: tuple[str, ...]
    sentence: int
    partner: Literal[-1, 0, 1]
    near: frozenset[str]
    head: tuple[str, ...]
    names: frozenset[str]
    lead: frozenset[str]
    words: frozenset[str]
    change: bool
    topic: frozenset[str]


_CHANGE_BEFORE = re.compile(
    r"\b(?:by|reduction|increase|decrease|decline|drop|rise|improvement|difference|change|benefit"
    r"|gain|loss|excess|gap)\s(?:(?:[^\W\d][\w-]*\s){1,7}(?:of|was|is|by)\s)?(?:(?:of|was|is|in|about|approximately|around|nearly|almost|some|only"
    r"|up|to|as|much|more|less|than|over|at|least|just|roughly|an?|estimated|average|mean)\s){0,4}"
    rf"{_SIGN}$",
    re.IGNORECASE,
)
_CHANGE_BEHIND = re.compile(
    r"[\s-]?(?:(?:percentage|absolute|relative|point|points|risk|rate|mortality|in|odds|hazard|overall"
    r"|significant|statistically)[\s-]){0,3}(?:lower|higher|less|more|fewer|greater|reduction"
    r"|reduced|reduc|increase|increased|decrease|decreased|decline|drop|rise|improvement|difference"
    r"|change|better|worse|shorter|longer|excess|smaller|larger)",
    re.IGNORECASE,
)


@lru_cache(maxsize=64)
def read_mentions(text: str) -> tuple[NumberMention, ...]:
    """Return the numbers that a text states, in order.

    Example:
        >>> [(m.kind, str(m.amount)) for m in read_mentions("It fell in 12% of 40 type 2 cases.")]
        [('share', '3/25'), ('count', '40')]
    """
    quantities = [one for one in read_quantities(text) if not one.is_name]
    spans = split_sentences(text)
    topic = stems_of(text[slice(*spans[0])]) if spans else frozenset[str]()
    found: list[NumberMention] = []
    place = 0
    for n, (start, end) in enumerate(spans):
        inside: list[Quantity] = []
        while place < len(quantities) and quantities[place].start < end:
            if quantities[place].start >= start:
                inside.append(quantities[place])
            place += 1
        found += _mentions_of_sentence(text, (start, end), inside, n, topic)
    return tuple(found)


def _mentions_of_sentence(
    text: str, span: tuple[int, int], quantities: Sequence[Quantity], n: int, topic: frozenset[str]
) -> list[NumberMention]:
    if not quantities:
        return []
    start, end = span
    words = stems_of(text[start:end])
    clauses = _clauses(text, span, quantities)
    lead = text[max(start, quantities[0].start - _LEAD) : quantities[0].start]
    lead_stems, lead_names = stems_of(lead), _names_of(lead[1:])
    partners = _partners(text, quantities)
    found: list[NumberMention] = []
    for one, (first, last), partner in zip(quantities, clauses, partners, strict=True):
        before = text[max(start, one.start - _BEFORE) : one.start]
        behind = text[_end(one, text) : min(end, _end(one, text) + _AFTER)]
        kind = _kind(
            one,
            before,
            text[one.end : one.end + 24],
            behind,
            text[max(start, one.start - _LEAD) : one.start],
        )
        if kind is None:
            continue
        noun = _noun(behind) if kind in ("count", "bare") else ()
        amount, step = _amount(one, kind)
        found.append(
            NumberMention(
                start=one.start,
                end=_end(one, text),
                quantity=one,
                kind="count" if kind == "bare" and noun else kind,
                amount=abs(amount),
                step=step,
                bound=_bound(one, before, behind),
                in_interval=bool(_INTERVAL.search(before) or (partner and _SPREAD.search(before))),
                noun=noun,
                sentence=n,
                partner=partner,
                near=stems_of(text[max(first, one.start - _NEAR) : min(last, one.end + _NEAR)]),
                head=_head(
                    text[max(first, one.start - _NEAR) : one.start],
                    text[_end(one, text) : min(last, one.end + _NEAR)],
                ),
                names=lead_names
                | _names_of(
                    text[max(first, start + 1, one.start - _NEAR) : min(last, one.end + _NEAR)]
                ),
                lead=lead_stems,
                words=words,
                change=bool(_CHANGE_BEFORE.search(before) or _CHANGE_BEHIND.match(behind)),
                topic=topic,
            )
        )
    return found


def _end(one: Quantity, text: str) -> int:
    """Return the end of a number's own unit; that of a list may stand behind a later number."""
    end = max(one.end, one.unit.end) if one.unit else one.end
    return one.end if re.search(r"\s\S*\d|^\s?[-\u2013,/]\s?\d", text[one.end : end]) else end


def _clauses(
    text: str, span: tuple[int, int], quantities: Sequence[Quantity]
) -> list[tuple[int, int]]:
    """Return the clause of each number; two with no boundary between them share theirs."""
    found: list[tuple[int, int]] = []
    first, waiting = span[0], 1
    for left, right in itertools.pairwise(quantities):
        between = _CLAUSE.search(text, _end(left, text), right.start)
        if between:
            found += [(first, between.start())] * waiting
            first, waiting = between.end(), 0
        waiting += 1
    return [*found, *[(first, span[1])] * waiting]


def _partners(text: str, quantities: Sequence[Quantity]) -> list[Literal[-1, 0, 1]]:
    found: list[Literal[-1, 0, 1]] = [0] * len(quantities)
    for n, (left, right) in enumerate(itertools.pairwise(quantities)):
        gap = text[_end(left, text) : right.start]
        is_pair = _TO.fullmatch(gap) or (
            _AND.fullmatch(gap) and _BETWEEN.search(text[max(0, left.start - 24) : left.start])
        )
        if is_pair and not found[n]:
            found[n], found[n + 1] = 1, -1
    return found


def _head(before: str, behind: str) -> tuple[str, ...]:
    """Return the stems of the last words before a number and of the first ones behind it."""
    left = _telling(WORD.findall(before[-_NEAR:])[::-1])
    return (*left[:HEAD], *_telling(WORD.findall(behind[:_NEAR]))[:HEAD])


def _telling(words: Sequence[str]) -> list[str]:
    return [stem_of(word) for word in words if not DULL.fullmatch(word)]


def _names_of(text: str) -> frozenset[str]:
    return frozenset().union(*map(stems_of, _NAME.findall(text)))


def _kind(one: Quantity, before: str, close: str, behind: str, sentence: str) -> Kind | None:
    """Return what a number measures; None for the level of an interval."""
    unit = one.unit
    if unit and not unit.powers:
        is_level = _LEVEL_BEFORE.search(before) or _LEVEL_BEHIND.match(close)
        if is_level:
            return None
        return "share" if not _PER.search(close[: max(0, unit.end - one.end)]) else "parts"
    if unit:
        return _kind_of_unit(unit.powers)
    if _P.search(before):
        return "p"
    if _MONEY.search(before):
        return "money"
    if _TIMES.match(behind):
        return "fold"
    if _is_year(one, before, behind):
        return "year"
    if one.value < 100 and _is_ratio(sentence):
        return "ratio"
    return "bare"


def _kind_of_unit(powers: Sequence[tuple[str, int]]) -> Kind:
    if tuple(powers) in ((("s", 1),), (("month", 1),)):
        return "time"
    if tuple(powers) == (("fold", 1),):
        return "fold"
    named = " ".join(f"{base}{power}" for base, power in powers if (base, power) != ("s", -1))
    return named or "parts"


def _is_ratio(sentence: str) -> bool:
    """Return whether the last words before a number name a ratio."""
    found = list(_RATIO.finditer(sentence[-_NEAR * 2 :]))
    return bool(found) and not re.search(r"[.;%]\s", sentence[-_NEAR * 2 :][found[-1].end() :])


def _is_year(one: Quantity, before: str, behind: str) -> bool:
    is_year = one.value.denominator == 1 and 1900 <= one.value <= 2100 and one.end - one.start == 4
    return is_year and bool(_YEAR_BEFORE.search(before)) and not _is_counted(behind)


def _is_counted(behind: str) -> bool:
    noun = _noun(behind)
    return bool(noun) and noun[-1] in PEOPLE


def _amount(one: Quantity, kind: Kind) -> tuple[Fraction, Fraction]:
    """Return a number's size and half the unit of its last digit, in base units."""
    factor = one.unit.factor if one.unit else Fraction(1)
    if one.unit and one.unit.powers == (("month", 1),):
        factor *= MONTH_DAYS * _DAY_S
    elif one.unit and ("s", -1) in one.unit.powers:
        factor *= _DAY_S
    half = Fraction(10) ** -max(one.digits, 0) / 2 * one.factor
    if one.value.denominator > 1 and not one.digits:
        return one.value * factor, one.value * factor * WORD_SHARE
    return one.value * factor, half * factor


def _bound(one: Quantity, before: str, behind: str) -> Bound:
    if one.is_about or _ABOUT.search(before):
        return "about"
    if _OVER.search(before) or _OVER_BEHIND.match(behind):
        return "over"
    return "under" if _UNDER.search(before) or _UNDER_BEHIND.match(behind) else ""


def _noun(behind: str) -> tuple[str, ...]:
    """Return the stems of what a number counts: the words behind it, up to a small word."""
    found = _NOUN.match(behind)
    if not found:
        return ()
    kept: list[str] = []
    for word in re.split(r"[ ,]", found[1]):
        if not word or word.lower() in SMALL_WORDS:
            break
        kept.append(stem_of(word))
        if found[1][found[1].find(word) + len(word) :].startswith(","):
            break
    return tuple(kept)
