"""Thresholds of scores: `--fail-under SCORE=VALUE`, `fail_under={score: value}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from ragassay.errors import InputError
from ragassay.evaluators import OURS
from ragassay.model_names import SIGNALS
from ragassay.records import Summary
from ragassay.reports.text import MEASURED

if TYPE_CHECKING:
    from ragassay.evaluators.base import Run
    from ragassay.judges import BaseJudge
    from ragassay.options import Spelling
    from ragassay.prompts import RubricSet


Verdict = tuple[Literal["reached", "below", "unmeasured"], str]


@dataclass(frozen=True)
class Threshold:
    """A least mean."""

    key: str
    least: float

    def verdict(self, summary: Summary) -> Verdict:
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

    def _of_range(self, low: float, high: float) -> Verdict:
        """Return what holds whatever the verdicts are that are missing."""
        told = f"{self.key} lies between {low:.3f} and {high:.3f}"
        if low >= self.least:
            return "reached", ""
        if high < self.least:
            return "below", f"{told}, below {self.least:g}"
        return "unmeasured", f"{told}, around {self.least:g}: name a judge for what is undecided"


def parse_thresholds(
    given: Sequence[str],
    rubric_set: RubricSet = "yescieval",
    own: Iterable[str] = (),
    spelled: str = "--fail-under",
    evaluators: Iterable[str] = (),
) -> list[Threshold]:
    """Read `SCORE=VALUE`; a rubric may go without its `rubric.`.

    Args:
        given: The user's texts.
        rubric_set: The run's set of rubrics.
        own: Names of the user's own rubrics.
        spelled: The option's name, for errors.
        evaluators: Names of the user's own evaluators.

    Raises:
        InputError: A text does not have that form, or names no score.
    """
    from ragassay.prompts import load_rubrics

    rubrics = dict.fromkeys((*load_rubrics(rubric_set), *own))
    found: list[Threshold] = []
    for text in given:
        name, _, value = text.partition("=")
        try:
            least = float(value)
        except ValueError as error:
            raise InputError(
                f"{spelled} {text!r} is not SCORE=VALUE, e.g. correctness=3.5"
            ) from error
        name = name.strip()
        if "." not in name and name not in rubrics:
            raise InputError(
                f"{spelled} names no score: {name!r}; rubrics are {', '.join(rubrics)}, "
                "other scores have a dot, e.g. nuggets.recall"
            )
        key = name if "." in name else f"rubric.{name}"
        _check_key(key, [f"rubric.{one}" for one in rubrics], set(evaluators), spelled)
        found.append(Threshold(key, least))
    return found


def _check_key(key: str, rubrics: Sequence[str], evaluators: Set[str], spelled: str) -> None:
    """Refuse a name that no score of a run can have, before the run.

    Raises:
        InputError: It is none; the closest ones are named.
    """
    known = [*rubrics, *(name for one in OURS for name in one.words.scores)]
    own = evaluators - {one.partition(".")[0] for one in known}
    if key not in known and key.partition(".")[0] not in own:
        close = ", ".join(get_close_matches(key, known)) or "see docs/evaluators.md"
        raise InputError(f"{spelled} names no score: {key!r}; closest: {close}")


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
    given: Mapping[str, float] | str | Sequence[str] | None,
    tools: Run,
    spelled: Spelling = "keyword",
) -> list[Threshold]:
    """Read a run's thresholds: a mapping, or texts; see `parse_thresholds`, `check_judged`."""
    if isinstance(given, Mapping):
        given = [f"{name}={least}" for name, least in given.items()]
    thresholds = parse_thresholds(
        [given] if isinstance(given, str) else given or (),
        tools.settings.evaluation.rubric_set,
        tools.rubrics,
        "--fail-under" if spelled == "flag" else "`fail_under=`",
        [one.name for one in tools.registered],
    )
    check_judged(thresholds, tools.judge, tools.rubrics)
    return thresholds
