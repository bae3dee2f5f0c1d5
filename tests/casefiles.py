"""Case files built without a graph, and case evaluation with the whole graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fakes import WordEmbedder

from ragassay.evaluators.base import Evaluator, Run
from ragassay.evaluators.build_run import build_run
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
    Usage,
    VerdictBase,
)
from ragassay.retrievers.literature import Literature
from ragassay.settings import load_settings
from ragassay.testing import Reply, default_reply

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

LASTING_EFFECT = Record(
    id="one",
    question="Does drug A lower blood pressure?",
    answer="Drug A lowers systolic blood pressure by 5 mmHg in adults with hypertension [1]. "
    "The effect lasts for twelve weeks, but cough was seen in 4 % of the patients [1].",
    sources=(
        Document(
            id="11",
            title="Drug A in hypertension",
            text="Drug A lowered systolic blood pressure by 5 mmHg in adults with hypertension. "
            "The effect lasted for twelve weeks. Cough was seen in 4 % of the patients.",
        ),
    ),
)
OFF_TOPIC = (
    "The home team scored twice in the second half and won the derby in front of a full house."
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


def reply_with(**fields: object) -> Reply:
    """Return the reply of a model that gives these values where it is asked for them."""

    def reply(messages: Any, schema: Any) -> dict[str, Any]:
        made = json.loads(default_reply(messages, schema))
        return made | {name: value for name, value in fields.items() if name in made}

    return reply


def build_word_run(corpus: Literature | None = None, **options: Any) -> Run:
    """Return a run with these settings that compares texts by their words, without a model."""
    return build_run(load_settings(**options), corpus).with_models(embedder=WordEmbedder())


async def evaluate(run: Run, record: Record = RECORD) -> Evaluation:
    graph = build_evaluate_graph(run.settings.judge.max_attempts)
    return (await graph.ainvoke(Input(record=record), context=run))["evaluation"]


async def watch(run: Run, record: Record = RECORD) -> tuple[int, int, Usage]:
    """Return how many verdicts the progress of an evaluation announces and reports, and usage."""
    n_expected, n_done, usage = 0, 0, Usage()
    mode = {"stream_mode": "custom", "subgraphs": True}
    graph = build_evaluate_graph(run.settings.judge.max_attempts)
    async for _, event in graph.astream(Input(record=record), context=run, **mode):
        n_expected += event.get("expected", 0)
        n_done += event.get("done", 0)
        usage += event.get("usage", Usage())
    return n_expected, n_done, usage
