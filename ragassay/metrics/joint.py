"""A rating of a fine-tuned judge and one by signals, as one."""

from __future__ import annotations

from ragassay.records import Judgment

TUNED_SHARE = 0.25
"""Weight of the fine-tuned judge; the rest is that of the signals. From .25 to .5 a mixture finds
.995 of extreme and .924 of subtle damage on 48 held-out questions, where signals alone find .995
and .926; at .8 it finds less (`benchmarks/audit.py --only given --limit 48`, with this changed)."""

BEYOND_SENTENCES = ("cohesion", "completeness", "integration")
"""Rubrics that no sentence decides by itself: how sentences hang together, and what none of them
says. A judge that reads them one by one is blind for these; beside signals it is not asked."""


def joined(tuned: Judgment, measured: Judgment, share: float = TUNED_SHARE) -> Judgment:
    """The mixture of two judgments of the same answer on the same scale.

    The score is the expectation of the mixed distribution. The reasons are those of both, or of the
    one that gives the lower rating, for it saw something.

    Args:
        tuned: Of the fine-tuned judge.
        measured: By signals; where it is unscored, `tuned` stands alone.
        share: Weight of `tuned`, in [0, 1].
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
    """The rating that was given; a score may lie far from the likeliest one."""
    return judgment.rating if judgment.rating is not None else judgment.scale[1]
