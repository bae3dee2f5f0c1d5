"""Change a sentence's negation, direction, population, hedge or drug to make it wrong."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterable

from ragassay.perturbations.lexicon import (
    build_word_pattern,
    copy_capitals,
    load_drugs,
    load_words,
    replace_words,
)

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
"""Negations of auxiliary verbs. "may" becomes "cannot", because "may not" is as uncertain as
"may"."""
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
    """Remove the first negation, or add a negation at a random position.

    Returns None if the sentence has no negation and none can be added.

    Example:
        >>> turn_negation("It does not help.", random.Random(0))
        'It helps.'
        >>> turn_negation("Drug A reduces the pain.", random.Random(0))
        'Drug A does not reduce the pain.'
    """
    return _remove_negation(sentence) or _add_negation(sentence, rng)


def _remove_negation(sentence: str) -> str | None:
    if found := _DO_NOT.search(sentence):
        verb = _form_third_person(found[2]) if found[1] == "does" else found[2]
        verb = f"did {verb}" if found[1] == "did" else verb
        return sentence[: found.start()] + verb + sentence[found.end() :]
    if found := build_word_pattern(_PLAIN).search(sentence):
        positive = copy_capitals(found[0], _PLAIN[found[0].lower()])
        return sentence[: found.start()] + positive + sentence[found.end() :]
    if found := _NOT.search(sentence):
        return replace_words(sentence, found.start(), found.end(), "")
    found = _NO.search(sentence)
    return _remove_no(sentence, found) if found else None


def _remove_no(sentence: str, found: re.Match[str]) -> str:
    rest = sentence[found.end() :]
    end = _PHRASE_END.search(rest)
    noun = (rest[: end.start()] if end else rest).split()[-1:] or [""]
    is_plural = bool(re.search(r"[^siu]s$", noun[0])) or noun[0] in load_words().uncountable
    text = rest if is_plural else replace_words(f"a {rest}", 2, 2 + len(rest), rest)
    text = text[:1].upper() + text[1:] if found[0][0].isupper() else text
    return sentence[: found.start()] + text


def _add_negation(sentence: str, rng: random.Random) -> str | None:
    changes: list[tuple[int, int, str]] = []
    for match in _AUXILIARY.finditer(sentence):
        word = match[1]
        if word in _HAVE and not _PARTICIPLE.match(sentence, match.end()):
            negated = _HAVE[word]
        else:
            negated = _CERTAIN.get(word, f"{word} not")
        changes.append((match.start(), match.end(), negated))
    for match in _build_verb_pattern().finditer(sentence):
        if not _AFTER_AUXILIARY.search(sentence[: match.start()]):
            did, base = _map_verb_forms()[match[0]]
            changes.append((match.start(), match.end(), f"{did} not {base}"))
    if not changes:
        return None
    start, end, negated = rng.choice(changes)
    return sentence[:start] + negated + sentence[end:]


def _form_third_person(verb: str) -> str:
    if verb in ("have", "be"):
        return {"have": "has", "be": "is"}[verb]
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _form_past_tense(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    return f"{verb[:-1]}ied" if re.search(r"[^aeiou]y$", verb) else f"{verb}ed"


@functools.cache
def _map_verb_forms() -> dict[str, tuple[str, str]]:
    """Map third-person and regular past forms to their auxiliary and base form."""
    verbs = load_words().verbs
    return {_form_third_person(v): ("does", v) for v in verbs} | {
        _form_past_tense(v): ("did", v) for v in verbs
    }


@functools.cache
def _build_verb_pattern() -> re.Pattern[str]:
    """Return a pattern for unambiguous verb forms and for ambiguous forms before an object."""
    nouns = load_words().also_nouns
    sure = [
        form for form, (did, _) in _map_verb_forms().items() if did == "does" and form not in nouns
    ]
    unsure = [form for form in _map_verb_forms() if form not in sure]
    return re.compile(
        rf"(?<![\w-])(?:(?:{'|'.join(sure)})(?![\w-])|(?:{'|'.join(unsure)}){_OBJECT})"
    )


Change = Callable[[str, random.Random], str | None]
"""Function that makes one change to a sentence, or returns None if no change is possible."""

_OTHER_DRUGS = re.compile(
    r"\b[A-Za-z]{3,}(?:mab|tinib|ciclib|parib|vastatin|sartan|gliptin|gliflozin|glutide|floxacin"
    r"|cillin|conazole|prazole|oxaban|lukast|triptan|gepant|platin|taxel|rubicin|mycin|cycline"
    r"|thiazide|dronate|olol|pril|dipine|virine|tegravir|buvir|navir|setron|azepam)\b"
)
_NO_DRUGS = frozenset({"april"})


def turn_direction(sentence: str, rng: random.Random) -> str | None:
    """Reverse a direction, such as "higher" to "lower" or "improved" to "worsened".

    Example:
        >>> turn_direction("Drug A gave an increase.", random.Random(0))
        'Drug A gave a decrease.'
    """
    return _swap_one(sentence, _map_opposites(), rng)


def swap_population(sentence: str, rng: random.Random) -> str | None:
    """Replace the study population, such as "children" with "adults" or "patients" with "mice"."""
    return _swap_one(sentence, load_words().populations, rng)


def remove_hedge(sentence: str, rng: random.Random) -> str | None:
    """Replace a cautious word with a confident one, such as "suggests" with "proves"."""
    hedges = {hedge: (certain,) for hedge, certain in load_words().hedges.items()}
    return _swap_one(sentence, hedges, rng)


def swap_drug(texts: Iterable[str]) -> Change:
    """Return a change that replaces all mentions of one drug in a sentence.

    Args:
        texts: Source texts. The replacement is a drug of the same class, preferably one that the
            sources mention. If the class is unknown, the replacement is any drug that the sources
            mention.
    """
    in_sources = {name for text in texts for name in _find_drugs(text)}

    def change(sentence: str, rng: random.Random) -> str | None:
        drugs = _find_drugs(sentence)
        if not drugs:
            return None
        drug = rng.choice(drugs)
        candidates = _list_replacement_drugs(drug, in_sources, set(drugs))
        if not candidates:
            return None
        replacement = rng.choice(candidates)
        return build_word_pattern([drug]).sub(
            lambda match: copy_capitals(match[0], replacement), sentence
        )

    return change


def _list_replacement_drugs(drug: str, in_sources: set[str], excluded: set[str]) -> list[str]:
    same_class = {
        d for name in _map_drug_classes().get(drug, ()) for d in load_drugs()[name]
    } - excluded
    return sorted(same_class & in_sources) or sorted(same_class) or sorted(in_sources - excluded)


def _find_drugs(text: str) -> list[str]:
    known = {name.lower(): name for name in _map_drug_classes()}
    listed = [
        known[match[0].lower()]
        for match in _build_pattern(tuple(_map_drug_classes())).finditer(text)
    ]
    others = [match[0].lower() for match in _OTHER_DRUGS.finditer(text)]
    return list(dict.fromkeys([*listed, *(o for o in others if o not in _NO_DRUGS)]))


def _swap_one(
    sentence: str, replacements: dict[str, tuple[str, ...]], rng: random.Random
) -> str | None:
    matches = [m for m in _build_pattern(tuple(replacements)).finditer(sentence) if not _is_name(m)]
    if not matches:
        return None
    match = rng.choice(matches)
    replacement = copy_capitals(match[0], rng.choice(replacements[match[0].lower()]))
    return replace_words(sentence, match.start(), match.end(), replacement)


def _is_name(match: re.Match[str]) -> bool:
    """Return whether a word is capitalized within a sentence, as in "in May"."""
    return match[0][0].isupper() and bool(re.search(r"\w", match.string[: match.start()]))


@functools.cache
def _build_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return build_word_pattern(words)


@functools.cache
def _map_opposites() -> dict[str, tuple[str, ...]]:
    opposites: dict[str, tuple[str, ...]] = {}
    for first, second in load_words().opposites:
        opposites.setdefault(first, (second,))
        opposites.setdefault(second, (first,))
    return opposites


@functools.cache
def _map_drug_classes() -> dict[str, tuple[str, ...]]:
    classes: dict[str, tuple[str, ...]] = {}
    for name, drugs in load_drugs().items():
        for drug in drugs:
            classes[drug] = (*classes.get(drug, ()), name)
    return classes
