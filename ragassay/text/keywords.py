"""Extract keywords with TopicRank. Word lists and word endings identify the noun phrases."""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

WordKind = Literal["noun", "adjective", "participle", "opener", "other"]
"""Role of a word in a noun phrase. An "opener" may precede a phrase: an article, a preposition or
"and"."""

_OPENERS = frozenset(
    "a an the this that these those its their our your his her each every any some no all both "
    "several many various such of in on at by for with from into onto between among through "
    "during under over without within via per and or as to using than like including against "
    "across upon after before one two three four five six seven eight nine ten".split()
)
_OTHERS = frozenset(
    "i we you he she it they them us me him who whom whose which what when where why how there "
    "here is are was were be been being am has have had having do does did done doing can could "
    "may might must shall should will would not nor but if because while whereas although though "
    "however therefore thus hence moreover furthermore also then so yet only just even still "
    "very more most less least much few fewer little other another others same own too quite "
    "rather almost already again often always never ever once twice later further about above "
    "below around near out off up down until since due whether either neither else instead "
    "together well as e.g i.e etc vs et al cf ca fig figs figure figures table tables eq eqs "
    "equation ref refs section respectively according based given able unable first second third "
    "last next new good better best different certain possible many "
    "present previous recent current main major similar high higher highest low lower lowest "
    "large larger largest small smaller smallest great greater greatest long longer short "
    "shorter important interesting suitable available necessary whole entire "
    "become becomes became give gives gave take takes took taken make makes made get gets got "
    "show shows showed shown find finds found see sees saw seen use uses used know known "
    "lead leads led keep keeps kept seem seems think say says said go goes went come comes came "
    "begin begins began begun allow allows let means consist consists contain contains remain "
    "remains require requires provide provides need needs depend depends involve involves occur "
    "occurs suggest suggests indicate indicates describe describes demonstrate demonstrates "
    "reveal reveals represent represents appear appears belong belongs obtain obtains achieve "
    "achieves exhibit exhibits possess possesses enable enables follow follows include includes "
    "increase increases decrease decreases reduce reduces produce produces arise arises correspond "
    "corresponds perform carry carries carried employ employs apply applies compare confirm "
    "confirms explain explains assume assumes believe consider considers determine determines "
    "improve improves investigate examine lie lies serve serves propose proposes "
    "written put set run ran held built fell grew grown rose risen chosen dried "
    "way ways case cases fact kind kinds sort lot aim aims order thing things part parts "
    "example examples instance author authors paper work works study studies result results "
    "use addition terms term view number numbers amount amounts value values day days year "
    "years hour hours time times today mm cm nm km mg kg ml mol ppm ppb rpm min hz wt vol".split()
)
"""Function words, verbs that are not nouns, and nouns without specific meaning."""

_NO_ADVERBS = frozenset("family assembly anomaly supply reply fly monopoly".split())
_ADJECTIVE_ENDINGS = tuple("al ic ous ive able ible ful less ary ish esque oid".split())
_ADJECTIVES = frozenset(
    "significant relevant different efficient sufficient consistent dependent independent apparent "
    "constant dominant abundant resistant convenient excellent subsequent frequent permanent "
    "prominent equivalent transparent inherent persistent coherent adjacent transient elegant "
    "low-cost strong weak simple complex rapid fast slow wide broad narrow deep thick thin "
    "hard soft hot cold warm dry wet pure clean fresh raw rich poor heavy light clear "
    "early late old young common rare full empty free safe sensitive stable accurate precise "
    "appropriate adequate complete absolute relative".split()
)
_NOUNS_LIKE_THEM = frozenset(
    "signal metal material crystal animal interval trial potential mineral chemical hospital "
    "capital total arsenal journal individual approval removal survival arrival renewal withdrawal "
    "manual protocol alcohol rival betrayal proposal referral denial menthol "
    "clinic topic plastic ceramic antibiotic arsenic fabric metric mechanic logic panic critic "
    "traffic music magic epidemic pandemic academic basic statistic characteristic dynamic "
    "additive derivative adhesive preservative alternative objective initiative motive olive "
    "representative native archive drive hive "
    "table variable vegetable cable library boundary summary itinerary salary estuary "
    "fish dish radish finish polish british "
    "steroid thyroid asteroid colloid alkaloid opioid amyloid cannabinoid".split()
)
_NO_PARTICIPLES = frozenset(
    "bed speed feed seed need breed weed reed shed red hundred indeed embed kindred biomed "
    "king ring ping thing string spring wing sting bring morning evening ceiling sibling".split()
)


def classify_word(word: str) -> WordKind:
    """Return the role of a word in a noun phrase, or "other" for words that occur in none.

    The word must be in lower case. The last part of a hyphenated compound determines its role.

    Example:
        >>> [classify_word(word) for word in ("electrode", "optical", "modified", "the", "rapidly")]
        ['noun', 'adjective', 'participle', 'opener', 'other']
    """
    if word in _OPENERS:
        return "opener"
    if word in _OTHERS or not any(c.isalpha() for c in word) or len(word) < 2:
        return "other"
    last = word.rpartition("-")[2]
    if last.endswith("ly") and last not in _NO_ADVERBS and len(last) > 4:
        return "other"
    if last.endswith("ed") and len(last) > 4 and last not in _NO_PARTICIPLES:
        return "adjective" if last != word else "participle"
    has_ending = last.endswith(_ADJECTIVE_ENDINGS) and last not in _NOUNS_LIKE_THEM
    return "adjective" if last in _ADJECTIVES or (has_ending and len(last) > 4) else "noun"


N_KEYWORDS = 20
"""Default number of keywords, as in SciQAG (Wan et al. 2024, section 3.1)."""

CUT_DISTANCE = 0.74
"""Distance above which topics are separated. As in pke, candidates of a topic share 1/4 of their
stems."""

DAMPING = 0.85
_TOLERANCE = 1e-9
_MOST_ROUNDS = 200
_MOST_WORDS = 5
_MOST_CANDIDATES = 4_000
_BLOCK = 256
_KIND_LETTERS = {"noun": "n", "adjective": "a", "participle": "p", "opener": "o", "other": "x"}
_RUN = re.compile("(?<![^o])p[na]*|[na]+")
"""Matches a noun phrase in a text in which each letter is the role of a word. A participle may
start it only after an opener."""

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
    kinds = "".join(_KIND_LETTERS[classify_word(_lower(word))] for word in words)
    candidates: dict[tuple[str, ...], Candidate] = {}
    for run in _RUN.finditer(kinds):
        phrase = words[run.start() :][: len(run[0].rstrip("ap"))]
        if len(phrase) > _MOST_WORDS or sum(map(len, phrase)) < 3:
            continue
        stems = tuple(_stem_word(_lower(word)) for word in phrase)
        candidate = candidates.setdefault(stems, Candidate(stems))
        candidate.starts.append(run.start())
        candidate.forms[" ".join(map(_lowercase_word, phrase))] += 1
    return list(candidates.values())[:_MOST_CANDIDATES]


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
    for _ in range(_MOST_ROUNDS):
        new = (1 - DAMPING) / n + DAMPING * (ranks @ steps)
        if np.abs(new - ranks).sum() < _TOLERANCE:
            return new
        ranks = new
    return ranks
