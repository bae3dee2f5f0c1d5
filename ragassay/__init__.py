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
    "BelowError": "ragassay.results",
    "Case": "ragassay.records",
    "Corpus": "ragassay.retrievers.literature",
    "Criteria": "ragassay.prompts",
    "Criterion": "ragassay.prompts",
    "Document": "ragassay.records",
    "Evaluation": "ragassay.records",
    "Event": "ragassay.runs.engine",
    "Failed": "ragassay.results",
    "Judge": "ragassay.evaluators.own",
    "Nugget": "ragassay.records",
    "Record": "ragassay.records",
    "Result": "ragassay.results",
    "Results": "ragassay.results",
    "Rubric": "ragassay.prompts",
    "Assessment": "ragassay.records",
    "Settings": "ragassay.settings",
    "UnjudgedError": "ragassay.results",
    "UnmeasuredError": "ragassay.results",
    "aaudit": "ragassay.api",
    "aevaluate": "ragassay.api",
    "aevaluate_pairs": "ragassay.api",
    "agenerate_pairs": "ragassay.writing",
    "agrade": "ragassay.api",
    "arun": "ragassay.applications.run",
    "asynthesize": "ragassay.writing",
    "audit": "ragassay.api",
    "compare": "ragassay.runs.compare",
    "evaluate": "ragassay.api",
    "evaluate_pairs": "ragassay.api",
    "evaluator": "ragassay.evaluators.own",
    "generate_pairs": "ragassay.writing",
    "grade": "ragassay.api",
    "meta_evaluate": "ragassay.studies.meta_evaluation",
    "plan": "ragassay.api",
    "run": "ragassay.applications.run",
    "synthesize": "ragassay.writing",
}

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
