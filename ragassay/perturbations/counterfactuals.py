"""Make a sentence wrong by one change: its negation, direction, population, hedge or drug."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterable

from ragassay.perturbations.lexicon import any_of, like, load_drugs, load_words, replace_words

_NOT = re.compile(r"(?<!or )(?<!if )(?<!why )\bnot (?!only\b|just\b|merely\b|all\b|every\b|yet\b)")
_DO_NOT = re.compile(r"\b(do|does|did) not (\w+)")
_NO = re.compile(r"\bno (?!longer|more|less|fewer|later|one\b|doubt|matter)", re.IGNORECASE)
_PLAIN = {"cannot": "can", "never": "always", "no longer": "still", "unable to": "able to"}
_PHRASE_END = re.compile(
    r"[,.;:()]|\b(?:in|of|between|for|was|were|is|are|has|have|had|on|to|with|that|and|or|from|at"
    r"|by|when|after|among)\b"
)
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|may|might|will|should|has|have|had)\b(?! not\b| never\b| to\b)"
)
_CERTAIN = {"can": "cannot", "could": "cannot", "may": "cannot", "might": "cannot"}
"""Negated forms that leave no doubt: "may not" would say no less than "may"."""
_HAVE = {"has": "does not have", "have": "do not have", "had": "did not have"}
_PARTICIPLE = re.compile(
    r" (?:\w+ly |also |recently |long )?(?:been|\w{2,}ed|shown|become|led|found|given|seen|grown"
    r"|proven|risen|fallen|made|undergone|taken|emerged)\b"
)
_OBJECT = r"(?= (?:the|a|an|its|their|this|these|that|both|all|several|significantly|no|new)\b)"
_AFTER_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|be|been|being|has|have|had|by|and|or|of|with|not)(?: \w+ly)? $"
)


def turn_negation(sentence: str, rng: random.Random) -> str | None:
    """Remove the first negation; where there is none, insert one at a drawn place, or return None.

    Example:
        >>> turn_negation("It does not help.", random.Random(0))
        'It helps.'
        >>> turn_negation("Drug A reduces the pain.", random.Random(0))
        'Drug A does not reduce the pain.'
    """
    return _without_negation(sentence) or _with_negation(sentence, rng)


def _without_negation(sentence: str) -> str | None:
    if found := _DO_NOT.search(sentence):
        verb = _third(found[2]) if found[1] == "does" else found[2]
        verb = f"did {verb}" if found[1] == "did" else verb
        return sentence[: found.start()] + verb + sentence[found.end() :]
    if found := any_of(_PLAIN).search(sentence):
        other = like(found[0], _PLAIN[found[0].lower()])
        return sentence[: found.start()] + other + sentence[found.end() :]
    if found := _NOT.search(sentence):
        return replace_words(sentence, found.start(), found.end(), "")
    found = _NO.search(sentence)
    return _without_no(sentence, found) if found else None


def _without_no(sentence: str, found: re.Match[str]) -> str:
    """Turn "no effect" into "an effect", "no effects" into "effects"."""
    rest = sentence[found.end() :]
    end = _PHRASE_END.search(rest)
    noun = (rest[: end.start()] if end else rest).split()[-1:] or [""]
    is_plural = bool(re.search(r"[^siu]s$", noun[0])) or noun[0] in load_words().uncountable
    text = rest if is_plural else replace_words(f"a {rest}", 2, 2 + len(rest), rest)
    text = text[:1].upper() + text[1:] if found[0][0].isupper() else text
    return sentence[: found.start()] + text


def _with_negation(sentence: str, rng: random.Random) -> str | None:
    changes: list[tuple[int, int, str]] = []
    for match in _AUXILIARY.finditer(sentence):
        word = match[1]
        if word in _HAVE and not _PARTICIPLE.match(sentence, match.end()):
            other = _HAVE[word]
        else:
            other = _CERTAIN.get(word, f"{word} not")
        changes.append((match.start(), match.end(), other))
    for match in _verb_pattern().finditer(sentence):
        if not _AFTER_AUXILIARY.search(sentence[: match.start()]):
            did, base = _verb_forms()[match[0]]
            changes.append((match.start(), match.end(), f"{did} not {base}"))
    if not changes:
        return None
    start, end, other = rng.choice(changes)
    return sentence[:start] + other + sentence[end:]


def _third(verb: str) -> str:
    """Return the third person: of "have" it is "has", of "carry" "carries"."""
    if verb in ("have", "be"):
        return {"have": "has", "be": "is"}[verb]
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    return f"{verb[:-1]}ied" if re.search(r"[^aeiou]y$", verb) else f"{verb}ed"


@functools.cache
def _verb_forms() -> dict[str, tuple[str, str]]:
    """Return third persons and regular past forms, each with its auxiliary and its base."""
    verbs = load_words().verbs
    return {_third(v): ("does", v) for v in verbs} | {_past(v): ("did", v) for v in verbs}


@functools.cache
def _verb_pattern() -> re.Pattern[str]:
    """Match forms that are certainly verbs, and others where an object follows."""
    nouns = load_words().also_nouns
    sure = [form for form, (did, _) in _verb_forms().items() if did == "does" and form not in nouns]
    unsure = [form for form in _verb_forms() if form not in sure]
    return re.compile(
        rf"(?<![\w-])(?:(?:{'|'.join(sure)})(?![\w-])|(?:{'|'.join(unsure)}){_OBJECT})"
    )


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
        return any_of([drug]).sub(lambda match: like(match[0], other), sentence)

    return change


def _others_for(drug: str, named: set[str], here: set[str]) -> list[str]:
    mates = {mate for mates in _classes().get(drug, ()) for mate in load_drugs()[mates]} - here
    return sorted(mates & named) or sorted(mates) or sorted(named - here)


def _drugs_in(text: str) -> list[str]:
    """Return the drugs that a text names, in lower case as in the classes, without repeats."""
    known = {name.lower(): name for name in _classes()}
    listed = [known[match[0].lower()] for match in _pattern(tuple(_classes())).finditer(text)]
    others = [match[0].lower() for match in _OTHER_DRUGS.finditer(text)]
    return list(dict.fromkeys([*listed, *(o for o in others if o not in _NO_DRUGS)]))


def _swap_one(sentence: str, others: dict[str, tuple[str, ...]], rng: random.Random) -> str | None:
    found = [m for m in _pattern(tuple(others)).finditer(sentence) if not _is_name(m)]
    if not found:
        return None
    chosen = rng.choice(found)
    other = like(chosen[0], rng.choice(others[chosen[0].lower()]))
    return replace_words(sentence, chosen.start(), chosen.end(), other)


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
