"""Keywords of a text by TopicRank, without a tagger to download.

Bougouin, Boudin and Daille 2013 (IJCNLP, pages 543-551), whose implementation in pke is what SciQAG
uses: candidates are the longest runs of nouns and adjectives; those that share stems are one topic
(average linkage of Jaccard distances, cut at 0.74); the topics form a complete graph, weighted by
how close their candidates stand in the text; PageRank orders them, and a topic is told by the
candidate that appears first.

The difference: pke asks a tagger (spaCy's, a download) which words are nouns and adjectives, this
asks lists of words and endings.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragassay.text.word_kinds import kind_of_word

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_KEYWORDS = 20
"""As many as SciQAG takes (Wan et al. 2024, section 3.1)."""

CUT_DISTANCE = 0.74
"""Candidates of a topic share a quarter of their stems, as pke has it."""

DAMPING = 0.85
_TOLERANCE = 1e-9
_MOST_ROUNDS = 200
_MOST_WORDS = 5
_MOST_CANDIDATES = 4_000
_BLOCK = 256
_TOKEN = re.compile(r"[^\W_]+(?:[-\u2010\u2011'\u2019][^\W_]+)*|[^\w\s]|_")


@dataclass
class _Candidate:
    """A phrase, in whatever endings it occurs.

    Attributes:
        stems: Of its words.
        starts: Number of its first word in the text, for each occurrence.
        forms: How it is written, by how often.
    """

    stems: tuple[str, ...]
    starts: list[int] = field(default_factory=list[int])
    forms: Counter[str] = field(default_factory=Counter[str])


def find_keywords(text: str, n: int = N_KEYWORDS) -> tuple[str, ...]:
    """Return the keywords of a text, the best first.

    Args:
        text: English prose. Of more than 4,000 candidates the first 4,000 are ranked.
        n: The most that are returned.

    Returns:
        At most `n`, as the text writes them; none for a text without a noun.

    Example:
        >>> find_keywords("The glucose sensor is new. A glucose sensor has a membrane.", 2)
        ('glucose sensor', 'membrane')
    """
    import numpy as np

    candidates = _candidates(text)
    if not candidates:
        return ()
    topics = _topics(candidates)
    ranks = pagerank(_weights(candidates, topics))
    # The first candidate of each topic, since candidates are in the order of the text.
    first = np.unique(topics, return_index=True)[1]
    best = sorted(range(len(first)), key=lambda topic: (-ranks[topic], first[topic]))
    return tuple(_form(candidates[first[topic]]) for topic in best[:n])


def _form(candidate: _Candidate) -> str:
    return max(candidate.forms, key=lambda form: candidate.forms[form])


def _candidates(text: str) -> list[_Candidate]:
    """Return the longest runs of nouns and adjectives that end in a noun."""
    words = [match.group() for match in _TOKEN.finditer(text)]
    kinds = [kind_of_word(_lower(word)) for word in words]
    found: dict[tuple[str, ...], _Candidate] = {}
    start = 0
    while start < len(words):
        end = start
        while end < len(words) and _continues(kinds, start, end):
            end += 1
        last = end
        while last > start and kinds[last - 1] != "noun":
            last -= 1
        if last > start and last - start <= _MOST_WORDS:
            _add(found, words, start, last)
        start = max(end, start + 1)
    return list(found.values())[:_MOST_CANDIDATES]


def _continues(kinds: list[str], start: int, i: int) -> bool:
    """Return whether a word may stand in the run; a participle only where it opens one."""
    if kinds[i] in ("noun", "adjective"):
        return True
    opens = i == start and (i == 0 or kinds[i - 1] == "opener")
    return kinds[i] == "participle" and opens


def _add(found: dict[tuple[str, ...], _Candidate], words: list[str], start: int, end: int) -> None:
    phrase = words[start:end]
    if sum(map(len, phrase)) < 3:
        return
    stems = tuple(_stem(_lower(word)) for word in phrase)
    candidate = found.setdefault(stems, _Candidate(stems))
    candidate.starts.append(start)
    candidate.forms[" ".join(_plain(word) for word in phrase)] += 1


def _plain(word: str) -> str:
    """Return a word in lower case unless it is a name: "Glucose" but "HbA1c", "NMR"."""
    return word.lower() if word[1:].islower() and word[0].isupper() else word


def _lower(word: str) -> str:
    return word.lower().replace("\u2019", "'").removesuffix("'s")


@functools.lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    import snowballstemmer

    return str(snowballstemmer.stemmer("english").stemWord(word))


def _topics(candidates: list[_Candidate]) -> NDArray[np.intp]:
    """Return each candidate's topic, from 0."""
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.sparse import csr_array
    from scipy.spatial.distance import squareform

    if len(candidates) == 1:
        return np.zeros(1, dtype=np.intp)
    columns: dict[str, int] = {}
    sets = [sorted({columns.setdefault(s, len(columns)) for s in one.stems}) for one in candidates]
    sizes = np.array([len(one) for one in sets], dtype=np.float32)
    at = np.repeat(np.arange(len(sets)), sizes.astype(int))
    ones = np.ones(len(at), dtype=np.float32)
    stems = csr_array((ones, (at, np.concatenate(sets))), shape=(len(sets), len(columns)))
    shared = (stems @ stems.T).toarray()
    distance = 1 - shared / (sizes[:, None] + sizes[None, :] - shared)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), method="average")
    return fcluster(tree, t=CUT_DISTANCE, criterion="distance").astype(np.intp) - 1


def _weights(candidates: list[_Candidate], topics: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return how close each two topics stand: the sum of their candidates' inverse distances."""
    import numpy as np

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
    """Return the PageRank of the nodes of a weighted graph; they sum to 1.

    Args:
        weights: shape (n, n), not negative; a node without an edge leads to all alike.
    """
    import numpy as np

    n = len(weights)
    sums = weights.sum(axis=1, keepdims=True)
    steps = np.divide(weights, sums, out=np.full_like(weights, 1 / n), where=sums > 0)
    ranks = np.full(n, 1 / n)
    for _ in range(_MOST_ROUNDS):
        new = (1 - DAMPING) / n + DAMPING * (ranks @ steps)
        if np.abs(new - ranks).sum() < _TOLERANCE:
            return new
        ranks = new
    return ranks
