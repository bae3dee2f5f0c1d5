"""Sentences turned into others that what bore them out speaks against.

Sets of claims hold few contradictions, and a verifier that saw few takes shared words for support.
Each change is one that a careless or dishonest answer makes: the direction is turned over, a
negation is put in or taken out, a number is changed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_OPPOSITES = (
    ("increase", "decrease"),
    ("increases", "decreases"),
    ("increased", "decreased"),
    ("increasing", "decreasing"),
    ("higher", "lower"),
    ("high", "low"),
    ("more", "less"),
    ("most", "least"),
    ("greater", "smaller"),
    ("better", "worse"),
    ("longer", "shorter"),
    ("early", "late"),
    ("common", "rare"),
    ("improve", "worsen"),
    ("improves", "worsens"),
    ("improved", "worsened"),
    ("enhances", "impairs"),
    ("enhanced", "impaired"),
    ("activate", "inhibit"),
    ("activates", "inhibits"),
    ("activated", "inhibited"),
    ("activation", "inhibition"),
    ("promote", "suppress"),
    ("promotes", "suppresses"),
    ("induce", "prevent"),
    ("induces", "prevents"),
    ("stimulates", "blocks"),
    ("reduces", "raises"),
    ("reduced", "elevated"),
    ("reduction", "elevation"),
    ("upregulated", "downregulated"),
    ("upregulation", "downregulation"),
    ("up-regulated", "down-regulated"),
    ("gain", "loss"),
    ("presence", "absence"),
    ("agonist", "antagonist"),
    ("positive", "negative"),
    ("positively", "negatively"),
    ("effective", "ineffective"),
    ("safe", "unsafe"),
    ("beneficial", "harmful"),
    ("sensitive", "resistant"),
    ("significant", "insignificant"),
    ("associated", "unrelated"),
)
_OPPOSITE = {word: other for pair in _OPPOSITES for word, other in (pair, pair[::-1])}

_WORD = re.compile(r"[A-Za-z-]+")
_NEGATION = re.compile(r"\b(?:not|no|never)\s+")
_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|can|may|does|do|has|have|had|will|should|could|did)\b"
)
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-])")
_FACTORS = (0.25, 0.5, 2.0, 3.0)

Change = Callable[[str, random.Random], str | None]


def contradict(sentence: str, rng: random.Random) -> str | None:
    """One change that turns a sentence against what bore it out.

    Args:
        sentence: Any.
        rng: Draws the change, the turn of a direction twice as often as any other.

    Returns:
        None where no change applies.

    Example:
        >>> contradict("Drug A lowers it.", random.Random(0)) is None
        True
        >>> contradict("Drug A gave higher pressure.", random.Random(0))
        'Drug A gave lower pressure.'
    """
    changes: list[Change] = [_turn_direction, _turn_direction, _turn_negation, _change_number]
    found = [changed for change in changes if (changed := change(sentence, rng))]
    return rng.choice(found) if found else None


def _turn_direction(sentence: str, rng: random.Random) -> str | None:
    words = [match for match in _WORD.finditer(sentence) if match.group().lower() in _OPPOSITE]
    if not words:
        return None
    chosen = rng.choice(words)
    other = _OPPOSITE[chosen.group().lower()]
    if chosen.group()[0].isupper():
        other = other.capitalize()
    return sentence[: chosen.start()] + other + sentence[chosen.end() :]


def _turn_negation(sentence: str, rng: random.Random) -> str | None:
    if _NEGATION.search(sentence):
        return _NEGATION.sub("", sentence, count=1)
    if _AUXILIARY.search(sentence):
        return _AUXILIARY.sub(lambda match: f"{match.group()} not", sentence, count=1)
    return None


def _change_number(sentence: str, rng: random.Random) -> str | None:
    numbers = list(_NUMBER.finditer(sentence))
    if not numbers:
        return None
    chosen = rng.choice(numbers)
    value = float(chosen.group()) * rng.choice(_FACTORS) + 1
    text = f"{value:.1f}" if "." in chosen.group() else str(int(value))
    if text == chosen.group():
        return None
    return sentence[: chosen.start()] + text + sentence[chosen.end() :]
