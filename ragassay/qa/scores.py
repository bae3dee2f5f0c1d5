"""Scores of pairs: diversity, averages, and a filter by ratings (SciQAG, section 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragassay.errors import InputError
from ragassay.metrics.papers.sciqag import drop_undecided_mean
from ragassay.metrics.stats.aggregates import clustered_score
from ragassay.qa.measures import chunk_count, pooled_coverage_score
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
"""Table 2's bins. It leaves open to which an edge belongs; here 0.3 and 0.5 begin a bin and 0.7
ends one, so that the first and the last bin are as named."""

NEAR_DUPLICATE = 0.95
"""Cosine from which two questions count as one asked twice; ours, not the paper's. Questions on one
subject reach .94 without asking for the same."""

NEAR_DUPLICATE_BY = "all-MiniLM-L6-v2"
"""The model that `NEAR_DUPLICATE` holds for: others put all questions closer, or further apart."""

SAME_INTENT = 90
"""A judge's score of intent, of 100, from which two questions count as one asked twice."""


@dataclass(frozen=True, slots=True)
class SimilarityBin:
    """A row of table 2: `share` is of all scored pairs, in [0, 1]; None without any."""

    name: str
    count: int
    share: float | None


@dataclass(frozen=True, slots=True)
class QuestionDiversity:
    """Similarities of questions: their mean, lower is more diverse, and their bins."""

    similarity: Score
    bins: tuple[SimilarityBin, ...]


def question_diversity(
    similarities: Sequence[float | None],
    papers: Sequence[str] | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
    judge: str = "",
) -> QuestionDiversity:
    """Return the distribution of similarities of pairs of questions, in the bins of table 2.

    Args:
        similarities: shape (n_question_pairs,); an unscored pair is None and is left out.
        papers: shape (n_question_pairs,): the paper of each, whose questions are resampled
            together for the interval; None where each pair stands for itself.
        scale: Least and greatest similarity: (-1, 1) for cosines.
        judge: What gave the similarities.
    """
    names = list(map(str, range(len(similarities)))) if papers is None else papers
    # Lower is better: the worst case is that every unscored pair is the same question twice.
    score = clustered_score(similarities, names, scale, judge, lower_is_better=True)
    return QuestionDiversity(score, _bins([value for value in similarities if value is not None]))


def _bins(values: Sequence[float]) -> tuple[SimilarityBin, ...]:
    low, middle, high = BIN_EDGES
    counts = Counter((v >= low) + (v >= middle) + (v > high) for v in values)
    n = len(values)
    return tuple(
        SimilarityBin(name, counts[i], counts[i] / n if n else None)
        for i, name in enumerate(BIN_NAMES)
    )


def pair_similarities(matrix: Sequence[Sequence[float]]) -> list[float]:
    """Return the similarity of each pair of questions once: what is above the diagonal, by rows."""
    return [value for i, row in enumerate(matrix) for value in row[i + 1 :]]


def intent_similarities(intents: Sequence[IntentSimilarity]) -> list[float | None]:
    """Return a judge's scores of intent as similarities in [0, 1]; None where unscored."""
    return [None if one.score is None else one.score / MOST_INTENT for one in intents]


COSINE_SCALE = (-1.0, 1.0)


def similarities(paper: PaperMeasures) -> list[tuple[float, ...]]:
    """Return the similarities of the answers that were compared with a paper's sentences."""
    return [pair.similarity for pair in paper.pairs if pair.similarity]


def rating_means(ratings: Sequence[RacarRating], paper_of: Mapping[str, str]) -> dict[str, Score]:
    """Return the mean score, else rating, of each dimension that was rated (table 1)."""
    found: dict[str, Score] = {}
    for dimension in RACAR:
        own = [rating for rating in ratings if rating.dimension == dimension]
        if own:
            mean = clustered_score(
                [one.rating if one.score is None else one.score for one in own],
                [paper_of.get(one.pair, one.pair) for one in own],
                scale=(float(RACAR_SCALE[0]), float(RACAR_SCALE[1])),
                judge=own[0].judge,
            )
            found[dimension] = drop_undecided_mean(mean, own)
    return found


