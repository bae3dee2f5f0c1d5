"""Average what was measured and rated of question-answer pairs (SciQAG, section 5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ragassay.metrics.intervals import mean_interval
from ragassay.metrics.qa.coverage import chunk_count, pooled_coverage_score
from ragassay.metrics.qa.diversity import (
    intent_similarities,
    pair_similarities,
    question_diversity,
)
from ragassay.metrics.qa.racar import told
from ragassay.metrics.scoring import SHARE_SCALE, build_score, rounded
from ragassay.records import Score
from ragassay.records.qa import (
    RACAR,
    RACAR_SCALE,
    IntentSimilarity,
    PairMeasures,
    PaperMeasures,
    RacarRating,
)

COSINE_SCALE = (-1.0, 1.0)


def similarities(paper: PaperMeasures) -> list[tuple[float, ...]]:
    """Return the similarities of the answers that were compared with a paper's sentences."""
    return [pair.similarity for pair in paper.pairs if pair.similarity]


def clustered_score(
    values: Sequence[float | None],
    papers: Sequence[str],
    scale: tuple[float, float] = SHARE_SCALE,
    judge: str = "",
) -> Score:
    """Return the mean of values, higher is better; its interval resamples whole papers.

    Args:
        values: shape (n,); None is unscored: left out, counted, and bounded by the scale's ends.
        papers: shape (n,), the paper of each value.
        scale: Least and greatest value.
        judge: What gave the values.
    """
    known = [
        (value, paper) for value, paper in zip(values, papers, strict=True) if value is not None
    ]
    total, n, n_missing = math.fsum(v for v, _ in known), len(known), len(values) - len(known)
    interval = mean_interval([value for value, _ in known], [paper for _, paper in known])
    worst, best = ((total + n_missing * end) / len(values) if values else None for end in scale)
    mean = total / n if n else None
    return rounded(build_score(mean, n, n_missing, interval, (worst, best), scale, judge))


def rating_means(ratings: Sequence[RacarRating], paper_of: Mapping[str, str]) -> dict[str, Score]:
    """Return the mean of each dimension that was rated, by its name (table 1); see `told`.

    Args:
        ratings: The score counts where there is one, else the rating.
        paper_of: A pair's id to its paper.
    """
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
            found[dimension] = told(mean, own)
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
        "context_free_questions": of_pairs(lambda pair: [float(not _needs_paper(pair))]),
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


def _needs_paper(pair: PairMeasures) -> bool:
    return any(mark.part == "question" for mark in pair.context)
