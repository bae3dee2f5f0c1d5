"""Compute diversity and mean scores of pairs, and filter pairs by ratings (SciQAG, section 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.errors import InputError
from ragassay.metrics.papers.sciqag import drop_undecided_mean
from ragassay.metrics.stats.aggregates import build_clustered_score
from ragassay.qa.measures import count_chunks, pooled_coverage_score
from ragassay.records import Evaluation, QAPair, RacarDimension, Score
from ragassay.records.qa import (
    MOST_INTENT,
    RACAR,
    RACAR_SCALE,
    IntentSimilarity,
    PairMeasures,
    PaperMeasures,
    RacarRating,
)

BIN_EDGES = (0.3, 0.5, 0.7)
BIN_NAMES = ("< 0.3", "0.3\u20130.5", "0.5\u20130.7", "> 0.7")
"""Names of the similarity bins in table 2. The SciQAG paper does not say which bins contain the
edges. In ragassay, 0.3 and 0.5 belong to the upper bin and 0.7 to the lower bin, so that the names
of the first and the last bin are exact."""

NEAR_DUPLICATE = 0.95
"""Cosine from which two questions count as near-duplicates. The SciQAG paper gives no threshold for
near-duplicates. Different questions on the same subject reach cosines of 0.94."""

NEAR_DUPLICATE_BY = "all-MiniLM-L6-v2"
"""Embedding model for which the threshold `NEAR_DUPLICATE` is valid."""

SAME_INTENT = 90
"""Minimum intent similarity (rated by the judge, 0 to 100) of two questions that are duplicates."""


@dataclass(frozen=True, slots=True)
class SimilarityBin:
    """A row of table 2. `share` refers to all scored pairs and is None if there are no pairs."""

    name: str
    count: int
    share: float | None


@dataclass(frozen=True, slots=True)
class QuestionDiversity:
    """Mean and distribution of question similarities. Lower values mean more diverse questions."""

    similarity: Score
    bins: tuple[SimilarityBin, ...]


def question_diversity(
    similarities: Sequence[float | None],
    papers: Sequence[str] | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
    judge: str = "",
) -> QuestionDiversity:
    """Return the mean and the distribution of question similarities, in the bins of table 2.

    Args:
        similarities: Similarity of each pair of questions, or None for unscored pairs, which are
            ignored.
        papers: Paper of each pair, so that intervals are computed by resampling papers; by
            default, pairs are resampled independently.
        scale: Lowest and highest possible similarity, such as (-1, 1) for cosines.
        judge: Name of the judge or embedding model that produced the similarities.
    """
    names = list(map(str, range(len(similarities)))) if papers is None else papers
    score = build_clustered_score(similarities, names, scale, judge, lower_is_better=True)
    known = [value for value in similarities if value is not None]
    return QuestionDiversity(score, _count_bins(known))


def _count_bins(values: Sequence[float]) -> tuple[SimilarityBin, ...]:
    low, middle, high = BIN_EDGES
    counts = Counter((v >= low) + (v >= middle) + (v > high) for v in values)
    n = len(values)
    return tuple(
        SimilarityBin(name, counts[i], counts[i] / n if n else None)
        for i, name in enumerate(BIN_NAMES)
    )


def list_pair_similarities(matrix: Sequence[Sequence[float]]) -> list[float]:
    """Return the values above the diagonal of a similarity matrix, row by row."""
    return [value for i, row in enumerate(matrix) for value in row[i + 1 :]]


def convert_intent_scores(intents: Sequence[IntentSimilarity]) -> list[float | None]:
    """Return the judge's intent scores as similarities in [0, 1], with None for unscored pairs."""
    return [None if intent.score is None else intent.score / MOST_INTENT for intent in intents]


COSINE_SCALE = (-1.0, 1.0)


def list_similarities(paper: PaperMeasures) -> list[tuple[float, ...]]:
    """Return one row per non-empty answer: its similarities to all sentences of the paper."""
    return [pair.similarity for pair in paper.pairs if pair.similarity]


def average_racar_ratings(
    ratings: Sequence[RacarRating], paper_of: Mapping[str, str]
) -> dict[str, Score]:
    """Return the mean rating of each RACAR dimension (table 1).

    If a rating has a score (the expected rating), the mean uses the score.
    """
    means: dict[str, Score] = {}
    for dimension in RACAR:
        group = [rating for rating in ratings if rating.dimension == dimension]
        if group:
            mean = build_clustered_score(
                [rating.rating if rating.score is None else rating.score for rating in group],
                [paper_of.get(rating.pair, rating.pair) for rating in group],
                scale=(float(RACAR_SCALE[0]), float(RACAR_SCALE[1])),
                judge=group[0].judge,
            )
            means[dimension] = drop_undecided_mean(mean, group)
    return means


