"""Judges: hosted, fine-tuned and published models, signals, panels and cascades.

All judges implement `BaseJudge`, so evaluators work with any of them.
"""

from ragassay.judges.base import BaseJudge, JudgeReply, Question
from ragassay.judges.build import build_judge
from ragassay.judges.panel import Cascade

__all__ = ["BaseJudge", "Cascade", "JudgeReply", "Question", "build_judge"]
