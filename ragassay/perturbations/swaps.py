"""Replace a word so that the sentence is wrong: directions, people, drugs, caution."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterable

from ragassay.perturbations.wording import like, replaced
from ragassay.perturbations.words import any_of, load_drugs, load_words

Change = Callable[[str, random.Random], str | None]
"""Changes one thing in a sentence; returns None where there is nothing to change."""

_OTHER_DRUGS = re.compile(
    r"\b[A-Za-z]{3,}(?:mab|tinib|ciclib|parib|vastatin|sartan|gliptin|gliflozin|glutide|floxacin"
    r"|cillin|conazole|prazole|oxaban|lukast|triptan|gepant|platin|taxel|rubicin|mycin|cycline"
    r"|thiazide|dronate|olol|pril|dipine|virine|tegravir|buvir|navir|setron|azepam)\b"
)
_NO_DRUGS = frozenset({"april"})


def turn_direction(sentence: str, rng: random.Random) -> str | None:
    """Reverse a direction: "higher" to "lower", "improved" to "worsened".

    Example:
        >>> turn_direction("Drug A gave an increase.", random.Random(0))
        'Drug A gave a decrease.'
    """
    return _swap_one(sentence, _opposites(), rng)


def swap_population(sentence: str, rng: random.Random) -> str | None:
    """Swap the studied population: "children" to "adults", "patients" to "mice"."""
    return _swap_one(sentence, load_words().populations, rng)


def remove_hedge(sentence: str, rng: random.Random) -> str | None:
    """Replace caution by certainty: "suggests" to "proves", "may" to "will"."""
    return _swap_one(sentence, _hedges(), rng)


def swap_drug(texts: Iterable[str]) -> Change:
    """Replace a drug, everywhere in the sentence.

    Args:
        texts: The sources. A drug of the same class that they name is preferred, then any of the
            class; for a drug of unknown class, any that they name.
    """
    named = {name for text in texts for name in _drugs_in(text)}

    def change(sentence: str, rng: random.Random) -> str | None:
        here = _drugs_in(sentence)
        if not here:
            return None
        drug = rng.choice(here)
        others = _others_for(drug, named, set(here))
        if not others:
            return None
        other = rng.choice(others)
        pattern = any_of([drug])
        return pattern.sub(lambda match: like(match[0], other), sentence)

    return change


def _others_for(drug: str, named: set[str], here: set[str]) -> list[str]:
    mates = {mate for mates in _classes().get(drug, ()) for mate in load_drugs()[mates]} - here
    return sorted(mates & named) or sorted(mates) or sorted(named - here)


def _drugs_in(text: str) -> list[str]:
    """Return the drugs that a text names, in lower case as in the classes, without repeats."""
    known = {name.lower(): name for name in _classes()}
    listed = [known[match[0].lower()] for match in _drug_pattern().finditer(text)]
    others = [match[0].lower() for match in _OTHER_DRUGS.finditer(text)]
    return list(dict.fromkeys([*listed, *(o for o in others if o not in _NO_DRUGS)]))


def _swap_one(sentence: str, others: dict[str, tuple[str, ...]], rng: random.Random) -> str | None:
    found = [m for m in _pattern(tuple(others)).finditer(sentence) if not _is_name(m)]
    if not found:
        return None
    chosen = rng.choice(found)
    other = like(chosen[0], rng.choice(others[chosen[0].lower()]))
    return replaced(sentence, chosen.start(), chosen.end(), other)


def _is_name(match: re.Match[str]) -> bool:
    """Return whether a word is capitalised in mid-sentence: "in May", "Higher Education"."""
    return match[0][0].isupper() and bool(re.search(r"\w", match.string[: match.start()]))


@functools.cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return any_of(words)


@functools.cache
def _opposites() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for one, other in load_words().opposites:
        found.setdefault(one, (other,))
        found.setdefault(other, (one,))
    return found


@functools.cache
def _hedges() -> dict[str, tuple[str, ...]]:
    return {hedge: (certain,) for hedge, certain in load_words().hedges.items()}


@functools.cache
def _classes() -> dict[str, tuple[str, ...]]:
    """Return drug names, each with its classes."""
    found: dict[str, tuple[str, ...]] = {}
    for name, drugs in load_drugs().items():
        for drug in drugs:
            found[drug] = (*found.get(drug, ()), name)
    return found


@functools.cache
def _drug_pattern() -> re.Pattern[str]:
    return any_of(_classes())
