"""The cascade: questions of which the judge was not sure go to a second judge, which decides.

The first judge's verdict is kept inside the second one's. Where the second one gives none, the
first stands and the failure is kept with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.evaluators.base import CaseFile, Task
from ragassay.evaluators.toolbox import Toolbox
from ragassay.metrics.uncertainty import parse_condition
from ragassay.records import Escalation, Failure, VerdictBase


def unsure_tasks(file: CaseFile, tools: Toolbox) -> list[Task]:
    """Return the questions of which the first judge was not sure; none without a second judge.

    A sentence and a passage are one question, also where both its evidence and a citation rest on
    the answer.
    """
    if tools.second is None or tools.settings.escalated_when is None:
        return []
    condition = parse_condition(tools.settings.escalated_when)
    tasks: list[Task] = []
    for evaluator in tools.evaluators:
        for item in file.subjects(evaluator, tools) if evaluator.is_weighed else ():
            first = file.verdict(evaluator.name, item)
            task = Task(evaluator.name, item, file.id, turn="second")
            if first and task.place not in file.verdicts and condition.is_unsure(first):
                tasks.append(task)
    return tasks


def decided(verdicts: Sequence[VerdictBase], file: CaseFile, tools: Toolbox) -> list[VerdictBase]:
    """Return the second judge's verdicts, each with the first one's in it."""
    judge = tools.settings.escalated_to or ""
    found: list[VerdictBase] = []
    for verdict in verdicts:
        first = _first(verdict, file)
        kept = {
            "escalation": Escalation(judge=judge, usage=verdict.usage),
            "escalated_from": first,
            "usage": first.usage + verdict.usage,
        }
        found.append(verdict.model_copy(update=kept))
    return found


def upheld(
    unscored: Sequence[VerdictBase], failure: Failure, file: CaseFile, tools: Toolbox
) -> list[VerdictBase]:
    """Return what stands where the second judge gave no verdict: the first one's, and the reason.

    Args:
        unscored: The verdicts that it did not give.
        failure: Why.
        file: The case.
        tools: Of the first judge.
    """
    escalation = Escalation(judge=tools.settings.escalated_to or "", failure=failure)
    return [_first(one, file).model_copy(update={"escalation": escalation}) for one in unscored]


def _first(verdict: VerdictBase, file: CaseFile) -> VerdictBase:
    first = file.verdict(verdict.evaluator, verdict.item)
    return verdict if first is None else first


def n_most_escalated(file: CaseFile, tools: Toolbox) -> int:
    """Return how many calls of the second judge an answer can take at most: one a question."""
    if tools.second is None or not file.case.sentences:
        return 0
    weighed = (evaluator for evaluator in tools.evaluators if evaluator.is_weighed)
    return sum(evaluator.n_most_questions(file, tools) for evaluator in weighed)
