"""The graph that checks judges' reasons: a call for each."""

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
from ragassay.graphs.base import Update, add_call, make_drawn
from ragassay.metrics.papers.rationales import JudgedReason
from ragassay.models.gateway import JudgeLM
from ragassay.prompts import Rubric
from ragassay.records import Failure
from ragassay.text.search import condense


@dataclass(frozen=True)
class ReasonTools:
    """The graph's run-time context: the model, its agent, the rubrics, room for sources."""

    lm: JudgeLM
    rubrics: Mapping[str, Rubric]
    source_chars: int
    auditor: RationaleAuditor = field(default_factory=RationaleAuditor)


@dataclass(frozen=True)
class Reasons:
    """The graph's input."""

    reasons: tuple[JudgedReason, ...]


@dataclass(frozen=True)
class CheckedReason:
    """A reason's labels, or why it has none."""

    id: str
    found: ReasonLabels | None = None
    failure: Failure | None = None


@dataclass
class ReasonState:
    """The state of a graph run; each result is also streamed at once, under "checked"."""

    reasons: tuple[JudgedReason, ...]
    checked: Annotated[list[CheckedReason], operator.add] = field(default_factory=list)


@dataclass(frozen=True)
class CheckedReasons:
    """The graph's output: a result for each reason, in any order."""

    checked: list[CheckedReason]


ReasonGraph = CompiledStateGraph[ReasonState, ReasonTools, Reasons, CheckedReasons]


def build_reason_graph(max_attempts: int = 5) -> ReasonGraph:
    """Compile the graph.

    Args:
        max_attempts: Most attempts of a model call that fails for a temporary reason.
    """
    builder = StateGraph(
        ReasonState, context_schema=ReasonTools, input_schema=Reasons, output_schema=CheckedReasons
    )
    add_call(
        builder,
        "check_reason",
        check_reason,
        leave_unchecked,
        given=JudgedReason,
        goto=END,
        max_attempts=max_attempts,
        event=lambda update: {"checked": update["checked"][0]},
    )
    builder.add_conditional_edges(START, route_reasons, ["check_reason", END])
    builder.add_edge("check_reason", END)
    return make_drawn(builder.compile(name="check_reasons"))


def route_reasons(state: Reasons) -> list[Send] | str:
    """Fan out over the reasons."""
    return [Send("check_reason", one) for one in state.reasons] or END


async def check_reason(one: JudgedReason, runtime: Runtime[ReasonTools]) -> Update:
    """Check one reason."""
    tools = runtime.context
    with dspy.context(lm=tools.lm):
        found: Any = await tools.auditor.acall(
            question=one.question,
            answer=one.answer,
            sources=condense(one.sources, f"{one.question} {one.answer}", tools.source_chars),
            rubric=tools.rubrics.get(one.rubric, one.rubric),
            rating=one.rating,
            reason=one.reason,
        )
    checked = CheckedReason(one.id, found)
    runtime.stream_writer({"checked": checked})
    return {"checked": [checked]}


def leave_unchecked(one: JudgedReason, failure: Failure) -> Update:
    """Record a reason that the model failed to check."""
    return {"checked": [CheckedReason(one.id, failure=failure)]}
