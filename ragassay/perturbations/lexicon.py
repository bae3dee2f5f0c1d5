"""Text pools and word lists for the attacks, and grammatical word replacement."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Literal, NamedTuple

import yaml
from pydantic import Field

from ragassay.records.base import Frozen

Side = Literal["fit", "audit"]
PoolName = Literal["off_topic", "blog", "tweet", "injection", "questions"]


class Genre(Frozen):
    """Texts of one kind, and whether they are used to fit or to audit judges (the side)."""

    side: Side
    texts: tuple[str, ...] = Field(min_length=2)


class Drawn(NamedTuple):
    """A drawn text and its genre."""

    text: str
    genre: str


@functools.cache
def load_pool(name: PoolName) -> dict[str, Genre]:
    """Return the genres of a pool of texts, keyed by name."""
    genres = yaml.safe_load(read_data_file(f"pools/{name}.yaml"))
    return {name: Genre.model_validate(genre) for name, genre in genres.items()}


def draw_text(name: PoolName, side: Side, rng: random.Random, genre: str = "") -> Drawn:
    """Draw a genre of a side whose name starts with `genre`, and then a text of this genre."""
    pool = load_pool(name)
    genres = [g for g, texts in pool.items() if texts.side == side and g.startswith(genre)]
    chosen = rng.choice(genres)
    return Drawn(rng.choice(pool[chosen].texts), chosen)


def read_data_file(path: str) -> str:
    """Read a data file of this package."""
    return files("ragassay.perturbations").joinpath(path).read_text("utf-8")


class WordLists(Frozen):
    """The content of `words.yaml`.

    Attributes:
        also_nouns: Third-person verb forms that are also plural nouns.
    """

    opposites: tuple[tuple[str, str], ...]
    populations: dict[str, tuple[str, ...]]
    hedges: dict[str, str]
    verbs: tuple[str, ...]
    also_nouns: frozenset[str]
    uncountable: frozenset[str]


@functools.cache
def load_words() -> WordLists:
    """Return the word lists for the attacks."""
    return WordLists.model_validate(yaml.safe_load(read_data_file("words.yaml")))


@functools.cache
def load_drugs() -> dict[str, tuple[str, ...]]:
    """Return drug and treatment names, keyed by class."""
    return {
        name: tuple(drugs) for name, drugs in yaml.safe_load(read_data_file("drugs.yaml")).items()
    }


def build_word_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return a case-insensitive pattern for whole words and phrases, longest first."""
    longest = sorted(map(re.escape, words), key=len, reverse=True)
    return re.compile(rf"(?<![\w/-])(?:{'|'.join(longest)})(?![\w/-])", re.IGNORECASE)


_FUNCTION_WORDS = frozenset(
    "a an the this these that those it its they their we our he she there in on at by for from of "
    "to with as both each all some many most several such other others one two three when while "
    "if although because since during after before among between however no not".split()
)
_NAME = re.compile(r"[A-Z][a-z]+(?:'s)? [A-Z][a-z]|[A-Z][a-z]+'s ")
_AN = re.compile(r"(?:[aeio]|u(?!ni|se|til))", re.IGNORECASE)
_ARTICLE_CHARS = 16
_ARTICLE = re.compile(r"(?<!\w)(an?)(\s+)$", re.IGNORECASE)


def copy_capitals(model: str, word: str) -> str:
    """Capitalize `word` like `model`: its first letter, all letters or none.

    Example:
        >>> [copy_capitals(word, "lower") for word in ("Higher", "HIGHER", "higher")]
        ['Lower', 'LOWER', 'lower']
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def decapitalise(sentence: str, known: str) -> str:
    """Lowercase the first letter of a sentence, unless it starts with a name or an acronym.

    A word that occurs in lower case in the text `known` is not a name.
    """
    first = re.match(r"[^\W\d_]+(?!\w|-[^a-z])", sentence)
    if not first or (len(first[0]) > 1 and not first[0][1:].islower()):
        return sentence
    word, small = first[0], first[0].lower()
    is_word = small in _FUNCTION_WORDS or re.search(rf"(?<![\w-]){small}(?![\w-])", known)
    # A name is capitalized within a sentence, or before another name.
    is_name = re.search(rf"[a-z,] {word}(?![\w-])", known) or _NAME.match(sentence)
    return sentence if is_name and not is_word else small + sentence[len(small) :]


def replace_words(text: str, start: int, end: int, other: str) -> str:
    """Replace part of a text and adjust a preceding "a" or "an".

    Example:
        >>> replace_words("Shows an increase.", 9, 17, "decrease")
        'Shows a decrease.'
    """
    left = text[:start]
    article = _ARTICLE.search(left, max(0, start - _ARTICLE_CHARS))
    if article and other:
        fitting = copy_capitals(article[1], "an" if _AN.match(other) else "a")
        left = left[: article.start()] + fitting + article[2]
    return left + other + text[end:]
