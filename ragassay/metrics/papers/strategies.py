"""Measure a judge's robustness to other prompts and to misleading hints (Chaudhary et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import COEFFICIENT_SCALE, krippendorff_alpha
from ragassay.metrics.stats.intervals import clustered_mean, ratio_score
from ragassay.records import Score

PERTURBED = "perturbed"
"""The prompt that tells the judge a rating which an expert is said to have given."""


@dataclass(frozen=True)
class StrategyReply:
    """The judge's reply under one prompting strategy.

    The rating is None, the reason empty, where it gave none.
    """

    rating: int | None
    reason: str = ""


@dataclass(frozen=True)
class StrategyAnswer:
    """One answer on one rubric.

    Attributes:
        question: The key that answers to the same question share; intervals resample questions.
        people: People's ratings, in any order; may be empty.
        replies: The judge's replies by strategy; a strategy may be missing.
        hint: The rating that the judge was told under `PERTURBED`; None where it was not asked that
            way.
    """

    record_id: str
    question: str
    people: tuple[int, ...] = ()
    replies: Mapping[str, StrategyReply] = field(default_factory=dict[str, StrategyReply])
    hint: int | None = None

    def rating(self, way: str) -> int | None:
        """Return the judge's rating under a strategy; None where there is none."""
        return self.replies[way].rating if way in self.replies else None


@dataclass(frozen=True)
class RubricRobustness:
    """One rubric's rows of the paper's four tables.

    Attributes:
        alignment: Table 1: alpha of people and the judge, by strategy.
        people: Table 2: alpha among people.
        judge: Table 2: alpha among the judge's ratings under the strategies.
        unmoved: Table 3: share of ratings that the hint did not change.
        followed: Not in the paper: share of ratings that the hint changed to its own value.
        sentiment: Table 4: mean polarity of the justifications, over all strategies.
        perturbed_sentiment: Table 4: the same under the hint.
        sentiments: The same for each strategy.
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


def rubric_robustness(
    rubric: str,
    scale: tuple[int, int],
    answers: Sequence[StrategyAnswer],
    strategies: Sequence[str],
    base: str = "knowledge",
) -> RubricRobustness:
    """Return all figures of one rubric. Alphas are ordinal; intervals resample questions.

    `base` is the strategy that the hint is added to. Without answers every figure is undefined.

    Raises:
        InputError: A rating is not on the scale.
    """
    ways = (*strategies, PERTURBED)
    return RubricRobustness(
        rubric=rubric,
        scale=scale,
        alignment={way: alignment_alpha(answers, way, scale) for way in ways},
        people=people_alpha(answers, scale),
        judge=strategy_alpha(answers, strategies, scale),
        unmoved=unmoved_share(answers, base),
        followed=followed_share(answers, base),
        sentiment=mean_polarity(answers, strategies),
        perturbed_sentiment=mean_polarity(answers, (PERTURBED,)),
        sentiments={way: mean_polarity(answers, (way,)) for way in ways},
    )


def alignment_alpha(answers: Sequence[StrategyAnswer], way: str, scale: tuple[int, int]) -> Score:
    """Return Krippendorff's alpha of people with the judge as one more rater (table 1).

    An answer without the judge's rating is left out here and counted; the paper keeps it, and so
    measures agreement among people there.

    Returns:
        `n` counts answers that people and the judge rated, `n_unscored` those that people rated
        and the judge did not.
    """
    rated = [(a, a.rating(way)) for a in answers if a.people and way in a.replies]
    both = [(a, rating) for a, rating in rated if rating is not None]
    units = [[*a.people, rating] for a, rating in both]
    found = _alpha(units, scale, [a.question for a, _ in both])
    return found.model_copy(update={"n_unscored": len(rated) - len(both)})


def people_alpha(answers: Sequence[StrategyAnswer], scale: tuple[int, int]) -> Score:
    """Return Krippendorff's alpha among people (table 2), over answers that two of them rated."""
    shared = [a for a in answers if len(a.people) > 1]
    return _alpha([a.people for a in shared], scale, [a.question for a in shared])


def strategy_alpha(
    answers: Sequence[StrategyAnswer], strategies: Sequence[str], scale: tuple[int, int]
) -> Score:
    """Return Krippendorff's alpha among the judge's own ratings, each strategy a rater (table 2).

    Returns:
        `n` counts answers with two ratings or more, `n_unscored` the others.
    """
    units = [
        [rating for way in strategies if (rating := a.rating(way)) is not None] for a in answers
    ]
    return _alpha(units, scale, [a.question for a in answers])


def unmoved_share(answers: Sequence[StrategyAnswer], base: str) -> Score:
    """Return the share of ratings that are the same with the hint as without it (table 3)."""
    pairs = _pairs(answers, base)
    return _share([(a.question, plain == misled) for a, plain, misled in pairs], answers, pairs)


def followed_share(answers: Sequence[StrategyAnswer], base: str) -> Score:
    """Return the share of ratings changed to the hint's value, among those that differed."""
    pairs = [(a, plain, misled) for a, plain, misled in _pairs(answers, base) if plain != a.hint]
    return _share([(a.question, misled == a.hint) for a, _, misled in pairs], (), ())


def mean_polarity(answers: Sequence[StrategyAnswer], ways: Sequence[str]) -> Score:
    """Return the mean polarity of the justifications, one value an answer and strategy (table 4).

    Returns:
        In [-1, 1]; `n_unscored` counts ratings without a justification.
    """
    given = [
        (a.question, a.replies[way].reason) for way in ways for a in answers if way in a.replies
    ]
    values = [(question, polarity(reason)) for question, reason in given if reason.strip()]
    numbers = [value for _, value in values]
    questions = [question for question, _ in values]
    return clustered_mean(numbers, questions, len(given) - len(values), COEFFICIENT_SCALE)


def polarity(text: str) -> float:
    """Return the sentiment of a text, from -1 to 1, by TextBlob (as in section 4.3).

    Example:
        >>> polarity("A bad answer.") < 0 < polarity("A good answer.")
        True
    """
    from textblob import TextBlob

    blob = TextBlob(text)
    return float(blob.sentiment.polarity)  # type: ignore[attr-defined]


def _pairs(answers: Sequence[StrategyAnswer], base: str) -> list[tuple[StrategyAnswer, int, int]]:
    found: list[tuple[StrategyAnswer, int, int]] = []
    for answer in answers:
        plain, misled = answer.rating(base), answer.rating(PERTURBED)
        if plain is not None and misled is not None:
            found.append((answer, plain, misled))
    return found


def _share(
    hits: Sequence[tuple[str, bool]], asked: Sequence[StrategyAnswer], scored: Sequence[object]
) -> Score:
    n_asked = sum(PERTURBED in answer.replies for answer in asked)
    n_unscored = max(0, n_asked - len(scored))
    values = [float(hit) for _, hit in hits]
    return ratio_score(values, [1.0] * len(hits), [question for question, _ in hits], n_unscored)


def _alpha(
    units: Sequence[Sequence[int]], scale: tuple[int, int], questions: Sequence[str]
) -> Score:
    low, high = scale
    outside = next((r for unit in units for r in unit if not low <= r <= high), None)
    if outside is not None:
        raise InputError(f"the rating {outside} is not on the scale from {low} to {high}")
    labels = [str(rating) for rating in range(low, high + 1)]
    texts = [[str(rating) for rating in unit] for unit in units]
    return krippendorff_alpha(texts, labels, "ordinal", questions)
