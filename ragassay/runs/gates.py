"""Check whether a run passes: thresholds on scores, and comparisons with a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, NamedTuple

from ragassay.errors import InputError
from ragassay.evaluators import OURS
from ragassay.metrics.stats.changes import SERIOUS_KEY, Change, ScoreChange, find_changes
from ragassay.metrics.stats.intervals import SHARE_SCALE
from ragassay.model_names import SIGNALS
from ragassay.records import Evaluation, Summary
from ragassay.reports.changes import change_text
from ragassay.reports.display import UNDECIDED
from ragassay.reports.labels import is_serious
from ragassay.reports.text import MEASURED, RUBRIC_KEY, average_rubrics, count_text, find_score_name

if TYPE_CHECKING:
    from ragassay.evaluators.base import Run
    from ragassay.judges import BaseJudge
    from ragassay.options import OptionStyle
    from ragassay.prompts import Rubric, RubricSet


ThresholdVerdict = tuple[Literal["reached", "below", "unmeasured"], str]


@dataclass(frozen=True)
class Threshold:
    """A threshold: the minimum value that the mean of a score must have."""

    key: str
    least: float

    def check_summary(self, summary: Summary) -> ThresholdVerdict:
        """Return whether the mean reaches the threshold, with a message if it does not."""
        score = summary.scores.get(self.key)
        if score is None:
            known = ", ".join(summary.scores) or "none"
            text = f"{self.key} could not be measured (the run has the scores: {known})"
            return "unmeasured", text
        if score.is_open and score.range is not None:
            return self._check_range(*score.range)
        if score.value is None:
            n = score.n + score.n_unscored
            why = (
                f"{score.n_unscored} of {n} answers are unscored"
                if n
                else "no answer has this score"
            )
            return "unmeasured", f"{self.key} could not be measured: {why}"
        if score.value < self.least:
            return "below", f"{self.key} is {score.value:.3f}, below {self.least:g}"
        return "reached", ""

    def _check_range(self, low: float, high: float) -> ThresholdVerdict:
        if low >= self.least:
            return "reached", ""
        text = f"{self.key} is between {low:.3f} and {high:.3f}"
        if high < self.least:
            return "below", f"{text}, below {self.least:g}"
        return "unmeasured", (
            f"{text}, so it may be below {self.least:g}; add a judge for the {UNDECIDED} verdicts"
        )


SHARES = frozenset({"nuggets", "sentences", "evidence", "correctness", "citations", "attribution"})
"""Groups of scores that are shares from 0 to 1."""


def parse_thresholds(
    texts: Sequence[str],
    rubric_set: RubricSet = "yescieval",
    own: Iterable[str] = (),
    option: str = "--fail-under",
    evaluators: Iterable[str] = (),
) -> list[Threshold]:
    """Parse thresholds in the form `SCORE=VALUE`. The prefix `rubric.` of a score may be omitted.

    Args:
        own: Names of custom rubrics.
        option: Name of the option that error messages show.
        evaluators: Names of custom evaluators.

    Raises:
        InputError: The form is invalid, the score is unknown, or the value is not on the scale of
            the score.
    """
    from ragassay.prompts import load_rubrics

    rubrics: dict[str, Rubric | None] = {**load_rubrics(rubric_set), **dict.fromkeys(own)}
    rubrics |= own if isinstance(own, Mapping) else {}
    thresholds: list[Threshold] = []
    for text in texts:
        name, _, value = text.partition("=")
        try:
            least = float(value)
        except ValueError as error:
            raise InputError(
                f"{option} {text!r} does not have the form SCORE=VALUE, such as correctness=3.5"
            ) from error
        name = name.strip()
        if "." not in name and name not in rubrics:
            raise InputError(
                f"{option}: unknown score {name!r}; the rubrics are {', '.join(rubrics)}, and "
                "other scores contain a dot, such as nuggets.recall"
            )
        key = name if "." in name else f"rubric.{name}"
        _check_key(key, [f"rubric.{rubric}" for rubric in rubrics], set(evaluators), option)
        _check_scale(key, least, rubrics, f"{option} {text!r}")
        thresholds.append(Threshold(key, least))
    return thresholds


def _check_scale(key: str, least: float, rubrics: Mapping[str, Rubric | None], option: str) -> None:
    part, _, name = key.partition(".")
    rubric = rubrics.get(name) if part == "rubric" else None
    scale = rubric.bounds if rubric else SHARE_SCALE if part in SHARES else None
    if scale and not scale[0] <= least <= scale[1]:
        raise InputError(f"{option}: {key} must be from {scale[0]:g} to {scale[1]:g}")


def _check_key(key: str, rubrics: Sequence[str], evaluators: Set[str], option: str) -> None:
    known = [*rubrics, *(name for evaluator in OURS for name in evaluator.display.scores)]
    custom = evaluators - {name.partition(".")[0] for name in known}
    if key not in known and key.partition(".")[0] not in custom:
        close = ", ".join(get_close_matches(key, known))
        hint = f"did you mean {close}?" if close else "see docs/evaluators.md"
        raise InputError(f"{option}: unknown score {key!r}; {hint}")


def check_judged(thresholds: Iterable[Threshold], judge: BaseJudge, rubrics: Iterable[str]) -> None:
    """If there is no judge, reject thresholds on rubrics that cannot be rated from signals.

    Raises:
        InputError: A threshold is on a score that only a judge can measure.
    """
    if judge.name_raters(rubrics) != SIGNALS:
        return
    for threshold in thresholds:
        if threshold.key in MEASURED:
            raise InputError(
                f"a threshold on {threshold.key} requires a judge, such as --model "
                f"openai/gpt-4.1-mini; signals measure only {MEASURED[threshold.key].lower()}"
            )


def read_thresholds(
    texts: Mapping[str, float] | str | Sequence[str] | None,
    run: Run,
    style: OptionStyle = "keyword",
) -> list[Threshold]:
    """Parse and check the thresholds of a run. See `parse_thresholds` and `check_judged`."""
    if isinstance(texts, Mapping):
        texts = [f"{name}={least}" for name, least in texts.items()]
    thresholds = parse_thresholds(
        [texts] if isinstance(texts, str) else texts or (),
        run.settings.evaluation.rubric_set,
        run.rubrics,
        "--fail-under" if style == "flag" else "`fail_under=`",
        [evaluator.name for evaluator in run.registered],
    )
    check_judged(thresholds, run.judge, run.rubrics)
    return thresholds


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
"""Scores that are compared answer by answer, if the runs have them. The findings of answers are
always compared."""

LEAST_MEASURED_SHARE = 0.5
"""A compared score must have a value for at least this share of the baseline's questions."""


