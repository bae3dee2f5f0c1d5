"""Edit a supported claim or its evidence so that the new label is known.

Edits are kept only if the text covers the changed content. A changed number must be in the
document, and a changed direction must be in the closest sentences.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragassay.models.entailment import CONTRADICTS, SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.perturbations.counterfactuals import (
    Change,
    swap_drug,
    swap_population,
    turn_direction,
    turn_negation,
)
from ragassay.perturbations.lexicon import build_word_pattern, load_words
from ragassay.perturbations.numbers import change_number
from ragassay.text.quantities import extract_numbers
from ragassay.text.search import tokenize

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
N_DRAWS = {"number": 4, "direction": 3, "negation": 1, "population": 1, "drug": 1}
"""Number of attempts per edit, higher for edits that apply to few sentences."""

_STEM = 5
"""Number of initial letters that two forms of a word must share."""


@dataclass(frozen=True)
class Made:
    """A labelled claim and how it was made, such as "number"."""

    claim: LabelledClaim
    kind: str


def edited(claim: LabelledClaim, closest: Sequence[int], rng: random.Random) -> Iterator[Made]:
    """Yield contradictions of a supported claim, and supported claims with similar edits.

    Args:
        claim: Claim that its document supports.
        closest: Indices of the document's sentences, closest to the claim first.
        rng: Random generator of the edits.
    """
    near = " ".join([claim.title, *(claim.sentences[i] for i in closest[:3])])
    whole = " ".join([claim.title, *claim.sentences])
    for kind, change in _changes(whole).items():
        texts = {change(claim.claim, rng) for _ in range(N_DRAWS[kind])} - {None, claim.claim}
        for text in sorted(filter(None, texts)):
            if _bears(kind, claim.claim, text, near, whole):
                yield Made(replace(claim, claim=text, label=CONTRADICTS), kind)
    yield from _in_document(claim, closest, rng)
    yield from _in_both(claim, closest, rng)


def _changes(whole: str) -> Mapping[str, Change]:
    return {
        "number": change_number,
        "direction": turn_direction,
        "negation": turn_negation,
        "population": swap_population,
        "drug": swap_drug([whole]),
    }


def _bears(kind: str, before: str, after: str, near: str, whole: str) -> bool:
    """Return whether the document covers the content changed by an edit."""
    if kind == "negation":
        return True
    if kind == "number":
        gone = extract_numbers(before) - extract_numbers(after)
        new = extract_numbers(after) - extract_numbers(before)
        known = extract_numbers(whole)
        return bool(gone) and gone <= known and not new & known
    gone, text = (
        set(tokenize(before)) - set(tokenize(after)),
        near if kind == "direction" else whole,
    )
    known = {word[:_STEM] for word in tokenize(text)}
    return bool(gone) and all(word[:_STEM] in known for word in gone)


def _in_document(
    claim: LabelledClaim, closest: Sequence[int], rng: random.Random
) -> Iterator[Made]:
    """Edit the closest sentence of the document and keep the claim unchanged."""
    place = closest[0]
    changes: list[tuple[str, Change]] = [("direction", turn_direction), ("number", change_number)]
    for kind, change in changes:
        text = change(claim.sentences[place], rng)
        if not text:
            continue
        gone = _terms(claim.sentences[place]) - _terms(text)
        if gone and gone <= _terms(claim.claim):
            sentences = _without(claim, gone, place, text)
            yield Made(replace(claim, sentences=sentences, label=CONTRADICTS), f"source {kind}")


def _terms(text: str) -> set[str]:
    return {*extract_numbers(text), *(word for word in tokenize(text) if not word[0].isdigit())}


def _without(claim: LabelledClaim, gone: set[str], place: int, text: str) -> tuple[str, ...]:
    """Replace one sentence, and remove other sentences that contain the removed numbers."""
    numbers = {term for term in gone if term[0].isdigit()}
    return tuple(
        text if n == place else sentence
        for n, sentence in enumerate(claim.sentences)
        if n == place or not numbers & _terms(sentence)
    )


def _in_both(claim: LabelledClaim, closest: Sequence[int], rng: random.Random) -> Iterator[Made]:
    """Apply the same edit to claim and document, so that the document still supports the claim."""
    words = [word for pair in load_words().opposites for word in pair]
    place = closest[0]
    for kind, turned in (
        ("direction", _turned(claim.claim, claim.sentences[place], words)),
        ("number", _renumbered(claim, rng)),
    ):
        if not turned:
            continue
        text, other = turned
        sentences = (
            tuple(other(s) for s in claim.sentences)
            if kind == "number"
            else tuple(other(s) if n == place else s for n, s in enumerate(claim.sentences))
        )
        made = replace(claim, claim=text, title="", sentences=sentences, label=SUPPORTS)
        yield Made(made, f"both {kind}")


_Turn = tuple[str, Callable[[str], str]]


def _turned(claim: str, sentence: str, words: Sequence[str]) -> _Turn | None:
    pattern = build_word_pattern(words)
    shared = [m[0].lower() for m in pattern.finditer(claim)]
    shared = [w for w in shared if w in {m[0].lower() for m in pattern.finditer(sentence)}]
    if not shared:
        return None
    word = shared[0]
    other = next(b if a == word else a for a, b in load_words().opposites if word in (a, b))

    def turn(text: str) -> str:
        return build_word_pattern([word]).sub(other, text)

    return turn(claim), turn


def _renumbered(claim: LabelledClaim, rng: random.Random) -> _Turn | None:
    text = change_number(claim.claim, rng)
    if not text:
        return None
    before, after = _NUMBER.findall(claim.claim), _NUMBER.findall(text)
    changed = {a: b for a, b in zip(before, after, strict=False) if a != b}
    if len(before) != len(after) or not changed.keys() <= set(
        _NUMBER.findall(" ".join(claim.sentences))
    ):
        return None
    return text, lambda sentence: _NUMBER.sub(lambda m: changed.get(m[0], m[0]), sentence)