def qa_scores(measures: Sequence[PaperMeasures], embedder: str = "") -> dict[str, Score]:
    """Return the means of what is measured without a judge; what applies to nothing is left out.

    Coverage is a mean over papers, the share of numbers found one over numbers, the rest are means
    over pairs, or pairs of questions. An answer without a word is not compared.

    Args:
        measures: Papers without pairs are left out.
        embedder: The model behind the similarities.
    """
    papers = [one for one in measures if one.pairs]
    spread = [one for one in papers if one.coverage is not None]

    def of_papers(value: Callable[[PaperMeasures], float | None]) -> Score:
        values = [value(one) for one in spread]
        return clustered_score(values, [one.paper for one in spread], judge=embedder)

    def of_pairs(value: Callable[[PairMeasures], Sequence[float]], judge: str = "") -> Score:
        rows = [(v, one.paper) for one in papers for pair in one.pairs for v in value(pair)]
        return clustered_score([v for v, _ in rows], [paper for _, paper in rows], judge=judge)

    found = {
        "coverage": of_papers(lambda one: one.coverage),
        "pooled_coverage": of_papers(lambda one: pooled_coverage_score(similarities(one)) or 0.0),
        "chunks_per_answer": of_pairs(drawn_on, embedder),
        "numbers_found": of_pairs(lambda pair: [float(n.is_found) for n in pair.numbers]),
        "numbers_near": of_pairs(lambda pair: [float(n.is_near) for n in pair.numbers]),
        "answers_with_numbers": of_pairs(lambda pair: [float(bool(pair.numbers))]),
        "context_free_questions": of_pairs(
            lambda pair: [float(all(mark.part != "question" for mark in pair.context))]
        ),
    }
    cosines = [
        (value, one.paper) for one in papers for value in pair_similarities(one.question_similarity)
    ]
    likeness = question_diversity(
        [value for value, _ in cosines], [paper for _, paper in cosines], COSINE_SCALE, embedder
    )
    found["question_similarity"] = likeness.similarity
    return {key: score for key, score in found.items() if score.n}


def intent_score(
    intents: Sequence[IntentSimilarity], paper_of: Mapping[str, str]
) -> dict[str, Score]:
    """Return the mean similarity of intent, 0 to 1, lower is more diverse; empty without any."""
    if not intents:
        return {}
    papers = [paper_of.get(one.first, one.first) for one in intents]
    found = question_diversity(intent_similarities(intents), papers, judge=intents[0].judge)
    return {"intent_similarity": found.similarity}


def drawn_on(pair: PairMeasures) -> list[float]:
    """Return the share of chunks that an answer draws on; empty where it was not compared."""
    return [len(pair.chunks) / chunk_count(len(pair.similarity))] if pair.similarity else []


@dataclass(frozen=True)
class Kept:
    """The pairs that a filter keeps, and the ids of the others.

    Those dropped are with the dimensions that were rated too low; those unrated lack a rating.
    """

    pairs: tuple[QAPair, ...]
    dropped: Mapping[str, tuple[RacarDimension, ...]]
    unrated: tuple[str, ...]


def filter_pairs(evaluations: Iterable[Evaluation], least: Mapping[RacarDimension, float]) -> Kept:
    """Keep the pairs whose score is at least as high as asked for, in each dimension named.

    Args:
        evaluations: Of papers with their pairs.
        least: Least score, 1 to 3, by dimension; dimensions that are not named do not count.
    """
    kept: list[QAPair] = []
    dropped: dict[str, tuple[RacarDimension, ...]] = {}
    unrated: list[str] = []
    for evaluation in evaluations:
        scores = {(r.pair, r.dimension): r.score for r in evaluation.of(RacarRating)}
        for pair in evaluation.pairs:
            own: dict[RacarDimension, float | None] = {
                name: scores.get((pair.id, name)) for name in least
            }
            low: list[RacarDimension] = [
                name for name, bar in least.items() if (v := own[name]) is not None and v < bar
            ]
            if low:
                dropped[pair.id] = tuple(low)
            elif None in own.values():
                unrated.append(pair.id)
            else:
                kept.append(pair)
    return Kept(tuple(kept), dropped, tuple(unrated))


def least_scores(given: Iterable[str]) -> dict[RacarDimension, float]:
    """Read least scores: "2" for all dimensions, "accuracy=2.5" for one; the last one counts.

    Raises:
        InputError: There is no such dimension, or the score is not between 1 and 3.

    Example:
        >>> least_scores(["accuracy=3"])
        {'accuracy': 3.0}
    """
    found: dict[RacarDimension, float] = {}
    low, high = RACAR_SCALE
    for text in given:
        name, _, score = text.rpartition("=")
        named: tuple[RacarDimension, ...] = tuple(one for one in RACAR if name in ("", one))
        try:
            value = float(score)
        except ValueError:
            value = -1.0
        if not named or not low <= value <= high:
            raise InputError(
                f"--least {text}: expected a score from {low} to {high}, or DIMENSION=SCORE with "
                f"{', '.join(RACAR)}"
            )
        found |= dict.fromkeys(named, value)
    return found
