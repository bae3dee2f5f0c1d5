"""Evaluator for answers of biomedical RAG systems.

Names are imported lazily on first access.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragassay.api import (
        aaudit,
        aevaluate,
        aevaluate_pairs,
        agrade,
        audit,
        evaluate,
        evaluate_pairs,
        grade,
        plan,
    )
    from ragassay.applications.run import arun, run
    from ragassay.evaluators.own import Judge, evaluator
    from ragassay.prompts import Criteria, Criterion, Rubric
    from ragassay.records import Assessment, Case, Document, Evaluation, Nugget, Record
    from ragassay.results import (
        BelowError,
        Failed,
        Result,
        Results,
        UnjudgedError,
        UnmeasuredError,
    )
    from ragassay.retrievers.literature import Corpus
    from ragassay.runs.compare import compare
    from ragassay.runs.progress import Event
    from ragassay.settings import Settings
    from ragassay.studies.meta_evaluation import meta_evaluate
    from ragassay.writing import agenerate_pairs, asynthesize, generate_pairs, synthesize

__version__ = "0.1.0"

_HOMES = {
    name: f"ragassay.{module}"
    for module, names in {
        "api": "aaudit aevaluate aevaluate_pairs agrade audit evaluate evaluate_pairs grade plan",
        "applications.run": "arun run",
        "evaluators.own": "Judge evaluator",
        "prompts": "Criteria Criterion Rubric",
        "records": "Assessment Case Document Evaluation Nugget Record",
        "results": "BelowError Failed Result Results UnjudgedError UnmeasuredError",
        "retrievers.literature": "Corpus",
        "runs.compare": "compare",
        "runs.engine": "Event",
        "settings": "Settings",
        "studies.meta_evaluation": "meta_evaluate",
        "writing": "agenerate_pairs asynthesize generate_pairs synthesize",
    }.items()
    for name in names.split()
}
"""Module of each exported name."""

__all__ = [
    "Assessment",
    "BelowError",
    "Case",
    "Corpus",
    "Criteria",
    "Criterion",
    "Document",
    "Evaluation",
    "Event",
    "Failed",
    "Judge",
    "Nugget",
    "Record",
    "Result",
    "Results",
    "Rubric",
    "Settings",
    "UnjudgedError",
    "UnmeasuredError",
    "aaudit",
    "aevaluate",
    "aevaluate_pairs",
    "agenerate_pairs",
    "agrade",
    "arun",
    "asynthesize",
    "audit",
    "compare",
    "evaluate",
    "evaluate_pairs",
    "evaluator",
    "generate_pairs",
    "grade",
    "meta_evaluate",
    "plan",
    "run",
    "synthesize",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ragassay.process import importing

    with importing(_HOMES[name]):
        return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
