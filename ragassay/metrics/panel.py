"""Merge the judgments of a panel's members into one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

from ragassay.records import Failure, Judgment, Usage

DISPUTED_POINTS = 2.0
"""Difference between two scores from which at least one must be wrong: half of a scale from 1 to
5."""


def standing(member: Judgment) -> Judgment:
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
    scored = [(one, one.score) for m in members if (one := standing(m)).score is not None]
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
    scores = [standing(one).score for one in judgment.members or (judgment,)]
    worst, best = (
        math.fsum(end if score is None else score for score in scores) / len(scores)
        for end in (low, high)
    )
    return round(worst, 4), round(best, 4)
