"""Combine judgments of a panel, of a cascade, of a fine-tuned judge and signals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from ragassay.records import CascadePart, CascadeSummary, Failure, Judgment, Usage, VerdictBase

DISPUTED_POINTS = 2.0
"""Difference between two scores from which at least one must be wrong: half of a scale from 1 to
5."""


def final_judgment(member: Judgment) -> Judgment:
    """Return the judgment that counts for a member: the last, or the first where that failed."""
    return member.first if member.score is None and member.first is not None else member


def single_judgments(judgments: Iterable[Judgment]) -> list[Judgment]:
    """Return every judge's own judgment: those of panel members and of single judges."""
    return [one for judgment in judgments for one in judgment.members or (judgment,)]


def is_disputed(members: Sequence[Judgment]) -> bool:
    """Return whether two scores differ by two points or more; unscored members do not count."""
    scores = [member.score for member in members if member.score is not None]
    return any(abs(a - b) >= DISPUTED_POINTS for a, b in combinations(scores, 2))


def panel_judgment(members: Sequence[Judgment]) -> Judgment:
    """Merge the members' judgments on one rubric.

    The score is the mean of theirs; the rating is the nearest whole number, halves rounded up. A
    member without a rating is left out of both and kept among the members. The distribution is the
    mean of theirs, where all have one; the reason is that of the member nearest to the score; the
    sentences are those that any of them names.

    Args:
        members: At least one, in the order of the settings, all on the same rubric and scale.

    Returns:
        Unscored only where every member is.
    """
    usage = sum((one.usage for one in (*members, *_firsts(members))), Usage())
    kept = {"rubric": members[0].rubric, "members": tuple(members), "usage": usage}
    scored = [(one, one.score) for m in members if (one := final_judgment(m)).score is not None]
    if not scored:
        return Judgment(**kept, scale=members[0].scale, failure=_joint_failure(members))
    mean = math.fsum(score for _, score in scored) / len(scored)
    nearest, _ = min(scored, key=lambda pair: abs(pair[1] - mean))
    return Judgment(
        **kept,
        scale=nearest.scale,
        rating=math.floor(mean + 0.5),
        score=round(mean, 4),
        distribution=_mean_distribution([one for one, _ in scored]),
        rationale=nearest.rationale,
        sentences=tuple(sorted({n for one, _ in scored for n in one.sentences})),
    )


def _firsts(members: Iterable[Judgment]) -> list[Judgment]:
    return [member.first for member in members if member.first is not None]


def _mean_distribution(judgments: Sequence[Judgment]) -> tuple[float, ...] | None:
    known = [j.distribution for j in judgments if j.distribution is not None]
    if len(known) < len(judgments):
        return None
    return tuple(round(math.fsum(shares) / len(known), 6) for shares in zip(*known, strict=True))


def _joint_failure(members: Sequence[Judgment]) -> Failure:
    failures = [(m.judge, m.failure) for m in members if m.failure is not None]
    detail = "; ".join(f"{judge}: {failure.reason}" for judge, failure in failures)
    reason = failures[0][1].reason if failures else "error"
    return Failure(reason=reason, detail=f"no judge of the panel gave a rating ({detail})")


def panel_bounds(judgment: Judgment) -> tuple[float, float]:
    """Return a judgment's score if every missing rating were the lowest, or the highest."""
    low, high = judgment.scale
    scores = [final_judgment(one).score for one in judgment.members or (judgment,)]
    worst, best = (
        math.fsum(end if score is None else score for score in scores) / len(scores)
        for end in (low, high)
    )
    return round(worst, 4), round(best, 4)


def joint_name(first: str, second: str | None) -> str:
    """Return the name for two judges: the second decides what the first is not sure of."""
    return first if second in (None, "", first) else f"{first}, where unsure {second}"


def cascade_of(
    asked: Mapping[str, Sequence[VerdictBase]], judge: str, second: str, when: str
) -> CascadeSummary:
    """Count the questions of a run, and sum the second judge's cost.

    `asked` are the first judge's verdicts by kind of question; each kind becomes a part.

    Returns:
        A part for each kind of question, in the given order.
    """
    parts = tuple(_part(kind, verdicts) for kind, verdicts in asked.items())
    known = [part.full_cost_usd for part in parts if part.full_cost_usd is not None]
    return CascadeSummary(
        judge=judge,
        second=second,
        when=when,
        parts=parts,
        usage=sum((part.usage for part in parts), Usage()),
        full_cost_usd=math.fsum(known) if known else None,
    )


def _part(kind: str, verdicts: Sequence[VerdictBase]) -> CascadePart:
    sent = [verdict.escalation for verdict in verdicts if verdict.escalation is not None]
    usage = sum((escalation.usage for escalation in sent), Usage())
    n_failed = sum(escalation.failure is not None for escalation in sent)
    return CascadePart(
        kind=kind,
        n=len(verdicts),
        n_kept=len(verdicts) - len(sent),
        n_escalated=len(sent) - n_failed,
        n_failed=n_failed,
        usage=usage,
        full_cost_usd=full_cost_usd(usage, len(verdicts)),
    )


def full_cost_usd(usage: Usage, n_questions: int) -> float | None:
    """Estimate the cost of n questions: cost / calls * n; None for an unknown price or no call."""
    if usage.cost_usd is None or not usage.n_calls:
        return None
    return usage.cost_usd / usage.n_calls * n_questions


TUNED_SHARE = 0.25
"""Weight of the fine-tuned judge; the signals have the rest. From .25 to .5 a mixture detects .995
of extreme and .924 of subtle damage on 48 held-out questions, signals alone .995 and .926; at .8
it detects less (`benchmarks/audit.py --only given --limit 48`, with this changed)."""

BEYOND_SENTENCES = ("cohesion", "completeness", "integration")
"""Rubrics that no single sentence decides: how sentences connect, and what none of them states. A
judge that reads sentences one by one is blind for these; where signals rate, it is not asked."""


def join_judgments(tuned: Judgment, measured: Judgment, share: float = TUNED_SHARE) -> Judgment:
    """Return the mixture of two judgments of the same answer on the same scale.

    The score is the expectation of the mixed distribution. The reasons are those of both, or of the
    one with the lower rating, which found a fault.

    `share` is the weight of the fine-tuned judge, in [0, 1]. Of an unscored judgment and another,
    the other is returned.
    """
    if measured.score is None or tuned.score is None:
        return tuned if tuned.score is not None else measured
    low, high = tuned.scale
    pairs = zip(tuned.distribution or (), measured.distribution or (), strict=False)
    mixed = tuple(round(share * a + (1 - share) * b, 6) for a, b in pairs)
    score = share * tuned.score + (1 - share) * measured.score
    lowest = min(_rating(tuned), _rating(measured))
    reasons = [one for one in (tuned, measured) if _rating(one) == lowest]
    return tuned.model_copy(
        update={
            "rating": min(high, max(low, round(score))),
            "score": round(score, 4),
            "distribution": mixed or None,
            "rationale": " ".join(dict.fromkeys(one.rationale for one in reasons if one.rationale)),
            "sentences": tuple(dict.fromkeys(n for one in reasons for n in one.sentences)),
        }
    )


def _rating(judgment: Judgment) -> int:
    """Return the given rating; a score may be far from the likeliest rating."""
    return judgment.rating if judgment.rating is not None else judgment.scale[1]
