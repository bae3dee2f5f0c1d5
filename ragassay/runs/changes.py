"""Changes from a baseline to another run or system, and whether they fail a gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragassay.errors import InputError
from ragassay.metrics.changes import SERIOUS_KEY, Change, ScoreChange, find_changes
from ragassay.records import Evaluation, Finding
from ragassay.reports.changes import change_text
from ragassay.reports.labels import is_serious
from ragassay.reports.score_words import RUBRIC_KEY, score_name
from ragassay.reports.text import count_text, rubric_mean

MAIN_KEYS = (
    RUBRIC_KEY,
    "correctness.score",
    "nuggets.recall",
    "nuggets.precision",
    "sentences.required",
    "evidence.support",
    "citations.support",
    "exam.cover",
)
"""Scores that are compared answer by answer, as far as there are any; findings always are."""

MEASURED = 0.5
"""Share of the baseline's questions that the other side must have a score for."""


class Side(NamedTuple):
    """A run or a system: its name and its answers."""

    name: str
    evaluations: tuple[Evaluation, ...]


class Verdict(NamedTuple):
    """A gate's verdict on one score; neither worse nor unmeasured is not listed."""

    key: str
    is_worse: bool
    text: str


def changes_between(
    sides: Sequence[Side], keys: Sequence[str] = (), baseline: str = ""
) -> tuple[Change, ...]:
    """Compare each side with the baseline; the first is the baseline unless one is named.

    Raises:
        InputError: There is no such side, or no other.
    """
    names = [side.name for side in sides]
    if baseline and baseline not in names:
        raise InputError(f"there is no {baseline!r} to compare with; there are {', '.join(names)}")
    if len(sides) < 2:
        raise InputError("nothing to compare answer by answer: give two runs, or two systems")
    old = sides[names.index(baseline) if baseline else 0]
    rated = [Side(side.name, tuple(map(_with_rubric_mean, side.evaluations))) for side in sides]
    known = {key for side in rated for e in side.evaluations for key in e.scores}
    chosen = [key for key in keys or MAIN_KEYS if key in known] or sorted(known)
    return find_changes(
        rated[names.index(old.name)],
        [side for side in rated if side.name != old.name],
        (SERIOUS_KEY, *chosen),
        _is_serious,
    )


def _is_serious(finding: Finding) -> bool:
    return is_serious(finding.kind)


def _with_rubric_mean(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with the mean of its rubrics as one more score."""
    mean = rubric_mean(evaluation.scores)
    if mean is None:
        return evaluation
    return evaluation.model_copy(update={"scores": {RUBRIC_KEY: mean, **evaluation.scores}})


def gate(changes: Sequence[Change], margin: float | None = None) -> tuple[Verdict, ...]:
    """Return every score that is worse than the baseline's, or could not be measured.

    Args:
        changes: As compared with the baseline.
        margin: A score that is worse by more than this share of its scale fails too, whether the
            difference is significant or not; None where only a significant one does.
    """
    found = [_verdict(change, score, margin) for change in changes for score in change.scores]
    return tuple(verdict for verdict in found if verdict)


def _verdict(change: Change, score: ScoreChange, margin: float | None) -> Verdict | None:
    name, n, wanted = score_name(score.key), score.test.n_questions, score.n_questions
    if n < MEASURED * wanted:
        of = f"{n} of {count_text(wanted, 'question')} of {change.old}"
        return Verdict(score.key, False, f"could not be measured: {name} of {change.new}: {of}")
    if score.overlaps:
        text = f"could not be measured: {name} of {change.new}: {change_text(score)}"
        return Verdict(score.key, False, text)
    by_margin = margin is not None and (score.gain or 0.0) < -margin
    if score.direction != "worse" and not by_margin:
        return None
    return Verdict(score.key, True, f"worse: {name} of {change.new}: {change_text(score)}")
