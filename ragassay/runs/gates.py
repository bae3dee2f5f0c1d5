"""Gates that a run can fail: thresholds of its scores, changes from a baseline."""

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
from ragassay.records import Evaluation, Finding, Summary
from ragassay.reports.changes import change_text
from ragassay.reports.display import UNDECIDED
from ragassay.reports.labels import is_serious
from ragassay.reports.text import MEASURED, RUBRIC_KEY, count_text, rubric_mean, score_name

if TYPE_CHECKING:
    from ragassay.evaluators.base import Run
    from ragassay.judges import BaseJudge
    from ragassay.options import OptionStyle
    from ragassay.prompts import Rubric, RubricSet


ThresholdVerdict = tuple[Literal["reached", "below", "unmeasured"], str]


@dataclass(frozen=True)
class Threshold:
    """A least mean."""

    key: str
    least: float

    def verdict(self, summary: Summary) -> ThresholdVerdict:
        """Return whether the run's mean is below or could not be measured, in a line."""
        score = summary.scores.get(self.key)
        if score is None:
            known = ", ".join(summary.scores) or "none"
            return "unmeasured", f"{self.key} could not be measured: the run's scores are {known}"
        if score.is_open and score.range is not None:
            return self._of_range(*score.range)
        if score.value is None:
            of = score.n + score.n_unscored
            why = f"{score.n_unscored} of {of} answers are unscored" if of else "no answer has it"
            return "unmeasured", f"{self.key} could not be measured: {why}"
        is_below = score.value < self.least
        told = f"{self.key} is {score.value:.3f}, below {self.least:g}" if is_below else ""
        return ("below" if is_below else "reached"), told

    def _of_range(self, low: float, high: float) -> ThresholdVerdict:
        """Return what holds whatever the verdicts are that are missing."""
        told = f"{self.key} lies between {low:.3f} and {high:.3f}"
        if low >= self.least:
            return "reached", ""
        if high < self.least:
            return "below", f"{told}, below {self.least:g}"
        return "unmeasured", f"{told}, around {self.least:g}: name a judge for what is {UNDECIDED}"


SHARES = frozenset({"nuggets", "sentences", "evidence", "correctness", "citations", "attribution"})
"""Parts all of whose scores are shares."""


def parse_thresholds(
    texts: Sequence[str],
    rubric_set: RubricSet = "yescieval",
    own: Iterable[str] = (),
    option: str = "--fail-under",
    evaluators: Iterable[str] = (),
) -> list[Threshold]:
    """Read `SCORE=VALUE`; a rubric may go without its `rubric.`.

    Args:
        texts: The user's texts.
        rubric_set: The run's set of rubrics.
        own: Names of the user's own rubrics.
        option: The option's name, for errors.
        evaluators: Names of the user's own evaluators.

    Raises:
        InputError: A text does not have that form, names no score, or its value is not on the
            score's scale.
    """
    from ragassay.prompts import load_rubrics

    rubrics: dict[str, Rubric | None] = {**load_rubrics(rubric_set), **dict.fromkeys(own)}
    rubrics |= own if isinstance(own, Mapping) else {}
    found: list[Threshold] = []
    for text in texts:
        name, _, value = text.partition("=")
        try:
            least = float(value)
        except ValueError as error:
            raise InputError(
                f"{option} {text!r} is not SCORE=VALUE, e.g. correctness=3.5"
            ) from error
        name = name.strip()
        if "." not in name and name not in rubrics:
            raise InputError(
                f"{option} names no score: {name!r}; rubrics are {', '.join(rubrics)}, "
                "other scores have a dot, e.g. nuggets.recall"
            )
        key = name if "." in name else f"rubric.{name}"
        _check_key(key, [f"rubric.{one}" for one in rubrics], set(evaluators), option)
        _check_scale(key, least, rubrics, f"{option} {text!r}")
        found.append(Threshold(key, least))
    return found


