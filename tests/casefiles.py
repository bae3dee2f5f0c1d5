"""Case files built without a graph, and case evaluation with the whole graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragassay.evaluators.base import Evaluator, Run
from ragassay.evaluators.cases import OpenCase, VerdictKey
from ragassay.graphs.case import CaseQuestion, Input
from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.records import (
    AnswerSentence,
    Case,
    Document,
    Evaluation,
    Record,
    Signals,
    VerdictBase,
)

RECORD = Record(
    id="one",
    question="Does drug A lower blood pressure?",
    answer="Drug A lowers blood pressure by 5 mmHg [1]. Some patients cough [2].",
    sources=(
        Document(id="11", title="Trial", text="Drug A lowered blood pressure by 5 mmHg in adults."),
        Document(id="12", title="Safety", text="Cough was seen in some patients on drug A."),
    ),
)
CASE = Case(
    record_id="one",
    question="q",
    answer="x",
    sentences=(AnswerSentence(index=1, text="x", start=0, end=1),),
)


def filed(
    case: Case, verdicts: Sequence[VerdictBase] = (), signals: Signals | None = None
) -> OpenCase:
    known = {VerdictKey(one.evaluator, one.item): one for one in verdicts}
    record = Record(id=case.record_id, question=case.question, answer=case.answer)
    return OpenCase("case", record, case, signals=signals, verdicts=known)


def question(evaluator: Evaluator[Any], item: str, open_case: OpenCase, run: Run) -> CaseQuestion:
    """Return the question of an evaluator about an item of a case."""
    content = evaluator.get_cached_items(open_case, run)[item]
    return CaseQuestion(evaluator, item, content, open_case, run, lambda update: None)


async def evaluate(run: Run, record: Record = RECORD) -> Evaluation:
    graph = build_evaluate_graph(run.settings.judge.max_attempts)
    return (await graph.ainvoke(Input(record=record), context=run))["evaluation"]
