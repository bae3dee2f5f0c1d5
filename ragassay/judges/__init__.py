"""The judges of a run: a hosted or fine-tuned model, signals, or a panel of these.

Every judge has the surface of `BaseJudge`: it rates rubrics and asks agents. What an evaluator
asks does not depend on which judge it has.
"""

from ragassay.judges.base import BaseJudge, JudgeReply, Question
from ragassay.judges.build import build_judge
from ragassay.judges.panel import Cascade

__all__ = ["BaseJudge", "Cascade", "JudgeReply", "Question", "build_judge"]
