"""Compare an extracted answer with the known answers using rules (Dietz 2024, section 3.2).

The rules differ from Dietz's code in four ways. Negations and numbers must agree, whereas Dietz's
code drops "no" and "not" as stop words and accepts 1950 for 1960. The decimal point in "3.5" is
kept. "No" counts as an answer to a yes/no question, not as a refusal. If the known answer is "true"
or "false", only the first word of the extracted answer is compared.
"""

from __future__ import annotations

import functools
import re
import string
import unicodedata
from collections.abc import Iterable

from ragassay.text.quantities import extract_numbers

LEAST_RATIO = 80
"""Similarity in percent above which two texts match, from Dietz's code, which also rounds it."""

FEWEST_CHARS = 4
"""Minimum number of characters for fuzzy matching. Shorter normalized texts must be equal."""

MOST_CHARS = 10_000
"""Maximum number of characters for fuzzy matching, which takes quadratic time."""

_TRUE = frozenset({"true", "yes", "correct", "right"})
_FALSE = frozenset({"false", "no", "incorrect", "wrong"})
_NEGATIONS = frozenset({"no", "not", "nor", "never", "none", "neither", "without", "cannot"})
_STOP_WORDS = frozenset(
    "a an the this that these those it its they them their he him his she her we us our you your i "
    "my me who whom which what is am are was were be been being has have had having do does did "
    "doing can will just should and but or if because as until while of at by for with about into "
    "through to from in on then here there when where why how all both each few some such own same "
    "so than too very s t now".split()
)
_REFUSALS = (
    *("unanswerable", "no answer", "not answerable", "cannot be answered", "unknown", "not known"),
    *("not enough information", "insufficient information", "no information", "none", "n/a"),
    *("no relevant information", "not mentioned", "not stated", "not specified", "cannot tell"),
    *("it is not possible to tell", "it does not say", "the passage does not say"),
    "the context does not say",
)
_ASKS_WHETHER = re.compile(
    r"\s*(?:is|are|was|were|am|do|does|did|can|could|may|might|must|shall|should|will|would|has"
    r"|have|had)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:[.,\u00b7'\u2019]\w+)*")
_CANNOT = re.compile(r"\bcan(?:['\u2019]t| not)\b")
_SHORT_NOT = re.compile(r"n['\u2019]t\b")


def normalize_answer(text: str) -> str:
    """Lowercase a text, remove punctuation and stop words, and stem each word (Porter).

    Stop words are kept if the text contains nothing else.

    Example:
        >>> normalize_answer("The trials didn't lower Blood Pressure by 3.5 mmHg.")
        'trial not lower blood pressur 3.5 mmhg'
    """
    lowered = _CANNOT.sub("cannot", unicodedata.normalize("NFKC", text).casefold())
    lowered = _SHORT_NOT.sub(" not", lowered)
    words = [word.removesuffix("'s").removesuffix("\u2019s") for word in _WORD.findall(lowered)]
    content_words = [word for word in words if word not in _STOP_WORDS] or words
    return " ".join(map(_stem_word, content_words))


@functools.cache
def _stem_word(word: str) -> str:
    import snowballstemmer

    has_digit = any(c.isdigit() for c in word)
    return word if has_digit else snowballstemmer.stemmer("porter").stemWord(word)


def is_unanswered(answer: str, question: str = "") -> bool:
    """Return whether an extracted answer is empty or says that there is no answer.

    "No" counts as unanswered unless the question is a yes/no question.

    Example:
        >>> is_unanswered("No."), is_unanswered("No.", "Does it lower blood pressure?")
        (True, False)
    """
    plain = normalize_answer(answer)
    if not plain:
        return True
    if plain in ("no", "not"):
        return _ASKS_WHETHER.match(question) is None
    return any(_is_similar(plain, normalize_answer(refusal)) for refusal in _REFUSALS)


def is_known_answer(answer: str, known: Iterable[str], question: str = "") -> bool:
    """Return whether an extracted answer matches one of the known answers.

    If the only known answer is "true" or "false", it is compared with the first word of the answer.
    Otherwise, the normalized texts must be equal, or have at least `FEWEST_CHARS` characters, be
    more than `LEAST_RATIO` % similar, and agree in numbers and negations. Without known answers,
    the result is False.

    Example:
        >>> is_known_answer("migraine attacks", ["Migraine attack."])
        True
        >>> is_known_answer("in 1960", ["in 1950"])
        False
    """
    keys = [key for key in known if key.strip()]
    if len(keys) == 1 and (truth := _parse_truth(keys[0])) is not None:
        first_word = _WORD.search(answer)
        return first_word is not None and _parse_truth(first_word[0]) == truth
    if is_unanswered(answer, question) and not any(is_unanswered(key) for key in keys):
        return False
    plain = normalize_answer(answer)
    return any(_is_similar(plain, normalize_answer(key)) for key in keys)


def _parse_truth(text: str) -> bool | None:
    word = text.strip().strip(string.punctuation).casefold()
    return True if word in _TRUE else False if word in _FALSE else None


def _is_similar(ours: str, theirs: str) -> bool:
    if ours == theirs:
        return bool(ours)
    shorter, longer = sorted((len(ours), len(theirs)))
    if (
        shorter < FEWEST_CHARS
        or longer > MOST_CHARS
        or extract_numbers(ours) != extract_numbers(theirs)
    ):
        return False
    if _contains_negation(ours) != _contains_negation(theirs):
        return False
    from rapidfuzz import fuzz

    return round(fuzz.ratio(ours, theirs)) > LEAST_RATIO


def _contains_negation(text: str) -> bool:
    return not _NEGATIONS.isdisjoint(text.split())
