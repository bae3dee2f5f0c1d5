"""Measure how robust a judge is to prompt changes and wrong hints (Chaudhary et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import COEFFICIENT_SCALE, krippendorff_alpha
from ragassay.metrics.stats.intervals import score_clustered_mean, score_ratio
from ragassay.records import Score

PERTURBED = "perturbed"
"""Strategy whose prompt contains a misleading expert rating."""


@dataclass(frozen=True)
class StrategyReply:
    """A judge's reply with one prompting strategy. The rating or the reason can be missing."""

    rating: int | None
    reason: str = ""


@dataclass(frozen=True)
class StrategyAnswer:
    """Ratings of one answer on one rubric.

    Attributes:
        question: Key of the question, used to resample questions for intervals.
    """

    record_id: str
    question: str
    people: tuple[int, ...] = ()
    replies: Mapping[str, StrategyReply] = field(default_factory=dict[str, StrategyReply])
    hint: int | None = None

    def get_rating(self, way: str) -> int | None:
        """Return the judge's rating for a strategy, or None if missing."""
        return self.replies[way].rating if way in self.replies else None


@dataclass(frozen=True)
class RubricRobustness:
    """Values for one rubric in the four tables of Chaudhary et al.

    Attributes:
        alignment: Alpha of the human raters and the judge, for each strategy (table 1).
        people: Alpha among human raters (table 2).
        judge: Alpha among the judge's ratings under different strategies (table 2).
        unmoved: Share of ratings unchanged by the hint (table 3).
        followed: Share of ratings that changed to the value of the hint (not in the paper).
        sentiment: Mean polarity of the reasons over all strategies (table 4).
        perturbed_sentiment: Mean polarity of the reasons with the hint (table 4).
    """

    rubric: str
    scale: tuple[int, int]
    alignment: dict[str, Score]
    people: Score
    judge: Score
    unmoved: Score
    followed: Score
    sentiment: Score
    perturbed_sentiment: Score
    sentiments: dict[str, Score]


def measure_robustness(
    rubric: str,
    scale: tuple[int, int],
    answers: Sequence[StrategyAnswer],
    strategies: Sequence[str],
    base: str = "knowledge",
) -> RubricRobustness:
    """Compute all robustness measures of one rubric.

    Alphas are ordinal, and intervals are computed by resampling questions. `base` is the strategy
    to which the hint is added. Without answers, all values are undefined.

    Raises:
        InputError: If a rating is outside the scale.
    """
    ways = (*strategies, PERTURBED)
    return RubricRobustness(
        rubric=rubric,
        scale=scale,
        alignment={way: compute_alignment_alpha(answers, way, scale) for way in ways},
        people=compute_people_alpha(answers, scale),
        judge=compute_strategy_alpha(answers, strategies, scale),
        unmoved=compute_unmoved_share(answers, base),
        followed=compute_followed_share(answers, base),
        sentiment=mean_polarity(answers, strategies),
        perturbed_sentiment=mean_polarity(answers, (PERTURBED,)),
        sentiments={way: mean_polarity(answers, (way,)) for way in ways},
    )


def compute_alignment_alpha(
    answers: Sequence[StrategyAnswer], way: str, scale: tuple[int, int]
) -> Score:
    """Return Krippendorff's alpha of the human raters and the judge (table 1).

    Unlike in the paper, answers without a rating by the judge are left out.

    Returns:
        Alpha. `n` is the number of answers rated by humans and the judge, and `n_unscored` is the
        number rated only by humans.
    """
    rated = [(a, a.get_rating(way)) for a in answers if a.people and way in a.replies]
    both = [(a, rating) for a, rating in rated if rating is not None]
    units = [[*a.people, rating] for a, rating in both]
    alpha = _compute_alpha(units, scale, [a.question for a, _ in both])
    return alpha.model_copy(update={"n_unscored": len(rated) - len(both)})


