"""Files of cases, made without a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragassay.evaluators.base import CaseFile, Evaluator, VerdictKey
from ragassay.evaluators.toolbox import Toolbox
from ragassay.graphs.asking import CaseQuestion
from ragassay.records import Case, Record, Signals, VerdictBase


def filed(
    case: Case, verdicts: Sequence[VerdictBase] = (), signals: Signals | None = None
) -> CaseFile:
    """The file of a case with verdicts."""
    known = {VerdictKey(one.evaluator, one.item): one for one in verdicts}
    record = Record(id=case.record_id, question=case.question, answer=case.answer)
    return CaseFile("case", record, case, signals=signals, verdicts=known)


def question(evaluator: Evaluator[Any], item: str, file: CaseFile, tools: Toolbox) -> CaseQuestion:
    """The question of an evaluator about an item of a case."""
    subject = file.items(evaluator, tools)[item]
    return CaseQuestion(evaluator, item, subject, file, tools, lambda update: None)
