"""Compute the scores of one answer, with intervals and bounds for unscored verdicts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ragassay.metrics.stats.intervals import (
    Interval,
    build_score,
    compute_f1_interval,
    compute_rating_interval,
    compute_share_interval,
    f1_score,
    round_score,
)
from ragassay.metrics.stats.joint_judgments import (
    choose_final_judgment,
    compute_panel_bounds,
    list_single_judgments,
)
from ragassay.records import (
    RELEVANCE_LABELS,
    EvidenceVerdict,
    Judgment,
    Nugget,
    NuggetMatch,
    Score,
    SentenceCorrectness,
    SentenceLabel,
    Verdict,
)

LOWER_IS_BETTER = frozenset(
    {
        "sentences.unnecessary",
        "sentences.inappropriate",
        "evidence.contradict",
        "citations.contradict",
        "intent.similarity",
    }
)
"""Scores for which lower values are better, so that their worst case is the upper bound."""

LIKERT = (1.0, 5.0)


def score_rubrics(judgments: Sequence[Judgment], judge: str) -> dict[str, Score]:
    """Return one score per rubric.

    The interval is the central 95 % of the judge's rating distribution. For a panel, `n` is the
    number of ratings by its members, and the bounds allow for failed ratings.
    """
    scores: dict[str, Score] = {}
    for judgment in judgments:
        members = [choose_final_judgment(one) for one in list_single_judgments([judgment])]
        n_scored = sum(one.score is not None for one in members)
        low, high = judgment.scale
        interval = (
            compute_rating_interval(judgment.distribution, low) if judgment.distribution else None
        )
        scores[f"rubric.{judgment.rubric}"] = build_score(
            judgment.score,
            n_scored,
            len(members) - n_scored,
            interval,
            compute_panel_bounds(judgment),
            scale=(float(low), float(high)),
            judge=judge,
        )
    return scores


def score_nuggets(
    answer: Sequence[Nugget],
    gold: Sequence[Nugget],
    matches: Sequence[NuggetMatch],
    n_unscored: int,
    judge: str,
    n_gold_unscored: int = 0,
) -> dict[str, Score]:
    """Return nugget precision, recall, F1 and vital recall (BioACE 4.1.1).

    The bounds assume that a sentence from which nuggets could not be extracted has one nugget. In
    the best case, the assumed nugget matches all nuggets of the other text that are still
    unmatched.

    Args:
        n_unscored: Number of answer sentences whose nuggets could not be extracted.
        judge: Name of the model that extracted the answer's nuggets.
        n_gold_unscored: Number of reference sentences whose nuggets could not be extracted.

    Returns:
        Scores, keyed by name. The dict is empty if the reference has no nuggets, unless extracting
        nuggets from the reference failed.
    """
    if not gold and not n_gold_unscored:
        return {}
    # If one side failed entirely, the other side was not compared, and its verdicts are missing.
    n_answer = len(answer) if gold else 0
    n_gold = len(gold) if answer or not n_unscored else 0
    n_hits = len(matches)
    precision = _score_matched(n_hits, n_answer, len(answer), n_unscored, n_gold_unscored, judge)
    recall = _score_matched(n_hits, n_gold, len(gold), n_gold_unscored, n_unscored, judge)
    interval = compute_f1_interval((n_hits, precision.n), (n_hits, recall.n))
    scores = {
        "nuggets.precision": precision,
        "nuggets.recall": recall,
        "nuggets.f1": build_f1(precision, recall, interval, judge),
    }
    vital = {i for i, nugget in enumerate(gold) if nugget.importance == "vital"}
    if vital:
        n_hits = sum(1 for match in matches if match.gold in vital)
        scores["nuggets.vital_recall"] = _score_matched(
            n_hits, len(vital) if n_gold else 0, len(vital), n_gold_unscored, n_unscored, judge
        )
    return scores


def _score_matched(
    n_hits: int, n_compared: int, n: int, n_missing: int, n_other_missing: int, judge: str
) -> Score:
    """Return the share of the `n` nuggets of one text that match a nugget of the other text.

    `n_compared` is `n` or 0. `n_missing` and `n_other_missing` are the numbers of sentences in the
    two texts from which nuggets could not be extracted.
    """
    score = score_share("", n_hits, n_compared, n_missing + n_other_missing, judge)
    total = n + n_missing
    if not total:
        return score
    n_most = (n if n_other_missing else n_hits) + n_missing
    bounds = {"worst": n_hits / total, "best": n_most / total}
    return round_score(score.model_copy(update=bounds))


def build_f1(precision: Score, recall: Score, interval: Interval | None, judge: str) -> Score:
    """Compute F1 from precision and recall, and its bounds from their bounds."""
    value, worst, best = (
        f1_score(getattr(precision, end), getattr(recall, end))
        for end in ("value", "worst", "best")
    )
    n, n_unscored = precision.n + recall.n, precision.n_unscored
    return round_score(build_score(value, n, n_unscored, interval, (worst, best), judge=judge))


def score_sentences(
    labels: Sequence[SentenceLabel], judge: str, n_unlabelled: int = 0
) -> dict[str, Score]:
    """Return the share of sentences with each label.

    The share of required sentences is completeness in BioACE (4.1.2) and precision in MedAESQA. The
    shares of unnecessary and inappropriate sentences are redundancy and harmfulness in MedAESQA. A
    sentence is unscored if labelling it failed. The `n_unlabelled` sentences that human annotators
    skipped are included in the denominator, as in MedAESQA.
    """
    known = [label.label for label in labels if label.label is not None]
    n, n_unscored = len(known) + n_unlabelled, len(labels) - len(known)
    return {
        (key := f"sentences.{name}"): score_share(key, known.count(name), n, n_unscored, judge)
        for name in RELEVANCE_LABELS
    }


def score_evidence(evidence: Sequence[EvidenceVerdict], judge: str) -> dict[str, Score]:
    """Return the shares of sentences that at least one passage supports or contradicts.

    With k passages per sentence, `evidence.support` is BioACE's correctness at k (4.1.3). A
    sentence can be both supported and contradicted. A sentence is unscored if the result depends
    on a failed verdict.
    """
    by_sentence: dict[int, list[Verdict | None]] = {}
    for verdict in evidence:
        by_sentence.setdefault(verdict.sentence, []).append(verdict.verdict)
    keys = (("evidence.support", "supports"), ("evidence.contradict", "contradicts"))
    return {
        key: score_known(key, [is_among(own, {verdict}) for own in by_sentence.values()], judge)
        for key, verdict in keys
    }


def is_among(verdicts: Collection[str | None], wanted: Collection[str]) -> bool | None:
    """Return whether any verdict is in `wanted`, or None if a missing verdict could be."""
    return not set(wanted).isdisjoint(verdicts) or (None if None in verdicts else False)


def score_correctness(correctness: Sequence[SentenceCorrectness], judge: str) -> dict[str, Score]:
    """Return the share of sentences that at least one passage supports (BioACE 4.1.3).

    Sentences without passages are unscored.
    """
    key = "correctness.score"
    return {key: score_known(key, [sentence.correct for sentence in correctness], judge)}


def score_known(
    key: str, values: Sequence[bool | None], judge: str, *, has_verdict: bool = True
) -> Score:
    """Return the share of values that are True; None counts as unscored."""
    known = [value for value in values if value is not None]
    n_unscored = len(values) - len(known)
    return score_share(key, sum(known), len(known), n_unscored, judge, has_verdict=has_verdict)


def score_share(
    key: str, n_hits: int, n: int, n_unscored: int, judge: str, *, has_verdict: bool = True
) -> Score:
    """Return a share with a Wilson interval and bounds for unscored verdicts.

    Args:
        key: Name of the score, which determines whether lower values are better.
        n_hits: Number of positive verdicts.
        n_unscored: Number of missing verdicts.
        has_verdict: Whether the judge returned any verdict. If the judge returned no verdict and a
            verdict is missing, all items are unscored.
    """
    total, n_open = n + n_unscored, n_unscored
    if not has_verdict and n_unscored:
        n, n_unscored = 0, total
    interval = compute_share_interval(n_hits, n)
    lower, upper = (n_hits / total, (n_hits + n_open) / total) if total else (None, None)
    worst, best = (upper, lower) if key in LOWER_IS_BETTER else (lower, upper)
    value = n_hits / n if n else None
    return round_score(build_score(value, n, n_unscored, interval, (worst, best), judge=judge))
