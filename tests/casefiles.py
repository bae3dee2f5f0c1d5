"""Files of cases, made without a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragassay.evaluators.base import Evaluator, Run
from ragassay.evaluators.cases import OpenCase, VerdictKey
from ragassay.graphs.case import CaseQuestion
from ragassay.records import Case, Record, Signals, VerdictBase


def filed(
    case: Case, verdicts: Sequence[VerdictBase] = (), signals: Signals | None = None
) -> OpenCase:
    """The file of a case with verdicts."""
    known = {VerdictKey(one.evaluator, one.item): one for one in verdicts}
    record = Record(id=case.record_id, question=case.question, answer=case.answer)
    return OpenCase("case", record, case, signals=signals, verdicts=known)


def question(evaluator: Evaluator[Any], item: str, open_case: OpenCase, run: Run) -> CaseQuestion:
    """The question of an evaluator about an item of a case."""
    content = evaluator.known_items(open_case, run)[item]
    return CaseQuestion(evaluator, item, content, open_case, run, lambda update: None)
