"""Similarity of two texts: BLEU, ROUGE, METEOR, NIST, word error rate, optimal transport."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

from ragassay.extras import need
from ragassay.text.sentences import sentences_of

if TYPE_CHECKING:
    import numpy as np
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from numpy.typing import NDArray
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU


NIST_ORDER = 5
"""Longest n-gram that NIST counts, as in mteval-v13a."""

TextMeasure = Callable[[str, str], float | None]
"""A function of reference and candidate."""


@dataclass(frozen=True)
class SimilarityKind:
    """A measure of similarity, with its key on the command line and in files.

    Attributes:
        scale: Least and greatest value; infinity where there is no greatest.
        lower_is_better: Whether the least value means the most alike.
        is_symmetric: Whether reference and candidate can be swapped.
    """

    key: str
    title: str
    scale: tuple[float, float]
    lower_is_better: bool = False
    is_symmetric: bool = False


SIMILARITY_KINDS: Mapping[str, SimilarityKind] = {
    kind.key: kind
    for kind in (
        SimilarityKind("bleu", "BLEU", (0.0, 1.0)),
        SimilarityKind("rouge1", "ROUGE-1 (F1)", (0.0, 1.0), is_symmetric=True),
        SimilarityKind("rougeL", "ROUGE-L (F1)", (0.0, 1.0), is_symmetric=True),
        SimilarityKind("meteor", "METEOR", (0.0, 1.0)),
        SimilarityKind("nist", "NIST", (0.0, math.inf)),
        SimilarityKind("bertscore", "BERTScore (F1)", (-1.0, 1.0), is_symmetric=True),
        SimilarityKind("wer", "Word error rate", (0.0, math.inf), lower_is_better=True),
        SimilarityKind(
            "wmd", "Word mover's distance", (0.0, 2.0), lower_is_better=True, is_symmetric=True
        ),
        SimilarityKind("moverscore", "MoverScore", (1 / 3, 1.0), is_symmetric=True),
    )
}
"""The paper's eight measures by their keys; it counts ROUGE-1 and ROUGE-L as one."""


def bleu_score(reference: str, candidate: str) -> float | None:
    """Return the precision of the candidate's n-grams up to four, times a penalty for brevity.

    By sacrebleu: tokens of mteval-v13a, case kept, exponential smoothing, and only the orders of
    n-grams that the texts are long enough for (Papineni et al. 2002).

    Returns:
        In [0, 1], higher is more alike; None where a text has no word.
    """
    if not (reference.split() and candidate.split()):
        return None
    # A sum of logarithms can end slightly above 100.
    return min(1.0, _bleu().sentence_score(candidate, [reference]).score / 100)


def rouge1_score(reference: str, candidate: str) -> float | None:
    """Return the F1 of the words that two texts share (Lin 2004), stemmed, by rouge-score.

    The paper does not say which of precision, recall and F1 it shows; F1 is what most report.

    Returns:
        In [0, 1], higher is more alike; None where a text has no word.
    """
    return _rouge("rouge1", reference, candidate)


def rouge_l_score(reference: str, candidate: str) -> float | None:
    """Return the F1 of the longest common subsequence of words (Lin 2004), stemmed, by rouge-score.

    Returns:
        In [0, 1], higher is more alike; None where a text has no word.
    """
    return _rouge("rougeL", reference, candidate)


def meteor_score(reference: str, candidate: str) -> float | None:
    """Align words by form, stem and synonym, recall first (Banerjee and Lavie 2005), by nltk.

    Synonyms come from WordNet, which nltk does not include: where it is not installed
    (`has_synonyms`), only forms and stems are aligned. The alignment is nltk's: from the last word
    on, each takes the last free match. The paper takes, of the largest alignments, the one with
    the fewest crossings: where a word stands several times, nltk may count more chunks, and the
    value is then lower.

    Returns:
        In [0, 1], higher is more alike; None where a text has no word. A text against itself is
        slightly below 1: its one chunk of n words costs 0.5 / n^3.
    """
    need("nltk")
    from nltk.translate.meteor_score import single_meteor_score

    first, second = _tokens(reference), _tokens(candidate)
    if not (first and second):
        return None
    return float(single_meteor_score(first, second, wordnet=_synonyms()[0]))


def has_synonyms() -> bool:
    """Return whether METEOR aligns synonyms here: nltk's WordNet is installed."""
    return _synonyms()[1]


def nist_score(reference: str, candidate: str) -> float | None:
    """Return the precision of n-grams up to five, weighted by information (Doddington 2002; nltk).

    The weights are counted in the reference itself, so a reference that repeats its words gives low
    values, even with itself. Tokens of mteval-v13a in lower case.

    Returns:
        At least 0 and without upper bound (bits a word), higher is more alike; None where a text
        has no word. For a candidate shorter than five words, n-grams up to its length.
    """
    need("nltk")
    from nltk.translate.nist_score import sentence_nist

    first, second = _tokens(reference.lower()), _tokens(candidate.lower())
    if not (first and second):
        return None
    return float(sentence_nist([first], second, n=min(NIST_ORDER, len(second))))


