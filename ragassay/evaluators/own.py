"""Custom evaluators: functions that judge an answer, a sentence or a citation."""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from ragassay.errors import EvaluatorError, SettingsError
from ragassay.evaluators.base import Evaluator, Outcome, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.display import EvaluatorDisplay, ScoreDisplay
from ragassay.metrics.stats.intervals import mean_score
from ragassay.records import (
    AnswerSentence,
    Assessment,
    Case,
    Citation,
    Evaluation,
    Failure,
    OwnVerdict,
    Score,
    Usage,
)

if TYPE_CHECKING:
    from ragassay.agents.rubric_judge import Asker
    from ragassay.judges import BaseJudge

Of = Literal["answer", "sentence", "citation"]
Says = Callable[..., Awaitable[str | float | Assessment]]

SHARE = (0.0, 1.0)


@dataclass
class Judge:
    """Judge that a custom evaluator can ask. `usage` is the usage of all model calls."""

    case: Case
    _judge: BaseJudge
    _asker: Asker
    usage: Usage = field(default_factory=Usage)

    @property
    def model(self) -> str:
        """LiteLLM name of the model."""
        return self._judge.answered_by

    async def choose(self, question: str, labels: Sequence[str], *, about: str = "") -> Assessment:
        """Ask the judge to choose one of several labels.

        Args:
            question: Question for the model, which also sees the case's question, sources and
                answer.
            labels: Labels to choose from, at least two.
            about: Part of the answer that the question refers to, such as a sentence.

        Raises:
            ModelError: The model returned no usable reply. Evaluators must not catch this error.
        """
        return await self._ask(question, labels, about)

    async def rate(
        self, question: str, low: int = 1, high: int = 5, *, about: str = ""
    ) -> Assessment:
        """Ask for a rating. The value is the expected rating if the model returns probabilities.

        Raises:
            ModelError: The model returned no usable reply. Evaluators must not catch this error.
        """
        return await self._ask(question, range(low, high + 1), about)

    async def _ask(self, question: str, values: Sequence[str | int], about: str) -> Assessment:
        inputs = {"question": question, "values": tuple(values), "about": about}
        assessment, usage = await self._judge.ask(self._asker, case=self.case, **inputs)
        self.usage += usage
        return assessment


@dataclass(frozen=True)
class OwnItem:
    """Item of a custom evaluator: a sentence, a citation, a criterion or the whole answer."""

    sentence: AnswerSentence | None = None
    citation: Citation | None = None
    criterion: str = ""


