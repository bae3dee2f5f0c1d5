"""Measure text similarity with BLEU, ROUGE, METEOR, NIST, word error rate and mover distances."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

from ragassay.extras import need
from ragassay.text.sentences import extract_sentences

if TYPE_CHECKING:
    import numpy as np
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from numpy.typing import NDArray
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU


NIST_ORDER = 5
"""Maximum n-gram order of NIST, as in mteval-v13a."""

TextMeasure = Callable[[str, str], float | None]


@dataclass(frozen=True)
class SimilarityKind:
    """A similarity measure.

    Attributes:
        key: Name of the measure on the command line and in files.
        scale: Lowest and highest possible value. The highest value can be infinite.
        lower_is_better: Whether lower values mean more similar texts.
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
"""The eight similarity measures of YESciEval, keyed by name. YESciEval counts ROUGE-1 and ROUGE-L
as one measure."""


def bleu_score(reference: str, candidate: str) -> float | None:
    """Return sentence BLEU, computed by sacrebleu (Papineni et al. 2002).

    The score is case-sensitive and uses mteval-v13a tokens, exponential smoothing and effective
    n-gram order.

    Returns:
        A value in [0, 1], or None if a text has no words.
    """
    if not (reference.split() and candidate.split()):
        return None
    # Rounding errors can lead to values slightly above 100.
    return min(1.0, _build_bleu().sentence_score(candidate, [reference]).score / 100)


def rouge1_score(reference: str, candidate: str) -> float | None:
    """Return ROUGE-1 F1 of stemmed words, computed by rouge-score (Lin 2004).

    YESciEval does not specify whether it reports precision, recall or F1.

    Returns:
        A value in [0, 1], or None if a text has no words.
    """
    return _compute_rouge("rouge1", reference, candidate)


def rouge_l_score(reference: str, candidate: str) -> float | None:
    """Return ROUGE-L F1 of stemmed words in [0, 1] (Lin 2004), or None if a text has no words."""
    return _compute_rouge("rougeL", reference, candidate)


def meteor_score(reference: str, candidate: str) -> float | None:
    """Return METEOR, computed by NLTK (Banerjee and Lavie 2005).

    Words are aligned by form and stem, and by synonym if WordNet is installed (`has_synonyms`).
    NLTK aligns greedily from the last word, whereas the paper minimizes crossings. If words are
    repeated, the score can therefore be lower than in the paper.

    Returns:
        A value in [0, 1], or None if a text has no words. The value for identical texts of n words
        is 1 - 0.5 / n^3.
    """
    need("nltk")
    from nltk.translate.meteor_score import single_meteor_score

    first, second = _split_tokens(reference), _split_tokens(candidate)
    if not (first and second):
        return None
    return float(single_meteor_score(first, second, wordnet=_load_wordnet()[0]))


def has_synonyms() -> bool:
    """Return whether NLTK's WordNet is installed, which METEOR needs for synonyms."""
    return _load_wordnet()[1]


def nist_score(reference: str, candidate: str) -> float | None:
    """Return the NIST score with n-grams of up to five words, computed by NLTK (Doddington 2002).

    Texts are tokenized as in mteval-v13a and lowercased. The information weights of n-grams are
    computed from the reference, so that values are low for references with repeated words.

    Returns:
        A value in bits per word, which is at least 0, or None if a text has no words.
    """
    need("nltk")
    from nltk.translate.nist_score import sentence_nist

    first, second = _split_tokens(reference.lower()), _split_tokens(candidate.lower())
    if not (first and second):
        return None
    return float(sentence_nist([first], second, n=min(NIST_ORDER, len(second))))