class Side(NamedTuple):
    """A run or system to compare, with its evaluations."""

    name: str
    evaluations: tuple[Evaluation, ...]


class ChangeVerdict(NamedTuple):
    """A score that is worse than in the baseline or unmeasured, with the message to print."""

    key: str
    is_worse: bool
    text: str


def compare_sides(
    sides: Sequence[Side], keys: Sequence[str] = (), baseline: str = ""
) -> tuple[Change, ...]:
    """Compare each run or system with the baseline. By default, the first one is the baseline.

    Raises:
        InputError: The baseline is unknown, or there is only one side.
    """
    names = [side.name for side in sides]
    if baseline and baseline not in names:
        raise InputError(f"unknown baseline {baseline!r}; choose one of {', '.join(names)}")
    if len(sides) < 2:
        raise InputError("there is nothing to compare; pass two runs, or a run with two systems")
    old = sides[names.index(baseline) if baseline else 0]
    rated = [Side(side.name, tuple(map(_add_rubric_mean, side.evaluations))) for side in sides]
    known = {key for side in rated for e in side.evaluations for key in e.scores}
    chosen = [key for key in keys or MAIN_KEYS if key in known] or sorted(known)
    return find_changes(
        rated[names.index(old.name)],
        [side for side in rated if side.name != old.name],
        (SERIOUS_KEY, *chosen),
        lambda finding: is_serious(finding.kind),
    )


def _add_rubric_mean(evaluation: Evaluation) -> Evaluation:
    mean = average_rubrics(evaluation.scores)
    if mean is None:
        return evaluation
    return evaluation.model_copy(update={"scores": {RUBRIC_KEY: mean, **evaluation.scores}})


def find_worse_scores(
    changes: Sequence[Change], margin: float | None = None
) -> tuple[ChangeVerdict, ...]:
    """Return the scores that are worse than in the baseline or could not be measured.

    Args:
        margin: A score that is worse by more than this share of its scale fails even if the
            difference is not significant. If None, only significant differences fail.
    """
    verdicts = (
        _judge_change(change, score, margin) for change in changes for score in change.scores
    )
    return tuple(verdict for verdict in verdicts if verdict)


def _judge_change(change: Change, score: ScoreChange, margin: float | None) -> ChangeVerdict | None:
    subject = f"{find_score_name(score.key)} of {change.new}"
    n, n_baseline = score.test.n_questions, score.n_questions
    if n < LEAST_MEASURED_SHARE * n_baseline:
        share = f"{n} of {count_text(n_baseline, 'question')} of {change.old}"
        return ChangeVerdict(score.key, False, f"could not be measured: {subject}: {share}")
    text = f"{subject}: {change_text(score)}"
    if score.overlaps:
        return ChangeVerdict(score.key, False, f"could not be measured: {text}")
    exceeds_margin = margin is not None and (score.gain or 0.0) < -margin
    if score.direction != "worse" and not exceeds_margin:
        return None
    return ChangeVerdict(score.key, True, f"worse: {text}")
