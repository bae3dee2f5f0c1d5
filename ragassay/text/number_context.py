"""Analyse the context of a number: its kind, bound, clause and adjacent words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from ragassay.text.quantities import Quantity

_CONCEPTS = {
    "enrol": "enrol enroll enrolled randomise randomised randomize randomized recruit recruited "
    "include included comprise comprised assign assigned allocate allocated enrolment enrollment "
    "participated",
    "follow": "follow followed follow-up followup follow-ups",
    "last": "last lasted lasts duration",
    "dose": "dose doses dosage dosages dosed take takes took taken receive received receives "
    "give given gave administer administered administration",
    "die": "die died dies death deaths dead fatal fatality mortality",
    "relapse": "relapse relapsed relapses recurrence recurred",
    "respond": "respond responded response responses responder responders",
    "stop": "stop stopped discontinue discontinued discontinuation withdraw withdrew withdrawn",
    "women": "women woman female females",
    "men": "men man male males",
    "child": "child children paediatric pediatric",
    "tumour": "tumour tumours tumor tumors",
    "haemoglobin": "haemoglobin hemoglobin",
    "year": "annual annually yearly",
    "day": "daily",
    "week": "weekly",
    "month": "monthly",
    "weight": "weight weigh weighed weighs",
    "age": "age aged ages",
    "infect": "infection infections infected infect",
    "placebo": "placebo placebos",
}
CONCEPTS = {word: concept for concept, words in _CONCEPTS.items() for word in words.split()}
"""Concepts, keyed by word, so that "took 5 mg" and "a dose of 5 mg" have the same concept."""

PEOPLE = frozenset(
    "patient particip subject individu person peopl adult volunt respond case popul".split()
)
"""Stems of words for people, such as a trial's patients or participants."""

GENERIC = PEOPLE - {"adult"} | frozenset(
    "studi trial group arm cohort sampl total overal altogeth averag mean median percent "
    "percentag proport share number rate risk ratio odd hazard interv confid ci hr or rr n p "
    "point year day week month hour minut second mg kg g ml l mmol mm hg mmhg mcg microgram gram "
    "occur seen see report found find observ show shown result present had have reach develop "
    "everi compar respect approxim rough near almost around least most maximum minimum half third "
    "quarter fifth tenth one two three four five six seven eight nine ten twice time fold onc "
    "hundr thousand million lower higher less fewer more greater reduc reduct increas decreas "
    "declin fell fall rose rise drop cut rais exceed lowest highest great differ chang signific "
    "statist associ relat adjust absolut use effect level valu treatment therapi drug medic "
    "recommend rang estim accord data author research analysi review paper articl evid base "
    "baselin end first also howev thus said becam did about up down into out over under onli per "
    "each all both other anoth some made make becom remain use usual common typic general known "
    "typical particular well enrol out-of of follow person-year patient-year participant-year "
    "woman-year women-year".split()
)
"""Stems of words that are too general to show what a number measures."""

WORD = re.compile(r"[^\W\d_][^\W_]*(?:['\u2019-][^\W\d_][^\W_]*)*")
SMALL_WORDS = frozenset(
    "a an and are as at be been but by can for from had has have in into is it its may not of on "
    "or our than that the their there these they this those to was we were which who with will "
    "would when where while if after before during per each both between among against within "
    "under over about more less versus vs did does do could should must no nor so such compared "
    "only also".split()
)
"""English function words, which do not show what a number measures."""

DULL = re.compile(rf"{'|'.join(sorted(SMALL_WORDS))}|\w+-?fold", re.IGNORECASE)


@lru_cache(maxsize=20_000)
def find_concept(word: str) -> str:
    """Return the concept of a word, such as "enrol" for "randomised", or else its stem."""
    import snowballstemmer

    low = word.lower().removesuffix("'s").removesuffix("\u2019s")
    stem = str(snowballstemmer.stemmer("english").stemWord(low))
    return CONCEPTS.get(low) or CONCEPTS.get(stem) or stem


@lru_cache(maxsize=4_000)
def collect_concepts(text: str) -> frozenset[str]:
    """Return the stems or concepts of all words in a text except function and general words."""
    words = (word for word in WORD.findall(text) if not DULL.fullmatch(word))
    stems = map(find_concept, words)
    return frozenset(stem for stem in stems if stem not in GENERIC and len(stem) > 1)


def find_word(stem: str, text: str) -> str:
    """Return the first word in a text that has a stem, or the stem if no word has it."""
    return next((word for word in WORD.findall(text) if find_concept(word) == stem), stem)


