"""Combine judgments of a panel, a cascade, or a fine-tuned judge and signals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from ragassay.records import CascadePart, CascadeSummary, Failure, Judgment, Usage, VerdictBase

DISPUTED_POINTS = 2.0
"""Minimum difference between disputed scores, which is half the width of a scale from 1 to 5."""


def choose_final_judgment(member: Judgment) -> Judgment:
    """Return the last judgment of a member, or the first judgment if the last one failed."""
    return member.first if member.score is None and member.first is not None else member


def list_single_judgments(judgments: Iterable[Judgment]) -> list[Judgment]:
    """Return the judgments of single judges, which include the members of panels."""
    return [one for judgment in judgments for one in judgment.members or (judgment,)]


def is_disputed(members: Sequence[Judgment]) -> bool:
    """Return whether any two scores differ by at least `DISPUTED_POINTS`."""
    scores = [member.score for member in members if member.score is not None]
    return any(abs(a - b) >= DISPUTED_POINTS for a, b in combinations(scores, 2))


def merge_judgments(members: Sequence[Judgment]) -> Judgment:
    """Merge the members' judgments on one rubric.

    The score is the mean of the members' scores, and the rating is the score rounded half up. The
    distribution is the mean of the members' distributions, if all scored members have one. The
    rationale comes from the member whose score is closest to the mean, and the sentences come from
    all members. The judgment is unscored if all members are unscored.
    """
    firsts = [member.first for member in members if member.first is not None]
    usage = sum((one.usage for one in (*members, *firsts)), Usage())
    common = {"rubric": members[0].rubric, "members": tuple(members), "usage": usage}
    scored = [
        (one, one.score) for m in members if (one := choose_final_judgment(m)).score is not None
    ]
    if not scored:
        return Judgment(**common, scale=members[0].scale, failure=_merge_failures(members))
    mean = math.fsum(score for _, score in scored) / len(scored)
    nearest, _ = min(scored, key=lambda pair: abs(pair[1] - mean))
    return Judgment(
        **common,
        scale=nearest.scale,
        rating=math.floor(mean + 0.5),
        score=round(mean, 4),
        distribution=_average_distributions([one for one, _ in scored]),
        rationale=nearest.rationale,
        sentences=tuple(sorted({n for one, _ in scored for n in one.sentences})),
    )


def _average_distributions(judgments: Sequence[Judgment]) -> tuple[float, ...] | None:
    known = [j.distribution for j in judgments if j.distribution is not None]
    if len(known) < len(judgments):
        return None
    return tuple(round(math.fsum(shares) / len(known), 6) for shares in zip(*known, strict=True))


def _merge_failures(members: Sequence[Judgment]) -> Failure:
    failures = [(m.judge, m.failure) for m in members if m.failure is not None]
    detail = "; ".join(f"{judge}: {failure.reason}" for judge, failure in failures)
    reason = failures[0][1].reason if failures else "error"
    return Failure(reason=reason, detail=f"no panel member returned a rating ({detail})")


def compute_panel_bounds(judgment: Judgment) -> tuple[float, float]:
    """Return the lowest and the highest score that a panel could reach with its missing ratings."""
    low, high = judgment.scale
    scores = [choose_final_judgment(one).score for one in judgment.members or (judgment,)]
    worst, best = (
        math.fsum(end if score is None else score for score in scores) / len(scores)
        for end in (low, high)
    )
    return round(worst, 4), round(best, 4)


def join_judge_names(first: str, second: str | None) -> str:
    """Return the name of a cascade of two judges."""
    return first if second in (None, "", first) else f"{first}, where unsure {second}"


def summarize_cascade(
    asked: Mapping[str, Sequence[VerdictBase]], judge: str, second: str, when: str
) -> CascadeSummary:
    """Summarize how many verdicts the second judge gave, and how much they cost.

    Args:
        asked: Verdicts of the cascade, keyed by kind. The summary has one part per kind.
    """
    parts = tuple(_summarize_part(kind, verdicts) for kind, verdicts in asked.items())
    known = [part.full_cost_usd for part in parts if part.full_cost_usd is not None]
    return CascadeSummary(
        judge=judge,
        second=second,
        when=when,
        parts=parts,
        usage=sum((part.usage for part in parts), Usage()),
        full_cost_usd=math.fsum(known) if known else None,
    )


def _summarize_part(kind: str, verdicts: Sequence[VerdictBase]) -> CascadePart:
    escalations = [verdict.escalation for verdict in verdicts if verdict.escalation is not None]
    usage = sum((escalation.usage for escalation in escalations), Usage())
    n_failed = sum(escalation.failure is not None for escalation in escalations)
    return CascadePart(
        kind=kind,
        n=len(verdicts),
        n_kept=len(verdicts) - len(escalations),
        n_escalated=len(escalations) - n_failed,
        n_failed=n_failed,
        usage=usage,
        full_cost_usd=estimate_full_cost(usage, len(verdicts)),
    )


def estimate_full_cost(usage: Usage, n_questions: int) -> float | None:
    """Return the cost of asking n questions, or None if the price is unknown."""
    if usage.cost_usd is None or not usage.n_calls:
        return None
    return usage.cost_usd / usage.n_calls * n_questions


TUNED_SHARE = 0.25
"""Weight of the fine-tuned judge when it is combined with signals. On 48 held-out questions,
weights of 0.25 to 0.5 detect 0.995 of extreme and 0.924 of subtle perturbations. Signals alone
detect 0.995 and 0.926, and a weight of 0.8 detects fewer (`benchmarks/audit.py --only given --limit
48`)."""

BEYOND_SENTENCES = ("cohesion", "completeness", "integration")
"""Rubrics that depend on several sentences. A judge that reads single sentences is not
asked for these rubrics if signals can rate them."""


def join_judgments(tuned: Judgment, measured: Judgment, share: float = TUNED_SHARE) -> Judgment:
    """Combine judgments by a fine-tuned judge and from signals, on the same answer and scale.

    The score and the distribution are weighted means. The rationale comes from the judgment with
    the lower rating, or from both judgments if the ratings are equal. If one judgment is unscored,
    the other judgment is returned.

    Args:
        share: Weight of the fine-tuned judge in [0, 1].
    """
    if measured.score is None or tuned.score is None:
        return tuned if tuned.score is not None else measured
    low, high = tuned.scale
    pairs = zip(tuned.distribution or (), measured.distribution or (), strict=False)
    mixed = tuple(round(share * a + (1 - share) * b, 6) for a, b in pairs)
    score = share * tuned.score + (1 - share) * measured.score
    lowest = min(_get_rating(tuned), _get_rating(measured))
    reasons = [one for one in (tuned, measured) if _get_rating(one) == lowest]
    return tuned.model_copy(
        update={
            "rating": min(high, max(low, round(score))),
            "score": round(score, 4),
            "distribution": mixed or None,
            "rationale": " ".join(dict.fromkeys(one.rationale for one in reasons if one.rationale)),
            "sentences": tuple(dict.fromkeys(n for one in reasons for n in one.sentences)),
        }
    )


def _get_rating(judgment: Judgment) -> int:
    return judgment.rating if judgment.rating is not None else judgment.scale[1]