def word_error_rate(reference: str, candidate: str) -> float | None:
    """Return the words to insert, delete and replace, per word of the reference, by jiwer.

    Words are separated by white space and compared as written.

    Returns:
        At least 0, above 1 for a long candidate, lower is more alike; None where a text has no
        word.
    """
    need("jiwer")
    import jiwer

    first, second = " ".join(reference.split()), " ".join(candidate.split())
    return float(jiwer.wer(first, second)) if first and second else None


TEXT_MEASURES: Mapping[str, TextMeasure] = {
    "bleu": bleu_score,
    "rouge1": rouge1_score,
    "rougeL": rouge_l_score,
    "meteor": meteor_score,
    "nist": nist_score,
    "wer": word_error_rate,
}
"""The measures that need no model, by their keys."""


class _NoSynonyms:
    """Stands in for WordNet: no word has a synonym."""

    def synsets(self, word: str) -> tuple[()]:
        return ()


@cache
def _synonyms() -> tuple[WordNetCorpusReader, bool]:
    need("nltk")
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return cast("WordNetCorpusReader", _NoSynonyms()), False
    return cast("WordNetCorpusReader", wordnet), True


@cache
def _bleu() -> BLEU:
    need("sacrebleu")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)


@cache
def _rouge_scorer() -> RougeScorer:
    need("rouge_score")
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge1", "rougeL"], use_stemmer=True)


def _rouge(kind: str, reference: str, candidate: str) -> float | None:
    if not (reference.split() and candidate.split()):
        return None
    return float(_rouge_scorer().score(reference, candidate)[kind].fmeasure)


def words_of(text: str) -> list[str]:
    """Return the words and punctuation marks of a text in lower case, by nltk's word tokenizer.

    As YESciEval's program; sentences are found by our own rules, as nltk's need a download.

    Example:
        >>> words_of("It doesn't help. (Much.)")
        ['it', 'does', "n't", 'help', '.', '(', 'much', '.', ')']
    """
    need("nltk")
    from nltk.tokenize import NLTKWordTokenizer

    tokenizer = NLTKWordTokenizer()
    return [word for part in sentences_of(text.lower()) for word in tokenizer.tokenize(part)]


def _tokens(text: str) -> list[str]:
    need("sacrebleu")
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    return Tokenizer13a()(text).split()


MOST_STEPS = 1_000_000
"""Steps of the network simplex; texts of 500 words take a few thousand."""


def inverse_document_frequencies(documents: Sequence[Iterable[int]]) -> dict[int, float]:
    """Return how rare each token is: log((N + 1) / (n + 1)) for a token of n among N documents.

    At least 0; 0 for a token of every document.
    """
    counts = Counter(token for document in documents for token in set(document))
    return {token: math.log((len(documents) + 1) / (n + 1)) for token, n in counts.items()}


def rarity_weights(ids: Sequence[int], frequencies: Mapping[int, float]) -> NDArray[np.float64]:
    """Return weights of a text's tokens, shape (n_tokens,), that sum to 1.

    Frequencies are from `inverse_document_frequencies` over the compared texts. Weights are equal
    where every token is in every document.
    """
    import numpy as np

    weights = np.array([frequencies[token] for token in ids], dtype=float)
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / max(1, len(weights)))


def transport_distance(
    first: NDArray[np.floating],
    second: NDArray[np.floating],
    first_weights: NDArray[np.float64] | None = None,
    second_weights: NDArray[np.float64] | None = None,
) -> float | None:
    """Return the least mean distance over which one cloud of vectors can be moved onto another.

    min over T of sum T_ij |x_i - y_j|, where T's rows and columns sum to the weights: word mover's
    distance (Kusner et al. 2015).

    Args:
        first: shape (n, n_dimensions).
        second: shape (m, n_dimensions).
        first_weights: shape (n,), summing to 1; None for equal ones.
        second_weights: shape (m,), summing to 1; None for equal ones.

    Returns:
        At least 0, for vectors of length 1 at most 2; 0 for equal clouds, None where either is
        empty.
    """
    if not (len(first) and len(second)):
        return None
    import numpy as np
    from scipy.spatial.distance import cdist

    need("ot")
    from ot import emd2

    one, two = (
        np.full(len(cloud), 1 / len(cloud)) if given is None else given
        for cloud, given in ((first, first_weights), (second, second_weights))
    )
    distances = cdist(first.astype(float), second.astype(float))
    return float(cast("float", emd2(one, two, distances, numItermax=MOST_STEPS)))


def mover_score(distance: float | None) -> float | None:
    """Turn a transport distance into MoverScore's similarity: 1 / (1 + distance).

    The paper on MoverScore (Zhao et al. 2019) gives the distance; its authors' second release
    converts it this way, which YESciEval's values of about .62 suggest it used.

    Args:
        distance: Between words weighted by rarity, in [0, 2].

    Returns:
        In [1/3, 1], higher is more alike.

    Example:
        >>> mover_score(1.0)
        0.5
    """
    return None if distance is None else 1 / (1 + distance)
