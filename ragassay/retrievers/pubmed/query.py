"""Turn a question in plain words, and filters, into PubMed's query language."""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime

from ragassay.errors import InputError
from ragassay.retrievers.literature import Filters

_MOST_WORDS = 8
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_WORD = re.compile(r"[^\W_]+(?:(?:[-']|(?<=\d)\.(?=\d))[^\W_]+)*")

_STOPWORDS = frozenset(
    "a about after all also although among an and any are as at be because been before being "
    "between both but by can could did do does due during each for from had has have how however "
    "if in into is it its may might more most no nor not of on or other our over should so some "
    "such than that the their them then there these they this those through thus to under until "
    "up was we were what when where whether which while who whom whose why will with within "
    "without would you your".split()
)
_EVERYDAY = frozenset(
    "analysis associated association based compared comparison data decrease decreased different "
    "effect effective effects evidence factors found group groups high higher improve improved "
    "improves increase increased increases level levels low lower outcome outcomes patient "
    "patients people rate rates recent reduce reduced reduces reduction report reported result "
    "results review risk show showed shown shows significant significantly studies study treatment "
    "trial trials use used using year years".split()
)
"""Words that most abstracts have: dropped first when a question is too long for PubMed."""


def word_choices(query: str) -> Iterator[list[str]]:
    """Yield words to search PubMed for, at most eight, then three quarters as many, down to two.

    Words are literal: quotes, brackets, wildcards, range and boolean operators are removed. Names
    and rare words are kept longest, in the query's order; a query of stop words yields nothing.

    Example:
        >>> list(word_choices('Does "aspirin"[ti] OR heparin?'))
        [['aspirin', 'ti', 'heparin'], ['aspirin', 'heparin']]
    """
    text = unicodedata.normalize("NFKC", query).replace("\u2019", "'")
    words: dict[str, str] = {}
    for word in _WORD.findall(text):
        if word.lower() not in _STOPWORDS:
            words.setdefault(word.lower(), word)
    kept = list(words.values())
    ranked = sorted(range(len(kept)), key=lambda i: (-_telling(kept[i]), i))
    n_words = min(len(kept), _MOST_WORDS)
    while n_words:
        # Even in lower case, AND, OR and NOT would be plain words to PubMed.
        yield [kept[i].lower() for i in sorted(ranked[:n_words])]
        n_words = n_words * 3 // 4 if n_words > 2 else 0


def _telling(word: str) -> int:
    if not any(letter.isalpha() for letter in word):
        return 0
    if word.lower() in _EVERYDAY:
        return 1
    is_name = any(letter.isupper() or letter.isdigit() for letter in word[1:])
    return min(len(word), 20) + (100 if is_name else 1)


def filter_term(filters: Filters) -> str:
    """Return the part of a PubMed query that expresses filters; empty without filters.

    Raises:
        InputError: A date is invalid.

    Example:
        >>> filter_term(Filters(since="2020", no_retracted=True))
        ' AND ("2020/01/01"[dp] : "3000/12/31"[dp]) NOT "Retracted Publication"[pt]'
    """
    term = ""
    if filters.since or filters.until:
        first = _day(filters.since, "since") if filters.since else "1000/01/01"
        last = _day(filters.until, "until") if filters.until else "3000/12/31"
        term += f' AND ("{first}"[dp] : "{last}"[dp])'
    kinds = [" ".join(re.sub(r'["\[\]()]', " ", kind).split()) for kind in filters.types]
    if any(kinds):
        term += f" AND ({' OR '.join(f'{chr(34)}{kind}{chr(34)}[pt]' for kind in kinds if kind)})"
    if filters.no_retracted:
        term += ' NOT "Retracted Publication"[pt]'
    return term


def _day(date: str, name: str) -> str:
    """Return the first day (`since`) or the last day (`until`) of a date, as PubMed writes it."""
    try:
        match = _DATE.fullmatch(date)
        if match is None:
            raise ValueError("not a date")
        year, is_last = int(match[1]), name == "until"
        month = int(match[2] or (12 if is_last else 1))
        day = int(match[3] or (calendar.monthrange(year, month)[1] if is_last else 1))
        return datetime(year, month, day).strftime("%Y/%m/%d")
    except ValueError as error:
        raise InputError(f"{name}={date!r} must be a date: 2020, 2020-03 or 2020-03-09") from error