Kind = str
"""Kind of a number: "share", "time", "ratio", "fold", "count", "bare", "year", "p", "statistic",
"money", or its base units with powers, such as "g1" or "g1 m-3"."""

Bound = Literal["", "about", "over", "under"]

HEAD = 3
"""Number of words on each side of a number that show best what the number measures."""
BEFORE, AFTER, NEAR, LEAD = 48, 60, 90, 300
"""Numbers of characters that are read before a number, after a number, on each side for nearby
words, and at the start of a sentence."""

_HEDGE = r"(?:(?:the|a|an|of|than|to|by|as|at|for|in|ages?)\s){0,3}"
_SIGN = r"[-\u2212\u2013+]?[$\u20ac\u00a3\u00a5]?"
NOT_MORE = (
    r"\b(?:no|not|never|cannot)\s(?:be\s)?(?:\w+\s)?(?:(?:by|for|in)\s)?"
    r"(?:(?:more|greater|higher|longer|larger|older)\sthan|exceed(?:ed)?)"
)
"""Pattern of an upper bound with a negation, such as "should not rise by more than"."""
_OVER = re.compile(
    r"(?:\b(?:more|greater|higher|longer|larger|older) than|\bover|\babove"
    r"|\bexceed(?:s|ed|ing)?|\bat least|\bnot? (?:less|fewer) than"
    r"|\bminimum(?: of)?|\bbeyond|\bas \w+ as"
    rf"|[>\u2265])\s?{_HEDGE}{_SIGN}$",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"(?:(?<!\bno )(?<!\bnot )\b(?:less|fewer|lower|shorter|smaller|younger) than|\bunder|\bbelow"
    rf"|\bup to|\bat most|{NOT_MORE}|\bmaximum(?: of)?|\bwithin|[<\u2264])\s?{_HEDGE}{_SIGN}$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|circa|ca\.?|close to|some"
    r"|just (?:over|under)|estimated(?: at)?|an estimated)|[~\u223c\u2248])"
    rf"\s?{_HEDGE}{_SIGN}$",
    re.IGNORECASE,
)
_OVER_AFTER = re.compile(r"\s?(?:or (?:more|above|older|over|higher|greater|longer)\b|\+(?!/?-))")
_UNDER_AFTER = re.compile(r"\s?or (?:less|fewer|below|younger|under|lower|shorter)\b")

