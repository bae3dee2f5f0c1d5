"""Check that a quote occurs in a text, and that a nugget says no more than its sentence."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from rapidfuzz import fuzz

from ragassay.text.search import tokenize

LEAST_ALIKE = 90.0
"""Minimum similarity between a quote and the text in percent (rapidfuzz's partial ratio)."""

LEAST_CHARS = 8
"""Minimum number of characters in a quote. Shorter quotes may occur by chance."""

MOST_CHARS = 300
"""Maximum number of characters of a quote that are matched, since matching takes quadratic time. Of
a longer quote, the start and the end are matched."""


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Return the (start, end) span of a quote in a text, or None if it does not occur.

    Models change the case, spaces and dashes of quotes. Therefore, the most similar span is
    returned if it is similar enough. Show readers the text of this span, not the quote.

    Example:
        >>> find_quote("The dose was 5 mg", "At first the dose  was 5 mg daily.")
        (10, 27)
    """
    plain_quote = " ".join(quote.split()).strip("\"'\u201c\u201d \u2026.")
    if len(plain_quote) < LEAST_CHARS or len(plain_quote) > len(text):
        return None
    plain_quote, text = _lower(plain_quote), _lower(text)
    if len(plain_quote) <= MOST_CHARS:
        return _locate(plain_quote, text)
    first, last = _locate(plain_quote[:MOST_CHARS], text), _locate(plain_quote[-MOST_CHARS:], text)
    if first is None or last is None:
        return None
    span = first[0], last[1]
    least, most = len(plain_quote) * LEAST_ALIKE / 100, len(plain_quote) * 100 / LEAST_ALIKE
    return span if least <= span[1] - span[0] <= most else None


def _locate(plain_quote: str, text: str) -> tuple[int, int] | None:
    match = fuzz.partial_ratio_alignment(plain_quote, text, score_cutoff=LEAST_ALIKE)
    return (match.dest_start, match.dest_end) if match else None


def _lower(text: str) -> str:
    """Lowercase a text, unless that would change its length and offsets."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text


LEAST_OVERLAP = 0.7
"""Minimum share of a nugget's content words that occur in its sentence."""

MOST_CLAUSES = 50
"""Maximum number of clauses in a nugget, each of which is compared with all clauses of its
sentence."""

_NUMBER = re.compile(
    r"(?:[<>=\u2264\u2265]\s*)?(?:(?<![^\s(<>=\u2264\u2265])-)?\d+(?:[.,\u00b7]\d+)*(?:\s?%)?"
)
_NEGATION = re.compile(
    r"\b(?:no|not(?!\s+only)|never|none|neither|nor|without|cannot|lack(?:s|ed|ing)?|hardly"
    # "heart failure" is not a negation.
    r"|fail(?:s|ed|ing)?\s+to|absence|absent|unable|rather\s+than|instead\s+of|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:may|might|could|perhaps|possibly|probably|potentially|seem\w*|appear(?:s|ed)?"
    r"|suggest\w*|whether|if|unclear|uncertain)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;:](?!\d)|\.(?=\s)|\b(?:and|but|while|whereas|although|though|however)\b"
    r"|(?=\b(?:without|rather\s+than|instead\s+of)\b)",
    re.IGNORECASE,
)
_COMPARATOR = re.compile(
    r"\b(?:than|versus|vs|against|over|compared\s+(?:with|to))\b", re.IGNORECASE
)
_ANAPHOR = re.compile(
    r"\b(?:it|its|itself|they|them|their|these|those|this|such|he|she|his|her"
    r"|(?:in|of|for|with|on)\s+that|the\s+(?:same|latter|former)|both)\b",
    re.IGNORECASE,
)
_AUXILIARIES = frozenset(tokenize("did do does could would will should also still they it"))
_NEVER_BORROWED = frozenset(
    tokenize(
        "all always any better cause caused causes common contraindicated cure cured decline "
        "declined decrease decreased decreases double doubled effective equal equally fall fallen "
        "fell fewer frequent frequently gain gained greater half halved harm harmful higher "
        "improve improved improves increase increased increases ineffective less longer lower "
        "lowered lowers many most more never none only prevent prevented prevents rare rarely "
        "recommend recommended reduce reduced reduces rise risen rose raise raised raises safe "
        "same shorter significant significantly similar smaller some superior unsafe unchanged "
        "worse worsen worsened worsens one two three four five six seven eight nine ten hundred "
        "thousand percent"
    )
)
"""Words that must occur in the sentence itself, because no pronoun can stand for them."""


def is_carried(nugget: str, sentence: str, answer: str) -> bool:
    """Return whether a sentence states a nugget.

    A nugget that equals the sentence is stated, and one without content words is not. A pronoun in
    the sentence may stand for words of the `answer`.
    """
    words, sentence_words = _extract_words(nugget), _extract_words(sentence)
    if not words or not _is_drawn(words, sentence_words, sentence, answer):
        return False
    if nugget.split() == sentence.split():
        return True
    if not _extract_numbers(nugget) <= _extract_numbers(sentence):
        return False
    clauses, parts = _split_clauses(sentence), _split_clauses(nugget)
    return (
        len(parts) <= MOST_CLAUSES
        and _keeps_sides(parts, clauses)
        and all(
            _agrees_with_clauses(part, clauses, pattern)
            for part in parts
            for pattern in (_NEGATION, _HEDGE)
        )
    )


@functools.lru_cache(maxsize=128)
def _extract_words(text: str) -> frozenset[str]:
    """Return the content words of a text. They are cached because each answer has many nuggets."""
    return frozenset(tokenize(text))


def _is_drawn(
    words: frozenset[str], sentence_words: frozenset[str], sentence: str, answer: str
) -> bool:
    """Return whether all words occur in the sentence, or in the answer if it contains a pronoun."""
    borrowed = words - sentence_words
    if not borrowed:
        return True
    if not _ANAPHOR.search(sentence) or borrowed & _NEVER_BORROWED:
        return False
    return borrowed <= _extract_words(answer) and len(
        words & sentence_words
    ) >= LEAST_OVERLAP * len(words)


def _extract_numbers(text: str) -> set[str]:
    plain = re.sub(r"[\u2212\u2013]", "-", text)
    return {re.sub(r"\s", "", match.group()).lstrip("=") for match in _NUMBER.finditer(plain)}


def _split_clauses(text: str) -> list[str]:
    parts = [part for part in dict.fromkeys(_CLAUSE.split(text)) if part]
    return [p for p in parts if _extract_words(p) or _NEGATION.search(p) or _HEDGE.search(p)] or [
        text
    ]


def _agrees_with_clauses(part: str, clauses: list[str], pattern: re.Pattern[str]) -> bool:
    """Return whether a clause of a nugget is negated or hedged just as in the sentence.

    `pattern` matches negations or hedges. A clause with a match is compared with the clauses of the
    sentence that share the most words with it. A clause without a match must not use words that
    occur only in matching clauses of the sentence.
    """
    words = _extract_words(part)
    matching = [clause for clause in clauses if pattern.search(clause)]
    if pattern.search(part):
        return all(clause in matching for clause in _find_closest(words, clauses, pattern))
    free = frozenset().union(
        *(_extract_words(clause) for clause in clauses if clause not in matching)
    )
    bound = frozenset().union(*(_extract_words(clause) for clause in matching))
    return not (words & bound) - free


def _find_closest(words: frozenset[str], clauses: list[str], pattern: re.Pattern[str]) -> list[str]:
    ranked: dict[str, tuple[int, int]] = {}
    before: frozenset[str] = frozenset()
    for clause in clauses:
        reach = _extract_words(clause)
        match = pattern.search(clause)
        if match and not _extract_words(clause[: match.start()]) - _AUXILIARIES:
            # "... and not significant" takes its subject from the previous clause.
            reach |= before
        ranked[clause] = (len(words & reach), -len(reach - words))
        before = reach
    best = max(ranked.values())
    return [clause for clause, rank in ranked.items() if rank == best]


def _keeps_sides(parts: list[str], clauses: list[str]) -> bool:
    """Return whether the nugget compares only with things with which the sentence compares."""
    compared = [_COMPARATOR.split(clause, maxsplit=1)[1:] for clause in clauses]
    standards = {word for tail in compared for text in tail for word in tokenize(text)}
    return all(word in standards for part in parts for word in _find_compared_words(part))


def _find_compared_words(clause: str) -> Iterator[str]:
    word = ""
    for text in reversed(_COMPARATOR.split(clause)[1:]):
        word = next(iter(tokenize(text)), word)
        if word:
            yield word
