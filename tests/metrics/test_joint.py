"""A rating of a fine-tuned judge and one by signals, as one."""

from __future__ import annotations

import pytest

from ragassay.metrics.stats.joint_judgments import join_judgments
from ragassay.records import Failure, Judgment


def judgment(
    score: float, reason: str, sentences: tuple[int, ...] = (), **extra: object
) -> Judgment:
    low = int(score)
    shares = [0.0] * 5
    shares[low - 1] += low + 1 - score
    if score > low:
        shares[low] += score - low
    return Judgment(
        rubric="relevancy",
        rating=round(score),
        score=score,
        distribution=tuple(shares),
        rationale=reason,
        sentences=sentences,
        **extra,  # type: ignore[arg-type]
    )


def test_the_score_is_the_expectation_of_the_mixture() -> None:
    # (2 + 4.5) / 2 = 3.25; half of [0, 1, 0, 0, 0] and half of [0, 0, 0, .5, .5]
    found = join_judgments(judgment(2, "a"), judgment(4.5, "b"), share=0.5)
    assert found.score == 3.25 and found.rating == 3
    assert found.distribution == (0, 0.5, 0, 0.25, 0.25)
    assert sum((n + 1) * p for n, p in enumerate(found.distribution)) == pytest.approx(found.score)


def test_the_share_is_that_of_the_tuned_judge() -> None:
    assert join_judgments(judgment(1, "a"), judgment(5, "b"), share=0.25).score == 4.0


def test_who_saw_something_gives_the_reason() -> None:
    low, high = judgment(1, "Sentence 2 is off.", (2,)), judgment(5, "All is well.")
    for pair in ((low, high), (high, low)):
        found = join_judgments(*pair)
        assert (found.rationale, found.sentences) == ("Sentence 2 is off.", (2,))
    near = join_judgments(judgment(2, "One.", (1, 2)), judgment(2.2, "Two.", (2, 3)))
    assert near.rationale == "One. Two." and near.sentences == (1, 2, 3)


def test_where_one_is_unscored_the_other_stands() -> None:
    there = judgment(4, "a")
    missing = Judgment(rubric="relevancy", failure=Failure(reason="no_evidence", detail="none"))
    assert join_judgments(there, missing) == there
    assert join_judgments(missing, there) == there
    assert join_judgments(missing, missing).failure is not None