_RATIO = re.compile(
    r"\b(?:(?:hazards?|odds|risk|rate|prevalence|likelihood|mortality|incidence)[\s-]{1,2}ratios?"
    r"|relative (?:risk|rate|hazard)s?|[as]?(?:HR|OR|RR)s?|IRR|aHR|aOR|aRR|SMR|SIR)\b"
)
_PERIOD = re.compile(
    rf"\b(?:over|within|during|throughout|after|at)\s{_HEDGE}"
    r"(?:period of\s|(?:day|week|month|year)s?\s)?$",
    re.IGNORECASE,
)
_P = re.compile(r"\b[Pp][\s-]?(?:values?)?\s?(?:of|was|is|[=<>\u2264\u2265]{1,2})?\s?$")
_STATISTIC = re.compile(r"\b(?:[rRFtzZ]|rho|kappa)\s?=\s?[-\u2212\u2013]?$")
_LEVEL_BEFORE = re.compile(
    r"\b(?:confidence|credible) (?:interval|limit)s?,?\s?\(?$|\bCI,?\s?\(?$", re.IGNORECASE
)
_LEVEL_AFTER = re.compile(
    r"\s?-?(?:%|per ?cent)?[\s-]?(?:CI|CrI|CL|confidence|credible|prediction)\b"
)
_RANGE_AFTER = re.compile(r"\s?(?:%|per ?cent)?\s?(?:[-\u2013\u2212;]|to\b)\s?[-\u2212]?\d")
_INTERVAL = re.compile(
    r"\b(?:CI|CrI|intervals?|IQR|SD|SE|SEM)\b(?:[^.;)a-z]|\.(?=\d)|to|and|of|was|from){0,36}$"
    r"|(?:\u00b1|\+/?-)\s?$"
)
_SPREAD = re.compile(r"[\d%]\s?[(\[](?:[\d.,%\s]{1,12}(?:[-\u2013,]|to)\s?)?$")
_PER = re.compile(r"(?<!\+)/|\bper\s(?!cent)|ppm|ppb")
_NAME = re.compile(r"(?<![.:;!?]\s)\b(?:[A-Z][\w-]*|[a-z]+[A-Z0-9][\w-]*)")
_TO = re.compile(r"\s?(?:[-\u2013\u2212]|to|until|up to)\s?[-\u2013\u2212]?", re.IGNORECASE)
_AND = re.compile(r"\s?(?:and|or)\s?[-\u2013\u2212]?", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|either)\s[^.;]{0,12}$", re.IGNORECASE)
_POINTS = re.compile(r"\spoints?\b")
_MONEY = re.compile(r"(?:[$\u20ac\u00a3\u00a5]|\b(?:USD|EUR|GBP))\s?$")
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|of|by|until|till|from|to|during|and|after|before|year|years|between|early"
    r"|late|mid|through|around|as of|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\.?,?"
    r"|[(,;/\u2013-])\s?(?:the )?$|^\s*$",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"[\s-]?(?:times|[x\u00d7])\b(?!\s(?:a|per|each|every|daily|weekly)\b)", re.IGNORECASE
)
_NOUN = re.compile(r"[\s-]{1,2}(?:of )?(?:the |these |all |those )?((?:[^\W\d_][\w-]*[ ,]?){1,4})")
_CLAUSE = re.compile(
    r"[;:]|,(?=\s)|\b(?:and|but|while|whereas|versus|vs|or"
    r"|respectively)\b",
    re.IGNORECASE,
)
"""Matches a separator between clauses, which counts if each clause contains a number."""
_CHANGE_BEFORE = re.compile(
    r"\b(?:by|reduction|increase|decrease|decline|drop|rise|improvement|difference|change|benefit"
    r"|gain|loss|lost|gained|excess|gap)\s(?:(?:[^\W\d][\w-]*\s){1,7}(?:of|was|is|by)\s)?(?:(?:of|was|is|in|about|approximately|around|nearly|almost|some|only"
    r"|up|to|as|much|more|less|than|over|at|least|just|roughly|an?|estimated|average|mean)\s){0,4}"
    rf"{_SIGN}$",
    re.IGNORECASE,
)
_CHANGE_AFTER = re.compile(
    r"[\s-]?(?:(?:percentage|absolute|relative|point|points|risk|rate|mortality|in|odds|hazard|overall"
    r"|significant|statistically)[\s-]){0,3}(?:lower|higher|less|more|fewer|greater|reduction"
    r"|reduced|reduc|increase|increased|decrease|decreased|decline|drop|rise|improvement|difference"
    r"|change|better|worse|shorter|longer|excess|smaller|larger)",
    re.IGNORECASE,
)


def find_unit_end(one: Quantity, text: str) -> int:
    """Return the end of a number's unit, or of the number if the unit follows a later number."""
    if one.unit is None:
        return one.end
    end, numbered_from = max(one.end, one.unit.end), one.unit.numbered_from
    if numbered_from is not None and numbered_from - one.end <= 1:
        return end
    if re.search(r"\s[^\w\s]?\d|^\s?[-\u2013,/]\s?\d", text[one.end : end]):
        return one.end
    points = _POINTS.match(text, end)
    return points.end() if points and end > one.end else end


def find_clause_spans(
    text: str, span: tuple[int, int], quantities: Sequence[Quantity]
) -> list[tuple[int, int]]:
    """Return the span of the clause of each number. Several numbers may share a clause."""
    clauses: list[tuple[int, int]] = []
    first, waiting = span[0], 1
    for left, right in itertools.pairwise(quantities):
        between = _CLAUSE.search(text, find_unit_end(left, text), right.start)
        if between:
            clauses += [(first, between.start())] * waiting
            first, waiting = between.end(), 0
        waiting += 1
    return [*clauses, *[(first, span[1])] * waiting]


def find_range_partners(text: str, quantities: Sequence[Quantity]) -> list[Literal[-1, 0, 1]]:
    """Return for each number 1 if it starts a range, -1 if it ends a range, and 0 otherwise."""
    partners: list[Literal[-1, 0, 1]] = [0] * len(quantities)
    for n, (left, right) in enumerate(itertools.pairwise(quantities)):
        gap = text[find_unit_end(left, text) : right.start]
        is_pair = _TO.fullmatch(gap) or (
            _AND.fullmatch(gap) and _BETWEEN.search(text[max(0, left.start - 24) : left.start])
        )
        if is_pair and not partners[n]:
            partners[n], partners[n + 1] = 1, -1
    return partners