def _check_scale(key: str, least: float, rubrics: Mapping[str, Rubric | None], option: str) -> None:
    """Refuse a value that no score of a name can have, where its scale is known before the run."""
    part, _, name = key.partition(".")
    rubric = rubrics.get(name) if part == "rubric" else None
    scale = rubric.bounds if rubric else SHARE_SCALE if part in SHARES else None
    if scale and not scale[0] <= least <= scale[1]:
        raise InputError(f"{option}: {key} is from {scale[0]:g} to {scale[1]:g}")


def _check_key(key: str, rubrics: Sequence[str], evaluators: Set[str], option: str) -> None:
    """Refuse a name that no score of a run can have, before the run.

    Raises:
        InputError: It is none; the closest ones are named.
    """
    known = [*rubrics, *(name for one in OURS for name in one.display.scores)]
    own = evaluators - {one.partition(".")[0] for one in known}
    if key not in known and key.partition(".")[0] not in own:
        close = ", ".join(get_close_matches(key, known)) or "see docs/evaluators.md"
        raise InputError(f"{option} names no score: {key!r}; closest: {close}")


def check_judged(thresholds: Iterable[Threshold], judge: BaseJudge, rubrics: Iterable[str]) -> None:
    """Refuse a threshold of a rubric that only a judge can tell where signals rate, before the run.

    Raises:
        InputError: It needs a judge.
    """
    if judge.rated_by(rubrics) != SIGNALS:
        return
    for one in thresholds:
        if one.key in MEASURED:
            what = MEASURED[one.key].lower()
            raise InputError(
                f"a threshold of {one.key} needs a judge, e.g. --model openai/gpt-4.1-mini: "
                f"signals measure {what}"
            )


def thresholds_of(
    texts: Mapping[str, float] | str | Sequence[str] | None,
    tools: Run,
    spelled: OptionStyle = "keyword",
) -> list[Threshold]:
    """Read a run's thresholds: a mapping, or texts; see `parse_thresholds`, `check_judged`."""
    if isinstance(texts, Mapping):
        texts = [f"{name}={least}" for name, least in texts.items()]
    thresholds = parse_thresholds(
        [texts] if isinstance(texts, str) else texts or (),
        tools.settings.evaluation.rubric_set,
        tools.rubrics,
        "--fail-under" if spelled == "flag" else "`fail_under=`",
        [one.name for one in tools.registered],
    )
    check_judged(thresholds, tools.judge, tools.rubrics)
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
"""Scores that are compared answer by answer, as far as there are any; findings always are."""

LEAST_MEASURED_SHARE = 0.5
"""Share of the baseline's questions that the other side must have a score for."""


class Side(NamedTuple):
    """A run or a system: its name and its answers."""

    name: str
    evaluations: tuple[Evaluation, ...]


class ChangeVerdict(NamedTuple):
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


def gate(changes: Sequence[Change], margin: float | None = None) -> tuple[ChangeVerdict, ...]:
    """Return every score that is worse than the baseline's, or could not be measured.

    Args:
        changes: As compared with the baseline.
        margin: A score that is worse by more than this share of its scale fails too, whether the
            difference is significant or not; None where only a significant one does.
    """
    found = [_verdict(change, score, margin) for change in changes for score in change.scores]
    return tuple(verdict for verdict in found if verdict)


def _verdict(change: Change, score: ScoreChange, margin: float | None) -> ChangeVerdict | None:
    name, n, wanted = score_name(score.key), score.test.n_questions, score.n_questions
    if n < LEAST_MEASURED_SHARE * wanted:
        of = f"{n} of {count_text(wanted, 'question')} of {change.old}"
        return ChangeVerdict(
            score.key, False, f"could not be measured: {name} of {change.new}: {of}"
        )
    if score.overlaps:
        text = f"could not be measured: {name} of {change.new}: {change_text(score)}"
        return ChangeVerdict(score.key, False, text)
    by_margin = margin is not None and (score.gain or 0.0) < -margin
    if score.direction != "worse" and not by_margin:
        return None
    return ChangeVerdict(score.key, True, f"worse: {name} of {change.new}: {change_text(score)}")
