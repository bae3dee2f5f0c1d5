"""The words that clinical damage replaces, loaded once."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import yaml

from ragassay.perturbations.pools import data_text
from ragassay.records.base import Frozen


class WordLists(Frozen):
    """The content of `words.yaml`.

    Attributes:
        opposites: Pairs; each word is replaced by the other.
        populations: A studied population, and another that might have been studied.
        hedges: A cautious wording, and a certain one.
        verbs: Base forms.
        also_nouns: Third persons that are plural nouns as well.
        uncountable: Nouns that take no "a".
    """

    opposites: tuple[tuple[str, str], ...]
    populations: dict[str, tuple[str, ...]]
    hedges: dict[str, str]
    verbs: tuple[str, ...]
    also_nouns: frozenset[str]
    uncountable: frozenset[str]


@functools.cache
def load_words() -> WordLists:
    """Return all words."""
    return WordLists.model_validate(yaml.safe_load(data_text("words.yaml")))


@functools.cache
def load_drugs() -> dict[str, tuple[str, ...]]:
    """Return names of drugs and treatments by class."""
    return {name: tuple(drugs) for name, drugs in yaml.safe_load(data_text("drugs.yaml")).items()}


def any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Match whole words and phrases, the longest first, ignoring case."""
    longest = sorted(map(re.escape, words), key=len, reverse=True)
    return re.compile(rf"(?<![\w/-])(?:{'|'.join(longest)})(?![\w/-])", re.IGNORECASE)
