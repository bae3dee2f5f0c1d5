"""Features of sentences: similarities, style, and content missing from the sources."""

from __future__ import annotations

import functools
import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.text.quantities import extract_numbers
from ragassay.text.search import tokenize

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Placed:
    """Vectors of an answer and its sources.

    Attributes:
        sentences: Answer sentences, shape (n_sentences, n_dimensions).
        question: Question, shape (n_dimensions,).
        sources: Sentences of all sources, shape (n_source_sentences, n_dimensions).
        owner: Index of the source that contains each source sentence, shape (n_source_sentences,).
        cited: Indices of the cited sources of each answer sentence.
    """

    sentences: Vectors
    question: Vectors
    sources: Vectors
    owner: NDArray[np.intp]
    cited: Sequence[Sequence[int]]

    @functools.cached_property
    def nearness(self) -> Vectors:
        """Cosines between answer and source sentences, shape (n_sentences, n_source_sentences)."""
        if not len(self.sources):
            return np.zeros((len(self.sentences), 0), dtype=np.float32)
        return self.sentences @ self.sources.T


def measure_geometry(placed: Placed) -> dict[str, list[float | None]]:
    """Return each measure with one value per sentence, or None if not applicable.

    Each measure is the cosine between the sentence and:

    - source_support: the closest source sentence
    - cited_support: the closest sentence in the cited sources
    - question_relevance: the question
    - redundancy: the most similar other sentence of the answer
    - belonging: the other sentences of the answer (mean cosine)
    - flow: the previous sentence
    """
    n = len(placed.sentences)
    among = placed.sentences @ placed.sentences.T
    np.fill_diagonal(among, np.nan)
    others = [row[~np.isnan(row)] for row in among]
    return {
        "source_support": [_find_maximum(row) for row in placed.nearness],
        "cited_support": [
            _find_maximum(row[np.isin(placed.owner, list(cited))]) if cited else None
            for row, cited in zip(placed.nearness, placed.cited, strict=True)
        ],
        "question_relevance": [float(v) for v in placed.sentences @ placed.question],
        "redundancy": [_find_maximum(row) for row in others],
        "belonging": [float(row.mean()) if len(row) else None for row in others],
        "flow": [None, *(float(among[i, i - 1]) for i in range(1, n))] if n else [],
    }


def find_twins(placed: Placed) -> list[int | None]:
    """Return, for each sentence, the number (from 1) of the most similar other one, or None."""
    among = placed.sentences @ placed.sentences.T
    np.fill_diagonal(among, -np.inf)
    return [int(row.argmax()) + 1 if len(row) > 1 else None for row in among]


def measure_coverage(placed: Placed) -> list[float]:
    """Return the highest cosine between each source sentence and a sentence of the answer."""
    if not len(placed.sentences) or not len(placed.sources):
        return []
    return [float(v) for v in placed.nearness.max(axis=0)]


def _find_maximum(row: Vectors) -> float | None:
    return float(row.max()) if len(row) else None


_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_OPENING = re.compile(r"[A-Za-z]+|,")
_TAG = re.compile(r"(?:^|\s)[#@]\w+")
_DEFINED = re.compile(r"\(([A-Z][A-Za-z0-9-]{1,9}?)s?\)")

CONNECTIVES = frozenset(
    # Coordinators, subordinators and relatives.
    "and or but nor yet so because although though while whereas since unless if when as that "
    "which who whose where both either neither than including such for "
    # Adverbs that join sentences.
    "however therefore thus hence moreover furthermore additionally consequently nevertheless "
    "nonetheless meanwhile likewise similarly instead otherwise also then finally overall".split()
)
"""Closed-class English words that join clauses and sentences (Huddleston and Pullum 2002, chapters
11, 12 and 15). Only single words are included."""

N_GRAM = 3
"""Number of consecutive words that form a repetition if they occur again."""


def extract_opening(sentence: str) -> list[str]:
    """Return the first words and word pairs of a sentence in lower case.

    A comma counts as a word.
    """
    words = [w.lower() for w in _OPENING.findall(" ".join(sentence.split()[:3]))]
    return [*words, *(f"{a} {b}" for a, b in itertools.pairwise(words))]


def measure_connectives(sentences: Sequence[str]) -> float:
    """Return the mean number of connectives per sentence, or 0 if there are no sentences."""
    n = sum(word.lower() in CONNECTIVES for s in sentences for word in _WORD.findall(s))
    return n / len(sentences) if sentences else 0.0


def measure_repetition(sentences: Sequence[str]) -> float:
    """Return log(1 + n), where n is the number of repeated three-word sequences."""
    grams: Counter[tuple[str, ...]] = Counter()
    for sentence in sentences:
        words = [word.lower() for word in _WORD.findall(sentence)]
        grams.update(tuple(words[i : i + N_GRAM]) for i in range(len(words) - N_GRAM + 1))
    return math.log1p(sum(grams.values()) - len(grams))


def register_features(sentence: str) -> dict[str, float]:
    """Return spelling features (shares or counts) that separate chat from scholarly prose."""
    words = _WORD.findall(sentence)
    n = max(1, len(words))
    marks = Counter(unicodedata.category(c) for c in sentence)
    return {
        "pictures": min(3.0, marks["So"] + marks["Sk"]),
        "tags": min(3.0, float(len(_TAG.findall(sentence)))),
        "exclamations": min(3.0, float(sentence.count("!") + sentence.count("?"))),
        "trailing_dots": min(3.0, float(sentence.count("...") + sentence.count("\u2026"))),
        "dashes": min(3.0, float(sentence.count(" - ") + sentence.count("\u2014"))),
        "contractions": sum("'" in w or "\u2019" in w for w in words) / n,
        "capitals": sum(w.isupper() and len(w) > 3 for w in words) / n,
        "small_start": float(sentence[:1].islower()),
        "word_length": sum(len(w) for w in words) / n,
        "long_words": sum(len(w) > 8 for w in words) / n,
        "n_words": min(60.0, float(len(words))),
    }


def find_definitions(sentences: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Return which sentences define abbreviations, and which use those of other sentences.

    Both lists have shape (n_sentences,).
    """
    defined = [set(_DEFINED.findall(s)) for s in sentences]
    known = set().union(*defined) if defined else set()
    uses = [
        any(re.search(rf"\b{re.escape(name)}s?\b", s) for name in known - own)
        for s, own in zip(sentences, defined, strict=True)
    ]
    return [bool(own) for own in defined], uses


_NAME = re.compile(r"\b(?:[A-Za-z]*\d[\w-]*|[A-Z]{2,}[\w-]*|[a-z]+[A-Z]\w*)\b")


def extract_names(text: str) -> set[str]:
    """Return the words with inner capitals or digits, such as gene names, in lower case."""
    return {name.lower().rstrip("s") for name in _NAME.findall(text)}


class SourceFacts:
    """Numbers, names and words in texts, such as a question and its sources."""

    def __init__(self, texts: Iterable[str]) -> None:
        joined = "\n".join(texts)
        self._numbers, self._names = extract_numbers(joined), extract_names(joined)
        self._words = frozenset(tokenize(joined))

    def count_unknown_numbers(self, sentence: str) -> int:
        """Return how many numbers in a sentence do not occur in the texts."""
        return len(extract_numbers(sentence) - self._numbers)

    def count_unknown_names(self, sentence: str) -> int:
        """Return how many names in a sentence do not occur in the texts."""
        return len(extract_names(sentence) - self._names - self._numbers)

    def count_unknown_words(self, sentence: str) -> int:
        """Return how many word stems in a sentence do not occur in the texts."""
        return len(set(tokenize(sentence)) - self._words)