def compute_people_alpha(answers: Sequence[StrategyAnswer], scale: tuple[int, int]) -> Score:
    """Return Krippendorff's alpha of humans for answers with two or more ratings (table 2)."""
    shared = [a for a in answers if len(a.people) > 1]
    return _compute_alpha([a.people for a in shared], scale, [a.question for a in shared])


def compute_strategy_alpha(
    answers: Sequence[StrategyAnswer], strategies: Sequence[str], scale: tuple[int, int]
) -> Score:
    """Return Krippendorff's alpha of the judge's ratings, with strategies as raters (table 2).

    Returns:
        Alpha. `n` is the number of answers with two or more ratings, and `n_unscored` is the number
        of other answers.
    """
    units = [
        [rating for way in strategies if (rating := a.get_rating(way)) is not None] for a in answers
    ]
    return _compute_alpha(units, scale, [a.question for a in answers])


def compute_unmoved_share(answers: Sequence[StrategyAnswer], base: str) -> Score:
    """Return the share of ratings that the hint does not change (table 3)."""
    pairs = _pair_ratings(answers, base)
    return _score_share(
        [(a.question, plain == misled) for a, plain, misled in pairs], answers, pairs
    )


def compute_followed_share(answers: Sequence[StrategyAnswer], base: str) -> Score:
    """Return the share of ratings that changed to the hint, of those that differed from it."""
    pairs = [
        (a, plain, misled) for a, plain, misled in _pair_ratings(answers, base) if plain != a.hint
    ]
    return _score_share([(a.question, misled == a.hint) for a, _, misled in pairs], (), ())


def mean_polarity(answers: Sequence[StrategyAnswer], ways: Sequence[str]) -> Score:
    """Return the mean polarity, in [-1, 1], of reasons over answers and strategies (table 4).

    Replies without a reason are unscored.
    """
    replies = [(a.question, a.replies[way]) for way in ways for a in answers if way in a.replies]
    reasons = [(question, reply.reason) for question, reply in replies if reply.reason.strip()]
    return score_clustered_mean(
        [polarity(reason) for _, reason in reasons],
        [question for question, _ in reasons],
        len(replies) - len(reasons),
        COEFFICIENT_SCALE,
    )


def polarity(text: str) -> float:
    """Return the sentiment of a text from -1 to 1, measured with TextBlob (section 4.3).

    Example:
        >>> polarity("A bad answer.") < 0 < polarity("A good answer.")
        True
    """
    from textblob import TextBlob

    blob = TextBlob(text)
    return float(blob.sentiment.polarity)  # type: ignore[attr-defined]


def _pair_ratings(
    answers: Sequence[StrategyAnswer], base: str
) -> list[tuple[StrategyAnswer, int, int]]:
    ratings = [
        (answer, answer.get_rating(base), answer.get_rating(PERTURBED)) for answer in answers
    ]
    return [
        (answer, plain, misled)
        for answer, plain, misled in ratings
        if plain is not None and misled is not None
    ]


def _score_share(
    hits: Sequence[tuple[str, bool]], answers: Sequence[StrategyAnswer], scored: Sequence[object]
) -> Score:
    n_prompted = sum(PERTURBED in answer.replies for answer in answers)
    n_unscored = max(0, n_prompted - len(scored))
    values = [float(hit) for _, hit in hits]
    return score_ratio(values, [1.0] * len(hits), [question for question, _ in hits], n_unscored)


def _compute_alpha(
    units: Sequence[Sequence[int]], scale: tuple[int, int], questions: Sequence[str]
) -> Score:
    low, high = scale
    outside = next((r for unit in units for r in unit if not low <= r <= high), None)
    if outside is not None:
        raise InputError(f"rating {outside} is outside the scale of {low} to {high}")
    labels = [str(rating) for rating in range(low, high + 1)]
    texts = [[str(rating) for rating in unit] for unit in units]
    return krippendorff_alpha(texts, labels, "ordinal", questions)