def collect_head_stems(before: str, after: str) -> tuple[str, ...]:
    """Return the stems of the content words next to a number, first before it, then after it."""
    return tuple(
        stem
        for words in (WORD.findall(before)[::-1], WORD.findall(after))
        for stem in [find_concept(word) for word in words if not DULL.fullmatch(word)][:HEAD]
    )


def collect_name_stems(text: str, is_start: bool = True) -> frozenset[str]:
    """Return the stems of the names in a text, without the first word of a sentence."""
    names = _NAME.findall(text.strip().partition(" ")[2] if is_start else text)
    return frozenset().union(*map(collect_concepts, names))


def classify_number(
    one: Quantity, before: str, close: str, after: str, sentence: str
) -> Kind | None:
    """Return the kind of a number, or None for a confidence level such as 95 %."""
    unit = one.unit
    if unit and not unit.powers:
        is_limit = _RANGE_AFTER.match(close)
        if (_LEVEL_BEFORE.search(before) and not is_limit) or _LEVEL_AFTER.match(close):
            return None
        is_parts = unit.numbered_from is None and _PER.search(close[: max(0, unit.end - one.end)])
        return "parts" if is_parts else "share"
    if unit:
        return _classify_unit(unit.powers)
    if _P.search(before):
        return "p"
    if _STATISTIC.search(before):
        return "statistic"
    if _MONEY.search(before):
        return "money"
    if _TIMES.match(after):
        return "fold"
    if _is_year(one, before, after):
        return "year"
    if one.value < 100 and _is_ratio(sentence):
        return "ratio"
    return "bare"


def _classify_unit(powers: Sequence[tuple[str, int]]) -> Kind:
    if tuple(powers) in ((("s", 1),), (("month", 1),)):
        return "time"
    if tuple(powers) == (("fold", 1),):
        return "fold"
    named = " ".join(f"{base}{power}" for base, power in powers if (base, power) != ("s", -1))
    return named or "parts"


def _is_ratio(sentence: str) -> bool:
    nearby = sentence[-NEAR * 2 :]
    ratios = list(_RATIO.finditer(nearby))
    return bool(ratios) and not re.search(r"[.;%]\s", nearby[ratios[-1].end() :])


def _is_year(one: Quantity, before: str, after: str) -> bool:
    is_year = one.value.denominator == 1 and 1900 <= one.value <= 2100 and one.end - one.start == 4
    is_counted = bool(PEOPLE & set(collect_noun_stems(after)[-1:]))
    return is_year and bool(_YEAR_BEFORE.search(before)) and not is_counted


def detect_bound(one: Quantity, before: str, after: str) -> Bound:
    """Return "about" for an approximate number, "over" or "under" for a bound, or ""."""
    if one.is_about or _ABOUT.search(before):
        return "about"
    if _UNDER.search(before) or _UNDER_AFTER.match(after):
        return "under"
    return "over" if _OVER.search(before) or _OVER_AFTER.match(after) else ""


def collect_noun_stems(after: str) -> tuple[str, ...]:
    """Return the stems of the words that directly follow a number, up to a function word."""
    noun = _NOUN.match(after)
    if not noun:
        return ()
    stems: list[str] = []
    for word in re.split(r"[ ,]", noun[1]):
        if not word or word.lower() in SMALL_WORDS:
            break
        stems.append(find_concept(word))
        if noun[1][noun[1].find(word) + len(word) :].startswith(","):
            break
    return tuple(stems)


def is_change(before: str, after: str) -> bool:
    """Return whether a number is the size of a difference, as in "by 5%" and "5% lower"."""
    return bool(_CHANGE_BEFORE.search(before) or _CHANGE_AFTER.match(after))


def is_period(before: str) -> bool:
    """Return whether a time is the period over which something was measured ("over 2 years")."""
    return bool(_PERIOD.search(before))


def is_in_interval(before: str, is_range: bool) -> bool:
    """Return whether a number is a limit of a confidence interval or a measure of spread."""
    return bool(_INTERVAL.search(before) or (is_range and _SPREAD.search(before)))


def extract_nearby_text(
    text: str, start: int, end: int, clause: tuple[int, int]
) -> tuple[str, str]:
    """Return the text of a clause near a number, before and after it, without partial words."""
    first, last = max(clause[0], start - NEAR), min(clause[1], end + NEAR)
    before = text[first:start] if first == clause[0] else text[first:start].partition(" ")[2]
    after = text[end:last] if last == clause[1] else text[end:last].rpartition(" ")[0]
    return before, after