class OwnEvaluator(Evaluator[OwnItem]):
    """A custom evaluator, created with `ragassay.evaluator`.

    Args:
        says: Function with any of the parameters `case`, `sentence`, `citation` and `judge`, which
            returns a label, a number on the scale, or an `Assessment`.
        name: Unique name. The scores are called NAME.score and NAME.LABEL.
        of: Unit to evaluate: the answer, each sentence, or each citation of a document.
        labels: Allowed labels. Empty for numbers.
        good: Labels that count towards NAME.score, by default the first label.
        scale: Lowest and highest allowed number.
        attacks: Names or families of audit attacks that should lower the score.
        version: Any text. The evaluator runs again if this text or its source code changes.

    Raises:
        SettingsError: The name, labels, scale or parameters are invalid.
    """

    record = OwnVerdict
    needs = ()

    def __init__(
        self,
        says: Says,
        *,
        name: str,
        of: Of = "answer",
        labels: Sequence[str] = (),
        good: Sequence[str] = (),
        scale: tuple[float, float] = SHARE,
        attacks: Sequence[str] = (),
        version: str = "",
    ) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise SettingsError(
                f"invalid evaluator name {name!r}; use only a-z, 0-9 and _, starting with a letter"
            )
        if labels and (len(set(labels)) < 2 or not set(good) <= set(labels)):
            raise SettingsError(
                f"evaluator {name}: `labels` requires at least two distinct labels, and `good` "
                "must contain only labels from `labels`"
            )
        if scale[0] >= scale[1]:
            raise SettingsError(f"evaluator {name}: scale must be (lowest, highest), got {scale}")
        self.name = self.part = name
        self.says, self.of, self.scale, self.attacks = says, of, scale, tuple(attacks)
        self.labels = tuple(labels)
        self.good = tuple(good) or self.labels[:1]
        self.parameters = tuple(inspect.signature(says).parameters)
        unknown = set(self.parameters) - {"case", "sentence", "citation", "judge"}
        if unknown:
            raise SettingsError(
                f"evaluator {name}: unknown parameter {', '.join(sorted(unknown))}; use case, "
                "sentence, citation or judge"
            )
        self.is_weighed = "judge" in self.parameters
        self.digest = _hash_source_code(says, name, of, *labels, *good, str(scale), version)
        self.display = _build_display(name, self.labels)

    def is_wanted(self, run: Run) -> bool:
        """Return whether the evaluator is selected, or no specific parts are selected."""
        return not run.settings.evaluation.only or self.part in run.settings.evaluation.only

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, OwnItem]:
        """Return the answer, its sentences or its citations, or nothing for an empty answer."""
        sentences = open_case.case.sentences
        if self.of == "answer":
            items = [OwnItem()] if sentences else []
        elif self.of == "sentence":
            items = [OwnItem(sentence) for sentence in sentences]
        else:
            items = [OwnItem(s, c) for s in sentences for c in s.citations if c.document]
        return {self._build_verdict(one).item: one for one in items}

    @property
    def asks_panel(self) -> bool:
        """Return whether every panel member is asked, which is the case if the judge is used."""
        return self.is_weighed

    def join_verdicts(self, verdicts: Sequence[Any]) -> OwnVerdict:
        """Return the mean of the members' numbers, or their most frequent label.

        If several labels are equally frequent, the label of the earliest judge is chosen.
        """
        scores = [one.score for one in verdicts if one.score is not None]
        labels = [one.label for one in verdicts if one.label is not None]
        label = Counter(labels).most_common(1)[0][0] if labels else None
        known = [one for one in verdicts if one.value is not None]
        agreed = [one for one in known if one.label == label]
        failures = [one.failure for one in verdicts if one.failure]
        return verdicts[0].model_copy(
            update={
                "judge": "",
                "label": label,
                "score": round(math.fsum(scores) / len(scores), 4) if scores else None,
                "reason": agreed[0].reason if agreed else "",
                "confidence": None,
                "entropy_bits": None,
                "members": tuple(verdicts),
                "usage": sum((one.usage for one in verdicts), Usage()),
                "failure": failures[0] if not known and failures else None,
            }
        )

    async def ask(self, item: OwnItem, open_case: OpenCase, run: Run) -> Sequence[OwnVerdict]:
        """Call the function.

        Raises:
            EvaluatorError: The function returned a value that the evaluator does not declare.
        """
        judge = Judge(open_case.case, run.judge, run.agents.asker)
        value = await self.assess_item(item, judge)
        assessment = value if isinstance(value, Assessment) else Assessment(value=value)
        rated = assessment.value
        self._check(rated)
        return [
            self._build_verdict(
                item,
                label=rated if isinstance(rated, str) else None,
                score=None if isinstance(rated, str) else float(rated),
                reason=assessment.reason,
                confidence=assessment.confidence,
                entropy_bits=assessment.entropy_bits,
                usage=judge.usage,
            )
        ]

    async def assess_item(self, item: OwnItem, judge: Judge) -> str | float | Assessment:
        """Call the function with the parameters that it declares."""
        fields = {
            "case": judge.case,
            "sentence": item.sentence,
            "citation": item.citation,
            "judge": judge,
        }
        return await self.says(**{name: fields[name] for name in self.parameters})

    def _check(self, value: object) -> None:
        if self.labels and value not in self.labels:
            raise EvaluatorError(
                f"evaluator {self.name} returned {value!r}, which is not one of its labels "
                f"{', '.join(self.labels)}"
            )
        low, high = self.scale
        is_number = isinstance(value, int | float) and math.isfinite(value)
        if not self.labels and not (is_number and low <= float(value) <= high):  # type: ignore[arg-type]
            raise EvaluatorError(
                f"evaluator {self.name} returned {value!r}, which is not a number from {low:g} to "
                f"{high:g}"
            )

    def _build_verdict(self, item: OwnItem, **fields: Any) -> OwnVerdict:
        return OwnVerdict(
            evaluator=self.name,
            sentence=item.sentence.index if item.sentence else None,
            marker=item.citation.marker if item.citation else "",
            criterion=item.criterion,
            scale=self.scale,
            **fields,
        )

    def make_unscored(
        self, item: OwnItem, open_case: OpenCase, run: Run, failure: Failure
    ) -> Sequence[OwnVerdict]:
        """Return an unscored verdict."""
        return [self._build_verdict(item, failure=failure)]

    def list_dependencies(self, item: OwnItem, open_case: OpenCase, run: Run) -> Iterable[str]:
        """Return what a verdict depends on: hashes of the function's source and of the case."""
        return (self.digest, open_case.case_sha256)

    def name_judge(self, run: Run) -> str:
        """Return the name of the judge or panel, or the evaluator's name if no judge is used."""
        if not self.is_weighed:
            return self.name
        judge = run.judge
        return (
            judge.name_raters(()) if judge.members else run.add_second_judge_name(judge.answered_by)
        )

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the mean number, or the share of each label and of all good labels."""
        verdicts = [v for v in outcome.verdicts[self.name] if isinstance(v, OwnVerdict)]
        judge = self.name_judge(outcome.run)
        if not self.labels:
            scores = [v.score for v in verdicts]
            return {f"{self.name}.score": mean_score(scores, self.scale, judge)}
        shares = {"score": self.good} | {label: (label,) for label in self.labels}
        return {
            f"{self.name}.{name}": mean_score(
                [_credit_label(v.label, wanted) for v in verdicts], judge=judge
            )
            for name, wanted in shares.items()
        }

    def select_asked_verdicts(self, evaluation: Evaluation) -> Iterable[OwnVerdict]:
        """Return the verdicts if they come from a judge."""
        verdicts = evaluation.find_verdicts(self.name) if self.is_weighed else ()
        return [verdict for verdict in verdicts if isinstance(verdict, OwnVerdict)]

    def split_verdict(self, verdict: OwnVerdict) -> Iterable[OwnVerdict]:
        """Return the verdicts of the panel members."""
        return verdict.members or (verdict,)

    def count_max_calls(self, open_case: OpenCase, run: Run) -> int:
        """Count one call per item and judge, although the function may make more."""
        n_judges = len(run.judge.members) or 1
        return len(self.get_cached_items(open_case, run)) * n_judges if self.is_weighed else 0


def _build_display(name: str, labels: Sequence[str]) -> EvaluatorDisplay:
    title = name.replace("_", " ").capitalize()
    return EvaluatorDisplay(
        verdict=f"verdict of {name}",
        verdicts=f"verdicts of {name}",
        question=title,
        kind=name,
        group=name,
        title=title,
        direction="higher",
        scores={f"{name}.{label}": ScoreDisplay(f"{title}: {label}") for label in labels}
        | {f"{name}.score": ScoreDisplay(title, "higher")},
    )


def _credit_label(label: str | None, wanted: Sequence[str]) -> float | None:
    return None if label is None else float(label in wanted)


def _hash_source_code(says: Callable[..., Any], *declared: str) -> str:
    try:
        source = inspect.getsource(says)
    except (OSError, TypeError):
        code = getattr(says, "__code__", None)
        source = repr((code.co_code, code.co_consts)) if code else repr(says)
    return hashlib.sha256("\n".join((source, *declared)).encode()).hexdigest()


@overload
def evaluator(says: Says, /) -> OwnEvaluator: ...
@overload
def evaluator(
    *,
    name: str = "",
    of: Of = "answer",
    labels: Sequence[str] = (),
    good: Sequence[str] = (),
    scale: tuple[float, float] = SHARE,
    attacks: Sequence[str] = (),
    version: str = "",
) -> Callable[[Says], OwnEvaluator]: ...
def evaluator(says: Says | None = None, /, *, name: str = "", **declared: Any) -> Any:
    """Create an evaluator from an async function.

    The function has any of the parameters `case`, `sentence`, `citation` and `judge`, and returns a
    score in [0, 1], a number on `scale`, one of `labels`, or a `ragassay.Assessment` with a reason.
    See `OwnEvaluator` for the other arguments.

    Example:
        >>> @evaluator(labels=("short", "long"))
        ... async def length(case):
        ...     return "short" if len(case.answer) < 500 else "long"
        >>> length.name, length.good
        ('length', ('short',))
    """

    def decorate(function: Says) -> OwnEvaluator:
        full_name = name or getattr(function, "__name__", "")
        return OwnEvaluator(function, name=full_name, **declared)

    return decorate if says is None else decorate(says)
