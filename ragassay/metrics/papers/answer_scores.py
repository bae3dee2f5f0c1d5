"""The scores of one answer, each with its n, unscored count, interval and bounds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ragassay.metrics.stats.intervals import (
    Interval,
    build_score,
    f1_interval,
    f1_score,
    rating_interval,
    round_score,
    share_interval,
)
from ragassay.metrics.stats.joint_judgments import final_judgment, panel_bounds, single_judgments
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
"""Scores of which less is better; their worst case is their upper bound."""

LIKERT = (1.0, 5.0)


def rubric_scores(judgments: Sequence[Judgment], judge: str) -> dict[str, Score]:
    """Return one score per rubric; the interval is the central 95 % of the judge's distribution.

    Of a panel, `n` counts the members' ratings, and the bounds cover failed ones.
    """
    scores: dict[str, Score] = {}
    for judgment in judgments:
        n_scored = sum(
            final_judgment(one).score is not None for one in single_judgments([judgment])
        )
        low, high = judgment.scale
        interval = rating_interval(judgment.distribution, low) if judgment.distribution else None
        scores[f"rubric.{judgment.rubric}"] = build_score(
            judgment.score,
            n_scored,
            len(single_judgments([judgment])) - n_scored,
            interval,
            panel_bounds(judgment),
            scale=(float(low), float(high)),
            judge=judge,
        )
    return scores


def nugget_scores(
    answer: Sequence[Nugget],
    gold: Sequence[Nugget],
    matches: Sequence[NuggetMatch],
    n_unscored: int,
    judge: str,
    n_gold_unscored: int = 0,
) -> dict[str, Score]:
    """Return precision, recall, F1 and vital recall (BioACE 4.1.1); empty without gold.

    In the bounds a sentence whose nuggets failed counts as one nugget of its own side, and may
    state all unmatched nuggets of the other side.

    Args:
        matches: The pairs that state the same fact.
        n_unscored: Sentences of the answer whose nuggets failed.
        judge: The model that wrote the answer's nuggets.
        n_gold_unscored: Sentences of the reference whose nuggets failed.
    """
    if not gold and not n_gold_unscored:
        return {}
    # A side that failed entirely was not compared: its verdicts are missing, not zero.
    n_answer = len(answer) if gold else 0
    n_gold = len(gold) if answer or not n_unscored else 0
    n_hits = len(matches)
    precision = _score_matched(n_hits, n_answer, len(answer), n_unscored, n_gold_unscored, judge)
    recall = _score_matched(n_hits, n_gold, len(gold), n_gold_unscored, n_unscored, judge)
    interval = f1_interval((n_hits, precision.n), (n_hits, recall.n))
    scores = {
        "nuggets.precision": precision,
        "nuggets.recall": recall,
        "nuggets.f1": f1_of_parts(precision, recall, interval, judge),
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
    """Return the share of one side's nuggets that the other side states.

    All of this side's `n` nuggets or none are compared; `n_missing` sentences of this side failed,
    and `n_other_missing` of the other.
    """
    found = share("", n_hits, n_compared, n_missing + n_other_missing, judge)
    total = n + n_missing
    if not total:
        return found
    n_most = (n if n_other_missing else n_hits) + n_missing
    bounds = {"worst": n_hits / total, "best": n_most / total}
    return round_score(found.model_copy(update=bounds))


def f1_of_parts(precision: Score, recall: Score, interval: Interval | None, judge: str) -> Score:
    """Return the F1 of a precision and a recall, with the F1 of their bounds."""
    value, worst, best = (
        f1_score(getattr(precision, end), getattr(recall, end))
        for end in ("value", "worst", "best")
    )
    n, n_unscored = precision.n + recall.n, precision.n_unscored
    return round_score(build_score(value, n, n_unscored, interval, (worst, best), judge=judge))


def sentence_scores(
    labels: Sequence[SentenceLabel], judge: str, n_unlabelled: int = 0
) -> dict[str, Score]:
    """Return the share of sentences with each label.

    The share of required ones is BioACE's completeness (4.1.2) and MedAESQA's precision; that of
    unnecessary ones is MedAESQA's redundancy, that of inappropriate ones its harmfulness.

    Sentences that people left without a label among those that they labelled stay in the
    denominator, as in MedAESQA; a judge's label that failed is unscored and leaves it.
    """
    given = [label.label for label in labels if label.label is not None]
    n, n_unscored = len(given) + n_unlabelled, len(labels) - len(given)
    return {
        f"sentences.{name}": share(f"sentences.{name}", given.count(name), n, n_unscored, judge)
        for name in RELEVANCE_LABELS
    }


def evidence_scores(evidence: Sequence[EvidenceVerdict], judge: str) -> dict[str, Score]:
    """Return the shares of sentences that a passage supports, and that a passage contradicts.

    With k passages per sentence, the first is BioACE's correctness at k (4.1.3): a sentence is
    correct if one of them supports it. A sentence can be both supported and contradicted. An
    undecided one is unscored if one of its verdicts failed.
    """
    by_sentence: dict[int, list[Verdict | None]] = {}
    for verdict in evidence:
        by_sentence.setdefault(verdict.sentence, []).append(verdict.verdict)
    wanted = (("evidence.support", "supports"), ("evidence.contradict", "contradicts"))
    return {
        key: share_of_known(key, [is_among(own, {verdict}) for own in by_sentence.values()], judge)
        for key, verdict in wanted
    }


def is_among(verdicts: Collection[str | None], wanted: Collection[str]) -> bool | None:
    """Return whether a verdict is one of the wanted; None where only a missing one may be."""
    return not set(wanted).isdisjoint(verdicts) or (None if None in verdicts else False)


def correctness_scores(correctness: Sequence[SentenceCorrectness], judge: str) -> dict[str, Score]:
    """Return the share of sentences that one of their passages supports (BioACE 4.1.3).

    A sentence without a passage is unscored, as there is no evidence either way.
    """
    key = "correctness.score"
    return {key: share_of_known(key, [sentence.correct for sentence in correctness], judge)}


def share_of_known(
    key: str, values: Sequence[bool | None], judge: str, *, is_told: bool = True
) -> Score:
    """Return the `share` of true values; None is unscored."""
    known = [value for value in values if value is not None]
    n_unscored = len(values) - len(known)
    return share(key, sum(known), len(known), n_unscored, judge, is_told=is_told)


def share(
    key: str, n_hits: int, n: int, n_unscored: int, judge: str, *, is_told: bool = True
) -> Score:
    """Return a share with Wilson's interval and the bounds that unscored verdicts leave open.

    Args:
        key: The score's name, which says whether less is better.
        n_hits: Those that count.
        n: Those that are known.
        n_unscored: Those that are not.
        judge: Who was asked.
        is_told: Whether the judge told any of them. What is known without asking makes no share of
            its own: where all that was asked failed, all is unscored.
    """
    total, n_open = n + n_unscored, n_unscored
    if not is_told and n_unscored:
        n, n_unscored = 0, total
    interval = share_interval(n_hits, n)
    lower, upper = (n_hits / total, (n_hits + n_open) / total) if total else (None, None)
    worst, best = (upper, lower) if key in LOWER_IS_BETTER else (lower, upper)
    value = n_hits / n if n else None
    return round_score(build_score(value, n, n_unscored, interval, (worst, best), judge=judge))
