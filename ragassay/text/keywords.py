"""Extract keywords with TopicRank from noun phrases, which TextBlob's tagger finds."""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragassay.text.tagger import tag_words

_OTHERS = frozenset(
    "more most less least few fewer little much many several various other others such same own "
    "certain different similar first second third next last due able unable possible suitable "
    "available necessary important interesting entire whole new good better best main major "
    "current recent present previous further high higher highest low lower lowest large larger "
    "largest small smaller smallest great greater greatest long longer short shorter use show "
    "need obtains exhibit exhibits increase increases decrease decreases addition aim aims amount "
    "amounts author authors case cases equation example examples fact fig figs figure figures "
    "instance kind kinds lot number numbers order paper part parts result results section sort "
    "study studies table tables term terms thing things value values view way ways work works "
    "day days hour hours time times today year years al ca cf eq eqs ref refs vs via "
    "cm hz kg km mg ml mm mol min nm ppb ppm rpm vol wt".split()
)
"""Adjectives and nouns without specific meaning, and other words that are tagged as nouns."""

N_KEYWORDS = 20
"""Default number of keywords, as in SciQAG (Wan et al. 2024, section 3.1)."""

CUT_DISTANCE = 0.74
"""Distance above which topics are separated. As in pke, candidates of a topic share 1/4 of their
stems."""

DAMPING = 0.85
_N_ROUNDS = 120
"""Number of steps after which ranks change by less than 1e-8, because 0.85^120 < 1e-8."""

_MOST_WORDS = 5
_MOST_CANDIDATES = 4_000
_BLOCK = 256
_PHRASE = re.compile("[na]+")
"""Matches a noun phrase in a text in which each letter is the kind of a word. `[na]*n` would take
quadratic time on adjectives."""

_TOKEN = re.compile(r"[^\W_]+(?:[-\u2010\u2011'\u2019][^\W_]+)*|[^\w\s]|_")


@dataclass
class Candidate:
    """A noun phrase that may be a keyword, with all its inflected forms.

    Attributes:
        starts: Indexes of the words in the text at which the phrase starts.
        forms: Number of occurrences of each spelling of the phrase.
    """

    stems: tuple[str, ...]
    starts: list[int] = field(default_factory=list[int])
    forms: Counter[str] = field(default_factory=Counter[str])


def find_keywords(text: str, n: int = N_KEYWORDS) -> tuple[str, ...]:
    """Return up to `n` keywords from an English text, spelled as in the text, best first.

    Only the first 4,000 candidates are ranked. A text without nouns has no keywords.

    Example:
        >>> find_keywords("The glucose sensor is new. A glucose sensor has a membrane.", 2)
        ('glucose sensor', 'membrane')
    """
    candidates = find_candidates(text)
    if not candidates:
        return ()
    topics = find_topics(candidates)
    ranks = pagerank(compute_topic_weights(candidates, topics))
    # Candidates are in text order, so this is the first candidate of each topic.
    first = np.unique(topics, return_index=True)[1]
    best = sorted(range(len(first)), key=lambda topic: (-ranks[topic], first[topic]))
    return tuple(candidates[first[topic]].forms.most_common(1)[0][0] for topic in best[:n])


def find_candidates(text: str) -> list[Candidate]:
    """Return the longest sequences of nouns and adjectives that end in a noun."""
    words = [match.group() for match in _TOKEN.finditer(text)]
    kinds = "".join(map(_classify_word, words, tag_words(words)))
    candidates: dict[tuple[str, ...], Candidate] = {}
    for run in _PHRASE.finditer(kinds):
        phrase = words[run.start() : run.start() + len(run[0].rstrip("a"))]
        if len(phrase) > _MOST_WORDS or sum(map(len, phrase)) < 3:
            continue
        stems = tuple(_stem_word(_lower(word)) for word in phrase)
        candidate = candidates.setdefault(stems, Candidate(stems))
        candidate.starts.append(run.start())
        candidate.forms[" ".join(map(_lowercase_word, phrase))] += 1
    return list(candidates.values())[:_MOST_CANDIDATES]


def _classify_word(word: str, tag: str) -> str:
    """Return "n" for a noun, "a" for an adjective, and "x" for a word outside noun phrases."""
    if len(word) < 2 or not any(map(str.isalpha, word)) or _lower(word) in _OTHERS:
        return "x"
    return {"NN": "n", "JJ": "a"}.get(tag[:2], "x")


def _lowercase_word(word: str) -> str:
    """Lowercase a word unless it is a name or symbol: "Glucose" becomes "glucose", "NMR" stays."""
    return word.lower() if word[1:].islower() and word[0].isupper() else word


def _lower(word: str) -> str:
    return word.lower().replace("\u2019", "'").removesuffix("'s")


@functools.lru_cache(maxsize=50_000)
def _stem_word(word: str) -> str:
    import snowballstemmer

    return str(snowballstemmer.stemmer("english").stemWord(word))


def find_topics(candidates: list[Candidate]) -> NDArray[np.intp]:
    """Cluster the candidates into topics, and return the 0-based topic of each candidate."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.sparse import csr_array
    from scipy.spatial.distance import squareform

    if len(candidates) == 1:
        return np.zeros(1, dtype=np.intp)
    columns: dict[str, int] = {}
    rows, used = zip(
        *{
            (row, columns.setdefault(stem, len(columns)))
            for row, one in enumerate(candidates)
            for stem in one.stems
        },
        strict=True,
    )
    stems = csr_array((np.ones(len(rows), dtype=np.float32), (rows, used)))
    shared = (stems @ stems.T).toarray()
    sizes = shared.diagonal()
    distance = 1 - shared / (sizes[:, None] + sizes - shared)
    tree = linkage(squareform(distance, checks=False), method="average")
    return fcluster(tree, t=CUT_DISTANCE, criterion="distance").astype(np.intp) - 1


def compute_topic_weights(
    candidates: list[Candidate], topics: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the weights between topics: sums of the inverse distances of their candidates."""
    starts = np.array([start for one in candidates for start in one.starts])
    n_words = np.array([len(one.stems) for one in candidates for _ in one.starts])
    owner = np.repeat(topics, [len(one.starts) for one in candidates])
    order = np.argsort(owner, kind="stable")
    starts, n_words, owner = starts[order], n_words[order], owner[order]
    edges = np.flatnonzero(np.r_[True, np.diff(owner) > 0])
    weights = np.zeros((len(edges), len(edges)))
    for begin in range(0, len(starts), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        gap = starts[None, :] - starts[rows, None]
        earlier = np.where(gap > 0, n_words[rows, None], n_words[None, :])
        near = 1 / np.maximum(1, np.abs(gap) - earlier + 1)
        np.add.at(weights, owner[rows], np.add.reduceat(near, edges, axis=1))
    np.fill_diagonal(weights, 0)
    return weights


def pagerank(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the PageRank of each node in a weighted graph. The ranks sum to 1.

    The weights have shape (n, n) and are not negative. A node without edges links to all nodes.
    """
    n = len(weights)
    sums = weights.sum(axis=1, keepdims=True)
    steps = np.divide(weights, sums, out=np.full_like(weights, 1 / n), where=sums > 0)
    ranks = np.full(n, 1 / n)
    for _ in range(_N_ROUNDS):
        ranks = (1 - DAMPING) / n + DAMPING * (ranks @ steps)
    return ranks
