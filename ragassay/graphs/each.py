"""Graphs that make one call for each of several items: paraphrase sentences, check reasons."""

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
from ragassay.text.search import condense


@dataclass(frozen=True)
class Items:
    """The input of a graph."""

    items: tuple[Any, ...]


@dataclass
class ItemsState:
    """The state of a graph run; each result is also streamed at once, under "result"."""

    items: tuple[Any, ...]
    results: Annotated[list[Any], operator.add] = field(default_factory=list)


@dataclass(frozen=True)
class EachResult:
    """The output of a graph: a result for each item, in any order."""

    results: list[Any]


EachGraph = CompiledStateGraph[ItemsState, Any, Items, EachResult]


def _build(name: str, ask: Any, on_failure: Any, given: type, context: type, n: int) -> EachGraph:
    """Compile a graph of one node that takes an item; see `add_call`."""
    builder = StateGraph(
        ItemsState, context_schema=context, input_schema=Items, output_schema=EachResult
    )

    async def answer(item: Any, runtime: Runtime[Any]) -> Update:
        found = await ask(item, runtime.context)
        runtime.stream_writer({"result": found})
        return {"results": [found]}

    def record(item: Any, failure: Failure) -> Update:
        return {"results": [on_failure(item, failure)]}

    def tell(update: Update) -> dict[str, Any]:
        return {"result": update["results"][0]}

    add_call(builder, name, answer, record, given=given, goto=END, max_attempts=n, event=tell)

    def send_each(state: Items) -> list[Send] | str:
        return [Send(name, item) for item in state.items] or END

    builder.add_conditional_edges(START, send_each, [name, END])
    builder.add_edge(name, END)
    return make_drawn(builder.compile(name=name))


@dataclass(frozen=True)
class ParaphraseTools:
    """The run-time context of the paraphrases: the model, and its agent."""

    lm: JudgeLM
    paraphraser: Paraphraser = field(default_factory=Paraphraser)


@dataclass(frozen=True)
class SentenceTask:
    """One sentence to paraphrase."""

    sentence: str


def build_paraphrase_graph(max_attempts: int = 5) -> EachGraph:
    """Compile the graph from `SentenceTask`s to a `Paraphrase` of each.

    Args:
        max_attempts: Most attempts of a model call that fails for a temporary reason.
    """

    async def paraphrase(task: SentenceTask, tools: ParaphraseTools) -> Paraphrase:
        with dspy.context(lm=tools.lm):
            found: Any = await tools.paraphraser.acall(task.sentence)
        return found

    def leave_unsaid(task: SentenceTask, failure: Failure) -> Paraphrase:
        return Paraphrase(sentence=task.sentence, failure=failure)

    names = "paraphrase", paraphrase, leave_unsaid
    return _build(*names, SentenceTask, ParaphraseTools, max_attempts)


@dataclass(frozen=True)
class ReasonTools:
    """The run-time context of the checks: the model, its agent, the rubrics, room for sources."""

    lm: JudgeLM
    rubrics: Mapping[str, Rubric]
    source_chars: int
    auditor: RationaleAuditor = field(default_factory=RationaleAuditor)


@dataclass(frozen=True)
class CheckedReason:
    """A reason's labels, or why it has none."""

    id: str
    found: ReasonLabels | None = None
    failure: Failure | None = None


def build_reason_graph(max_attempts: int = 5) -> EachGraph:
    """Compile the graph from judges' reasons to a `CheckedReason` of each.

    Args:
        max_attempts: Most attempts of a model call that fails for a temporary reason.
    """

    async def check(one: JudgedReason, tools: ReasonTools) -> CheckedReason:
        with dspy.context(lm=tools.lm):
            found: Any = await tools.auditor.acall(
                question=one.question,
                answer=one.answer,
                sources=condense(one.sources, f"{one.question} {one.answer}", tools.source_chars),
                rubric=tools.rubrics.get(one.rubric, one.rubric),
                rating=one.rating,
                reason=one.reason,
            )
        return CheckedReason(one.id, found)

    def leave_unchecked(one: JudgedReason, failure: Failure) -> CheckedReason:
        return CheckedReason(one.id, failure=failure)

    return _build("check_reason", check, leave_unchecked, JudgedReason, ReasonTools, max_attempts)
