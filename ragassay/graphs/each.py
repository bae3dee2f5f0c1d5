"""Graphs that make one model call per item, to paraphrase sentences or check rationales."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import dspy
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from ragassay.agents.labellers import RationaleAuditor, ReasonLabels
from ragassay.agents.writers import Paraphraser
from ragassay.graphs.base import Update, add_call, make_drawn
from ragassay.metrics.papers.rationales import JudgedReason
from ragassay.models.gateway import JudgeLM
from ragassay.prompts import Rubric
from ragassay.records import Failure, Paraphrase
from ragassay.text.search import condense_documents


@dataclass(frozen=True)
class Items:
    """Input of a graph that makes one model call per item."""

    items: tuple[Any, ...]


@dataclass
class ItemsState:
    """State of a graph that makes one model call per item and streams the results."""

    items: tuple[Any, ...]
    results: Annotated[list[Any], operator.add] = field(default_factory=list)


@dataclass(frozen=True)
class EachResult:
    """Output of a graph that makes one model call per item: the results, in any order."""

    results: list[Any]


EachGraph = CompiledStateGraph[ItemsState, Any, Items, EachResult]


def _build(
    name: str, ask: Any, on_failure: Any, input_type: type, context: type, n: int
) -> EachGraph:
    builder = StateGraph(
        ItemsState, context_schema=context, input_schema=Items, output_schema=EachResult
    )

    async def answer(item: Any, runtime: Runtime[Any]) -> Update:
        result = await ask(item, runtime.context)
        runtime.stream_writer({"result": result})
        return {"results": [result]}

    def record(item: Any, failure: Failure) -> Update:
        return {"results": [on_failure(item, failure)]}

    def build_event(update: Update) -> dict[str, Any]:
        return {"result": update["results"][0]}

    add_call(
        builder,
        name,
        answer,
        record,
        input_type=input_type,
        goto=END,
        max_attempts=n,
        event=build_event,
    )

    def send_each(state: Items) -> list[Send] | str:
        return [Send(name, item) for item in state.items] or END

    builder.add_conditional_edges(START, send_each, [name, END])
    builder.add_edge(name, END)
    return make_drawn(builder.compile(name=name))


@dataclass(frozen=True)
class ParaphraseRun:
    """Runtime context of the paraphrase graph."""

    lm: JudgeLM
    paraphraser: Paraphraser = field(default_factory=Paraphraser)


@dataclass(frozen=True)
class SentenceTask:
    """A sentence to paraphrase."""

    sentence: str


def build_paraphrase_graph(max_attempts: int = 5) -> EachGraph:
    """Compile the graph that turns each `SentenceTask` into a `Paraphrase`.

    Args:
        max_attempts: Maximum number of attempts for a model call that fails with transient errors.
    """

    async def paraphrase(task: SentenceTask, run: ParaphraseRun) -> Paraphrase:
        with dspy.context(lm=run.lm):
            result: Any = await run.paraphraser.acall(task.sentence)
        return result

    def record_failure(task: SentenceTask, failure: Failure) -> Paraphrase:
        return Paraphrase(sentence=task.sentence, failure=failure)

    return _build(
        "paraphrase", paraphrase, record_failure, SentenceTask, ParaphraseRun, max_attempts
    )


@dataclass(frozen=True)
class ReasonRun:
    """Runtime context of the rationale graph.

    A prompt shows `source_chars` of source text at most.
    """

    lm: JudgeLM
    rubrics: Mapping[str, Rubric]
    source_chars: int
    auditor: RationaleAuditor = field(default_factory=RationaleAuditor)


@dataclass(frozen=True)
class CheckedReason:
    """Labels of a judge's rationale, or the reason why there are none."""

    id: str
    found: ReasonLabels | None = None
    failure: Failure | None = None


def build_reason_graph(max_attempts: int = 5) -> EachGraph:
    """Compile the graph that turns each `JudgedReason` into a `CheckedReason`.

    Args:
        max_attempts: Maximum number of attempts for a model call that fails with transient errors.
    """

    async def check(reason: JudgedReason, run: ReasonRun) -> CheckedReason:
        query = f"{reason.question} {reason.answer}"
        with dspy.context(lm=run.lm):
            labels: Any = await run.auditor.acall(
                question=reason.question,
                answer=reason.answer,
                sources=condense_documents(reason.sources, query, run.source_chars),
                rubric=run.rubrics.get(reason.rubric, reason.rubric),
                rating=reason.rating,
                reason=reason.reason,
            )
        return CheckedReason(reason.id, labels)

    def record_failure(reason: JudgedReason, failure: Failure) -> CheckedReason:
        return CheckedReason(reason.id, failure=failure)

    return _build("check_reason", check, record_failure, JudgedReason, ReasonRun, max_attempts)