def compute_qa_scores(measures: Sequence[PaperMeasures], embedder: str = "") -> dict[str, Score]:
    """Return the mean scores that need no judge, without scores that have no values.

    Coverage is averaged over papers, scores of numbers over numbers, question similarity over
    pairs of questions, and all other scores over question-answer pairs. Empty answers and papers
    without pairs are ignored.
    """
    papers = [paper for paper in measures if paper.pairs]
    covered = [paper for paper in papers if paper.coverage is not None]

    def average_papers(value: Callable[[PaperMeasures], float | None]) -> Score:
        values = [value(paper) for paper in covered]
        return build_clustered_score(values, [paper.paper for paper in covered], judge=embedder)

    def average_pairs(value: Callable[[PairMeasures], Sequence[float]], judge: str = "") -> Score:
        rows = [(v, paper.paper) for paper in papers for pair in paper.pairs for v in value(pair)]
        return build_clustered_score(
            [v for v, _ in rows], [paper for _, paper in rows], judge=judge
        )

    scores = {
        "coverage": average_papers(lambda paper: paper.coverage),
        "pooled_coverage": average_papers(
            lambda paper: pooled_coverage_score(list_similarities(paper)) or 0.0
        ),
        "chunks_per_answer": average_pairs(compute_chunk_share, embedder),
        "numbers_found": average_pairs(lambda pair: [float(n.is_found) for n in pair.numbers]),
        "numbers_near": average_pairs(lambda pair: [float(n.is_near) for n in pair.numbers]),
        "answers_with_numbers": average_pairs(lambda pair: [float(bool(pair.numbers))]),
        "context_free_questions": average_pairs(
            lambda pair: [float(all(mark.part != "question" for mark in pair.context))]
        ),
    }
    cosines = [
        (value, paper.paper)
        for paper in papers
        for value in list_pair_similarities(paper.question_similarity)
    ]
    diversity = question_diversity(
        [value for value, _ in cosines], [paper for _, paper in cosines], COSINE_SCALE, embedder
    )
    scores["question_similarity"] = diversity.similarity
    return {key: score for key, score in scores.items() if score.n}


def average_intents(
    intents: Sequence[IntentSimilarity], paper_of: Mapping[str, str]
) -> dict[str, Score]:
    """Return the mean intent similarity in [0, 1], or an empty dict if there are no intents."""
    if not intents:
        return {}
    papers = [paper_of.get(intent.first, intent.first) for intent in intents]
    diversity = question_diversity(convert_intent_scores(intents), papers, judge=intents[0].judge)
    return {"intent_similarity": diversity.similarity}


def compute_chunk_share(pair: PairMeasures) -> list[float]:
    """Return a list with the share of chunks that an answer covers, or [] for an empty answer."""
    return [len(pair.chunks) / count_chunks(len(pair.similarity))] if pair.similarity else []


@dataclass(frozen=True)
class Kept:
    """Result of filtering question-answer pairs.

    Attributes:
        pairs: Pairs that reach all minimum scores.
        dropped: Dimensions whose score is too low, keyed by the id of the dropped pair.
        unrated: Ids of pairs without a score for one of the dimensions.
    """

    pairs: tuple[QAPair, ...]
    dropped: Mapping[str, tuple[RacarDimension, ...]]
    unrated: tuple[str, ...]


def filter_pairs(
    evaluations: Iterable[Evaluation], min_scores: Mapping[RacarDimension, float]
) -> Kept:
    """Filter question-answer pairs by their RACAR scores.

    Args:
        min_scores: Minimum scores (1 to 3), keyed by dimension; other dimensions are ignored.
    """
    kept: list[QAPair] = []
    dropped: dict[str, tuple[RacarDimension, ...]] = {}
    unrated: list[str] = []
    for evaluation in evaluations:
        scores = {(r.pair, r.dimension): r.score for r in evaluation.select_verdicts(RacarRating)}
        for pair in evaluation.pairs:
            known: dict[RacarDimension, float] = {
                name: v for name in min_scores if (v := scores.get((pair.id, name))) is not None
            }
            low: list[RacarDimension] = [name for name in known if known[name] < min_scores[name]]
            if low:
                dropped[pair.id] = tuple(low)
            elif len(known) < len(min_scores):
                unrated.append(pair.id)
            else:
                kept.append(pair)
    return Kept(tuple(kept), dropped, tuple(unrated))


def parse_min_scores(texts: Iterable[str]) -> dict[RacarDimension, float]:
    """Parse minimum scores such as "2" (all dimensions) or "accuracy=2.5".

    If a dimension has several values, the last one applies.

    Raises:
        InputError: The dimension is unknown, or the score is not between 1 and 3.

    Example:
        >>> parse_min_scores(["accuracy=3"])
        {'accuracy': 3.0}
    """
    minimums: dict[RacarDimension, float] = {}
    low, high = RACAR_SCALE
    for text in texts:
        name, _, score = text.rpartition("=")
        dimensions: list[RacarDimension] = [d for d in RACAR if name in ("", d)]
        try:
            value = float(score)
        except ValueError:
            value = -1.0
        if not dimensions or not low <= value <= high:
            raise InputError(
                f"--min-score {text}: expected a score from {low} to {high}, or DIMENSION=SCORE, "
                f"where DIMENSION is one of {', '.join(RACAR)}"
            )
        minimums |= dict.fromkeys(dimensions, value)
    return minimums