def word_error_rate(reference: str, candidate: str) -> float | None:
    """Return the word error rate, computed by jiwer.

    Words are separated by whitespace, and their comparison is case-sensitive.

    Returns:
        A value of at least 0, which can exceed 1 for long candidates, or None if a text has no
        words.
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
"""Measures that work without a model, keyed by name."""


class _NoSynonyms:
    """Replacement for WordNet that contains no synonyms."""

    def synsets(self, word: str) -> tuple[()]:
        return ()


@cache
def _load_wordnet() -> tuple[WordNetCorpusReader, bool]:
    need("nltk")
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return cast("WordNetCorpusReader", _NoSynonyms()), False
    return cast("WordNetCorpusReader", wordnet), True


@cache
def _build_bleu() -> BLEU:
    need("sacrebleu")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)


@cache
def _build_rouge_scorer() -> RougeScorer:
    need("rouge_score")
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge1", "rougeL"], use_stemmer=True)


def _compute_rouge(kind: str, reference: str, candidate: str) -> float | None:
    if not (reference.split() and candidate.split()):
        return None
    return float(_build_rouge_scorer().score(reference, candidate)[kind].fmeasure)


def tokenize_words(text: str) -> list[str]:
    """Split a text into lower-case words and punctuation with NLTK's word tokenizer.

    The result is the same as in YESciEval's program, except that sentences are not split with NLTK,
    which would require a download.

    Example:
        >>> tokenize_words("It doesn't help. (Much.)")
        ['it', 'does', "n't", 'help', '.', '(', 'much', '.', ')']
    """
    need("nltk")
    from nltk.tokenize import NLTKWordTokenizer

    tokenizer = NLTKWordTokenizer()
    return [word for part in extract_sentences(text.lower()) for word in tokenizer.tokenize(part)]


def _split_tokens(text: str) -> list[str]:
    need("sacrebleu")
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    return Tokenizer13a()(text).split()


MOST_STEPS = 1_000_000
"""Maximum number of steps of the network simplex algorithm. Texts of 500 words require a few
thousand steps."""


def inverse_document_frequencies(documents: Sequence[Iterable[int]]) -> dict[int, float]:
    """Return log((N + 1) / (n + 1)) for each token, which occurs in n of N documents."""
    counts = Counter(token for document in documents for token in set(document))
    return {token: math.log((len(documents) + 1) / (n + 1)) for token, n in counts.items()}


def compute_rarity_weights(
    ids: Sequence[int], frequencies: Mapping[int, float]
) -> NDArray[np.float64]:
    """Return weights for the tokens of a text, shape (n_tokens,). The weights sum to 1.

    The weights are proportional to `frequencies` from `inverse_document_frequencies`. If all
    frequencies are 0, the weights are equal.
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
    """Return the word mover's distance between two sets of vectors (Kusner et al. 2015).

    The distance is the minimum of sum T_ij |x_i - y_j| over all T with rows and columns that sum to
    the weights.

    Args:
        first: Vectors, shape (n, n_dimensions).
        second: Vectors, shape (m, n_dimensions).
        first_weights: Weights that sum to 1, shape (n,). If None, all weights are equal.
        second_weights: Weights that sum to 1, shape (m,). If None, all weights are equal.

    Returns:
        A distance, which is at least 0, and at most 2 for vectors of length 1. The result is None
        if a set is empty.
    """
    if not (len(first) and len(second)):
        return None
    import numpy as np
    from scipy.spatial.distance import cdist

    need("ot")
    from ot import emd2

    one, two = (
        np.full(len(cloud), 1 / len(cloud)) if weights is None else weights
        for cloud, weights in ((first, first_weights), (second, second_weights))
    )
    distances = cdist(first.astype(float), second.astype(float))
    return float(cast("float", emd2(one, two, distances, numItermax=MOST_STEPS)))


def mover_score(distance: float | None) -> float | None:
    """Convert a word mover's distance to MoverScore, 1 / (1 + distance).

    The paper (Zhao et al. 2019) reports the distance. The conversion comes from the second release
    of the authors' program, and is consistent with YESciEval's values of about 0.62.

    Args:
        distance: Distance in [0, 2] between words that are weighted by rarity.

    Returns:
        A similarity in [1/3, 1].

    Example:
        >>> mover_score(1.0)
        0.5
    """
    return None if distance is None else 1 / (1 + distance)
