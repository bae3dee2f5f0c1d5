"""Measure how far a panel's judges agree, before and after they read each other's ratings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragassay.metrics.aggregates import question_of
from ragassay.metrics.agreement import krippendorff_alpha
from ragassay.metrics.intervals import mean_interval
from ragassay.metrics.panel import is_disputed, standing
from ragassay.metrics.panel_alike import agreeing_pairs, effective_judges, ratings_alone
from ragassay.metrics.resampling import ratio_interval
from ragassay.metrics.scoring import build_score
from ragassay.records import Evaluation, Judgment, PanelAgreement, PanelMember, Score


def panel_agreement(evaluations: Sequence[Evaluation]) -> PanelAgreement | None:
    """Measure the agreement of a run's panel members over all answers and rubrics.

    Ratings that each gave alone are kept apart from those after reading the others': only the
    former are independent, so only their agreement measures how reliable the judges are.

    Returns:
        None where no judgment is by a panel. Intervals resample questions.
    """
    units = [
        (question_of(evaluation), judgment)
        for evaluation in evaluations
        for judgment in evaluation.judgments
        if judgment.members
    ]
    if not units:
        return None
    alone = [[member.first or member for member in panel.members] for _, panel in units]
    final = [[standing(member) for member in panel.members] for _, panel in units]
    disputed = [is_disputed(members) for members in alone]
    judges = list(dict.fromkeys(m.judge for _, panel in units for m in panel.members))
    members = tuple(_member(judge, units) for judge in judges)
    questions = [question for question, _ in units]
    pairs = agreeing_pairs(ratings_alone(evaluations))
    return PanelAgreement(
        members=members,
        alpha_alone=_alpha(alone, questions),
        alpha=_alpha(final, questions),
        exact_alone=_exact(alone, questions),
        exact=_exact(final, questions),
        n_disputed=sum(disputed),
        n_settled=sum(d and not is_disputed(f) for d, f in zip(disputed, final, strict=True)),
        n_heard_again=sum(member.n_heard_again for member in members),
        n_moved=sum(member.n_moved for member in members),
        pairs=pairs,
        n_effective=effective_judges(pairs),
    )


def _member(judge: str, units: Sequence[tuple[str, Judgment]]) -> PanelMember:
    """Return one judge's mean over everything, and how it moved after reading the others."""
    own = [(q, m) for q, panel in units for m in panel.members if m.judge == judge]
    scored = [(q, score) for q, m in own if (score := standing(m).score) is not None]
    scores = [score for _, score in scored]
    scales = [m.scale for _, m in own]
    interval = mean_interval(scores, [q for q, _ in scored]) or (None, None)
    heard = [(m, m.first) for _, m in own if m.first is not None and m.rating is not None]
    return PanelMember(
        judge=judge,
        score=Score(
            value=round(math.fsum(scores) / len(scores), 4) if scores else None,
            n=len(scores),
            n_unscored=len(own) - len(scores),
            low=interval[0],
            high=interval[1],
            scale=(min(low for low, _ in scales), max(high for _, high in scales)),
            judge=judge,
        ),
        n_heard_again=len(heard),
        n_moved=sum(again.rating != first.rating for again, first in heard),
    )


def _alpha(units: Sequence[Sequence[Judgment]], questions: Sequence[str]) -> Score:
    """Return Krippendorff's alpha for ordinal data, of the written ratings."""
    scales = [one.scale for unit in units for one in unit]
    ratings = range(min(low for low, _ in scales), max(high for _, high in scales) + 1)
    given = [[str(one.rating) for one in unit if one.rating is not None] for unit in units]
    return krippendorff_alpha(given, [str(r) for r in ratings], "ordinal", questions)


def _exact(units: Sequence[Sequence[Judgment]], questions: Sequence[str]) -> Score:
    """Return the share of judgments with two ratings or more in which all ratings are the same."""
    given = [[one.rating for one in unit if one.rating is not None] for unit in units]
    several = [(q, unit) for q, unit in zip(questions, given, strict=True) if len(unit) > 1]
    hits = [float(len(set(unit)) == 1) for _, unit in several]
    names = [question for question, _ in several]
    interval = ratio_interval(hits, [1.0] * len(hits), names) if hits else None
    value = sum(hits) / len(hits) if hits else None
    return build_score(value, len(hits), len(units) - len(hits), interval)
