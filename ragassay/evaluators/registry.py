"""The evaluators that ragassay ships, each behind those whose verdicts it needs."""

from __future__ import annotations

from typing import Any

from ragassay.evaluators.assignment import AssignmentEvaluator
from ragassay.evaluators.attribution import AttributionEvaluator
from ragassay.evaluators.base import Evaluator
from ragassay.evaluators.cited_nugget import CITED_NUGGET, FACTS
from ragassay.evaluators.claims import CITATION, EVIDENCE
from ragassay.evaluators.correctness import CorrectnessEvaluator
from ragassay.evaluators.exam_grade import ExamGradeEvaluator
from ragassay.evaluators.intent import IntentEvaluator
from ragassay.evaluators.nuggets import NuggetsEvaluator
from ragassay.evaluators.racar import RacarEvaluator
from ragassay.evaluators.relevance_grade import RelevanceGradeEvaluator
from ragassay.evaluators.rubric import RUBRIC
from ragassay.evaluators.sentence_label import SentenceLabelEvaluator

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
"""In the order of the report."""
