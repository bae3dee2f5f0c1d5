"""The questions that are asked of an answer: one module per evaluator.

An evaluator declares what it asks, how a question is answered, what the answer depends on, what
its verdicts come to and how reports speak of them. Everything else loops over the registry.
"""

from ragassay.evaluators.base import Evaluator
from ragassay.evaluators.cases import OpenCase, Task
from ragassay.evaluators.display import Direction, ScoreDisplay
from ragassay.evaluators.registry import OURS

__all__ = ["OURS", "Direction", "Evaluator", "OpenCase", "ScoreDisplay", "Task"]
