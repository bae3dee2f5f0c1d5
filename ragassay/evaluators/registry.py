"""Registry of built-in evaluators, lookup of custom evaluators, and access to verdicts."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ragassay.errors import SettingsError
from ragassay.evaluators.attribution import AttributionEvaluator
from ragassay.evaluators.base import Evaluator
from ragassay.evaluators.cited_nugget import CITED_NUGGET, FACTS
from ragassay.evaluators.claims import CITATION, EVIDENCE
from ragassay.evaluators.nuggets import AssignmentEvaluator, NuggetsEvaluator
from ragassay.evaluators.own import OwnEvaluator
from ragassay.evaluators.pairs import IntentEvaluator, RacarEvaluator
from ragassay.evaluators.passage_grades import ExamGradeEvaluator, RelevanceGradeEvaluator
from ragassay.evaluators.rubric import RUBRIC
from ragassay.evaluators.sentences import CorrectnessEvaluator, SentenceLabelEvaluator
from ragassay.records import Evaluation, VerdictBase

OURS: tuple[Evaluator[Any], ...] = (
    RUBRIC,
    NuggetsEvaluator(),
    AssignmentEvaluator(),
    SentenceLabelEvaluator(),
    EVIDENCE,
    CorrectnessEvaluator(),
    FACTS,
    CITED_NUGGET,
    CITATION,
    AttributionEvaluator(),
    ExamGradeEvaluator(),
    RelevanceGradeEvaluator(),
    RacarEvaluator(),
    IntentEvaluator(),
)
"""Built-in evaluators in report order."""


GROUP = "ragassay.evaluators"
"""Entry point group of custom evaluators."""


def find_evaluator(name: str) -> OwnEvaluator:
    """Return a custom evaluator.

    Args:
        name: "package.module:name", importable from the environment or the working directory, or
            the name of an entry point.

    Raises:
        SettingsError: The evaluator is not found, or the object is not an evaluator.
    """
    evaluator = _import_evaluator(name) if ":" in name else _load_entry_point(name)
    if not isinstance(evaluator, OwnEvaluator):
        raise SettingsError(
            f"{name} is not an evaluator; decorate the function with @ragassay.evaluator"
        )
    return evaluator


def _import_evaluator(name: str) -> object:
    module, _, attribute = name.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, ValueError) as error:
        raise SettingsError(f"evaluator {name}: {module!r} cannot be imported: {error}") from error
    except AttributeError as error:
        raise SettingsError(f"evaluator {name}: {module} has no {attribute!r}") from error


def _load_entry_point(name: str) -> object:
    points = importlib.metadata.entry_points(group=GROUP)
    if name not in points.names:
        known = ", ".join(sorted(points.names)) or "none is installed"
        raise SettingsError(
            f"unknown evaluator {name}; use package.module:name, or an entry point in the group "
            f"{GROUP} ({known})"
        )
    return points[name].load()


def add_custom_evaluators(own: Sequence[OwnEvaluator]) -> tuple[Evaluator[Any], ...]:
    """Return the built-in evaluators, followed by the custom evaluators.

    Raises:
        SettingsError: Two evaluators share a name, or a custom evaluator has the name of a built-in
            part.
    """
    taken = {word for one in OURS for word in (one.name, one.part, one.display.group)}
    for one in own:
        if one.name in taken:
            raise SettingsError(
                f"evaluator {one.name}: the name is already used; choose a different name"
            )
        taken.add(one.name)
    return (*OURS, *own)


def group_asked_verdicts(
    evaluations: Iterable[Evaluation], evaluators: Sequence[Evaluator[Any]] = OURS
) -> dict[str, list[VerdictBase]]:
    """Return the verdicts with a confidence, one per question, keyed by kind of question.

    No questions are asked about empty answers, sentences without a passage or unresolved citations.
    """
    questions: dict[str, list[VerdictBase]] = {one.display.kind: [] for one in evaluators}
    for evaluation in evaluations:
        for evaluator in evaluators if evaluation.sentences else ():
            questions[evaluator.display.kind] += evaluator.select_asked_verdicts(evaluation)
    return {kind: verdicts for kind, verdicts in questions.items() if verdicts}


def group_single_verdicts(evaluation: Evaluation) -> dict[str, list[VerdictBase]]:
    """Return the verdicts by evaluator. A panel's verdict is replaced by its members' verdicts."""
    verdicts: dict[str, list[VerdictBase]] = {evaluator.name: [] for evaluator in OURS}
    known = {evaluator.name: evaluator for evaluator in OURS}
    for verdict in evaluation.verdicts:
        evaluator = known.get(verdict.evaluator)
        members = getattr(verdict, "members", ())
        parts = evaluator.split_verdict(verdict) if evaluator else members or (verdict,)
        verdicts.setdefault(verdict.evaluator, []).extend(parts)
    return verdicts
