"""The `assert_answer` fixture: requirements for an answer, and the failure message."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragassay.errors import InputError
from ragassay.model_names import SIGNALS
from ragassay.prompts import RubricSet, load_rubrics
from ragassay.pytest_plugin.answers import Assay
from ragassay.records import UNSCORED_KINDS, Evaluation, Finding, Score
from ragassay.reports.display import format_failure_reason, format_interval, format_score
from ragassay.reports.labels import find_finding_title, flatten_text, is_serious
from ragassay.reports.text import MEASURED, count_text, extract_score_group, find_verdict_title
from ragassay.results import Result, UnmeasuredError
from ragassay.runs.gates import parse_thresholds

SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}

MET, MISSED, UNKNOWN = "met", "missed", "could not be measured"

_BOUND = re.compile(r"(>=|<=|>|<|)\s*+(.+)")


@dataclass(frozen=True)
class Demand:
    """Minimum or maximum that a score must meet. `key` is the name of the score in a report."""

    key: str
    sign: str
    bound: float

    @property
    def text(self) -> str:
        """The bound as text, such as ">= 3.5"."""
        return f"{self.sign} {self.bound:g}"

    def is_met(self, value: float) -> bool:
        """Return whether a value is within the bound."""
        return SIGNS[self.sign](value, self.bound)


@dataclass(frozen=True)
class AssertAnswer:
    """Fixture `assert_answer`, which checks the answers of one test."""

    assay: Assay

    def __call__(
        self,
        answer: str,
        *,
        no_findings: bool = False,
        scores: Mapping[str, str | float] | None = None,
        **keywords: Any,
    ) -> Result:
        """Evaluate an answer, and fail unless it meets all requirements.

        Args:
            answer: Answer in any form that `assay` accepts.
            no_findings: Whether the answer must have no serious finding.
            scores: Requirements by score name: {"citations.support": ">=0.8"}. A number without a
                sign is a minimum.
            keywords: Requirements as keyword arguments, such as `correctness=">=3.5"` or
                `citations_support=">=0.8"`, and other arguments of `assay`.

        Returns:
            The evaluation.

        Raises:
            AssertionError: A score is out of bounds, or `no_findings` is set and there is a serious
                finding.
            UnmeasuredError: No requirement is missed, but some could not be measured.
            InputError: A requirement is invalid.
        """
        __tracebackhide__ = True
        required = {name: text for name, text in keywords.items() if _is_bound(text)}
        others = {name: value for name, value in keywords.items() if name not in required}
        required |= scores or {}
        bounds = {name: bound_of(name, text) for name, text in required.items()}
        if not (bounds or no_findings):
            raise InputError(
                'assert_answer requires a score, e.g. correctness=">=3.5", or no_findings=True'
            )
        result = self.assay(answer, **others)
        rubric_set: Any = result.manifest.settings["rubric_set"]
        demands = resolve_demands(bounds, rubric_set, result.evaluation)
        verdict, text = check_demands(result.evaluation, demands, no_findings)
        if verdict == MISSED:
            raise AssertionError(text)
        if verdict == UNKNOWN:
            raise UnmeasuredError(text, result)
        return result


def _is_bound(value: object) -> bool:
    return isinstance(value, str) and value.lstrip()[:1] in ("<", ">", "=")


def bound_of(name: str, text: str | float) -> tuple[str, float]:
    """Parse a bound into comparison sign and number. A number without a sign is a minimum."""
    match = _BOUND.fullmatch(str(text).strip())
    try:
        return match[1] or ">=", float(match[2])  # type: ignore[index]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name}={text!r} is not a bound; write one of {', '.join(SIGNS)} before a number, "
            "e.g. '>=3.5'"
        ) from error


def resolve_demands(
    bounds: Mapping[str, tuple[str, float]], rubric_set: RubricSet, evaluation: Evaluation
) -> list[Demand]:
    """Resolve score names to full names by the rules of `--fail-under`.

    The prefix "rubric." is optional, and a dot can be written as an underscore.

    Raises:
        InputError: There is no score with this name.
    """
    own = [
        key.partition(".")[2] for key in evaluation.scores if extract_score_group(key) == "rubric"
    ]
    rubrics = {*load_rubrics(rubric_set), *own}
    groups = [extract_score_group(key) for key in evaluation.scores]
    demands = []
    for name, (sign, bound) in bounds.items():
        key = name if name in rubrics or "." in name else name.replace("_", ".", 1)
        (found,) = parse_thresholds([f"{key}={bound}"], rubric_set, own, "assert_answer", groups)
        demands.append(Demand(found.key, sign, bound))
    return demands


def check_demands(
    evaluation: Evaluation, demands: Sequence[Demand], no_findings: bool
) -> tuple[str, str]:
    """Compare an answer with its requirements.

    The result is `MET`, `MISSED` or `UNKNOWN`, with a failure message.
    """
    serious = [finding for finding in evaluation.primary_findings if is_serious(finding.kind)]
    rows = [_build_row(demand, evaluation.scores.get(demand.key)) for demand in demands]
    if no_findings:
        lacks = any(finding.kind in UNSCORED_KINDS for finding in evaluation.findings)
        verdict = f"{len(serious)} found" if serious else UNKNOWN if lacks else MET
        rows.append(("findings", str(len(serious)), "", "none", verdict))
    n, verdicts = count_text(len(rows), "requirement"), [row[-1] for row in rows]
    n_unknown = verdicts.count(UNKNOWN)
    n_missed = len(rows) - n_unknown - verdicts.count(MET)
    if not (n_missed or n_unknown):
        return MET, ""
    parts = [
        f"this answer misses {n_missed} of {n}"
        if n_missed
        else f"{n_unknown} of {n} could not be measured; the other requirements are met",
        "",
        *_format_table(rows),
        *_format_section(
            "Findings", [line for one in serious for line in _describe_finding(one, evaluation)]
        ),
        *_format_section("Not measured", _describe_unscored(evaluation, demands)),
        *_format_section("Question", [flatten_text(evaluation.question)]),
    ]
    return MISSED if n_missed else UNKNOWN, "\n".join(parts)


def _build_row(demand: Demand, score: Score | None) -> tuple[str, ...]:
    name = demand.key.removeprefix("rubric.")
    if score is not None and score.judge == SIGNALS and demand.key in MEASURED:
        return name, "needs a judge", "", demand.text, UNKNOWN
    if score is not None and score.is_open and score.range is not None:
        met = {demand.is_met(end) for end in score.range}
        verdict = UNKNOWN if len(met) > 1 else MET if True in met else _describe_miss(demand)
        return name, format_score(score), "", demand.text, verdict
    if score is None or score.value is None:
        return name, "unscored" if score else "not judged", "", demand.text, UNKNOWN
    verdict = MET if demand.is_met(score.value) else _describe_miss(demand)
    spread = "" if score.low is None else format_interval(score)
    return name, format_score(score), spread, demand.text, verdict


def _describe_miss(demand: Demand) -> str:
    return "below" if ">" in demand.sign else "above"


def _format_table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    table = [("", "value", "95 %", "required", ""), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    padded = ("  ".join(map(str.ljust, row, widths)) for row in table)
    return [f"  {line}".rstrip() for line in padded]


def _format_section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _describe_finding(finding: Finding, evaluation: Evaluation) -> list[str]:
    line = f"{find_finding_title(finding.kind, 1)}: {flatten_text(finding.message)}"
    if not finding.sentence:
        return [line]
    text = next((s.text for s in evaluation.sentences if s.index == finding.sentence), "")
    return [line, f'  sentence {finding.sentence}: "{flatten_text(text)}"']


def _describe_unscored(evaluation: Evaluation, demands: Sequence[Demand]) -> list[str]:
    lines: list[str] = []
    for key in (demand.key for demand in demands if demand.key not in evaluation.scores):
        group = extract_score_group(key)
        similar = ", ".join(
            known for known in evaluation.scores if extract_score_group(known) == group
        )
        problem = f"unknown score; use one of {similar}" if similar else f"no {group} scores"
        lines.append(f"{key}: {problem}")
    reasons = Counter((v.evaluator, v.failure.reason) for v in evaluation.verdicts if v.failure)
    lines += [
        f"{n} {find_verdict_title(evaluator, n)}: {format_failure_reason(reason)}"
        for (evaluator, reason), n in reasons.items()
    ]
    return lines
