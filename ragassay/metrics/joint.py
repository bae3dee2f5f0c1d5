"""Merge a fine-tuned judge's rating with the rating by signals."""

from __future__ import annotations

from ragassay.records import Judgment

TUNED_SHARE = 0.25
"""Weight of the fine-tuned judge; the signals have the rest. From .25 to .5 a mixture detects .995
of extreme and .924 of subtle damage on 48 held-out questions, signals alone .995 and .926; at .8
it detects less (`benchmarks/audit.py --only given --limit 48`, with this changed)."""

BEYOND_SENTENCES = ("cohesion", "completeness", "integration")
"""Rubrics that no single sentence decides: how sentences connect, and what none of them states. A
judge that reads sentences one by one is blind for these; where signals rate, it is not asked."""


def joined(tuned: Judgment, measured: Judgment, share: float = TUNED_SHARE) -> Judgment:
    """Return the mixture of two judgments of the same answer on the same scale.

    The score is the expectation of the mixed distribution. The reasons are those of both, or of the
    one with the lower rating, which found a fault.

    Args:
        tuned: The fine-tuned judge's.
        measured: The rating by signals; where it is unscored, `tuned` is returned.
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
    """Return the given rating; a score may be far from the likeliest rating."""
    return judgment.rating if judgment.rating is not None else judgment.scale[1]
