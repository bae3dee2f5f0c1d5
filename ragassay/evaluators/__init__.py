"""Evaluators that ask questions about an answer. Each module covers one group of questions.

An evaluator defines its questions, how they are answered, what the answers depend on, how they are
scored, and how reports present them. All other modules get the evaluators from the registry.
"""

from ragassay.evaluators.base import Evaluator
from ragassay.evaluators.cases import OpenCase, Task
from ragassay.evaluators.display import Direction, ScoreDisplay
from ragassay.evaluators.registry import OURS

__all__ = ["OURS", "Direction", "Evaluator", "OpenCase", "ScoreDisplay", "Task"]
