"""The assignment graph: an answer with gold nuggets goes in, which of them it states comes out."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any

from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from ragassay.graphs import nodes
from ragassay.graphs.failures import failure_of, retry_policies, unscored
from ragassay.graphs.state import Input, Task
from ragassay.graphs.toolbox import Toolbox, toolbox
from ragassay.records import Case, NuggetAssignment, Record


@dataclass
class AssignState:
    """The state of one answer.

    Attributes:
        record: What was handed in.
        case: The record cut into what the judge looks at.
        assignments: One for each gold nugget; in their order at the end.
        assigned: The outcome.
    """

    record: Record
    case: Case | None = None
    assignments: Annotated[list[NuggetAssignment], operator.add] = field(default_factory=list)
    assigned: tuple[NuggetAssignment, ...] = ()


@dataclass(frozen=True)
class Assigned:
    """What the graph returns: the case, and an assignment for each of its gold nuggets."""

    case: Case
    assigned: tuple[NuggetAssignment, ...]


AssignGraph = CompiledStateGraph[AssignState, Toolbox, Input, Assigned]


def build_assign_graph(max_attempts: int = 5) -> AssignGraph:
    """Compile the graph: the evaluation graph's assigner alone.

    Args:
        max_attempts: How often a model call is tried that fails for a passing reason.
    """
    builder = StateGraph(
        AssignState, context_schema=Toolbox, input_schema=Input, output_schema=Assigned
    )
    # LangGraph's types know neither that a handler may take the error nor that states may be alike.
    on_failure: Any = file_failed_assignment
    segment: Any = nodes.segment
    assign_nugget: Any = nodes.assign_nugget
    builder.add_node("segment", segment, input_schema=AssignState)
    builder.add_node(
        "assign_nugget",
        assign_nugget,
        input_schema=Task,
        retry_policy=retry_policies(max_attempts),
        error_handler=on_failure,
    )
    builder.add_node("collect", collect, defer=True)
    builder.add_edge(START, "segment")
    builder.add_conditional_edges("segment", route_nuggets, ["assign_nugget", "collect"])
    builder.add_edge("assign_nugget", "collect")
    builder.add_edge("collect", END)
    return builder.compile(name="assign_nuggets")


def route_nuggets(state: AssignState, runtime: Runtime[Toolbox]) -> list[Send] | str:
    """Fan out over the gold nuggets; an answer without a sentence is not asked about."""
    if state.case is None or not state.case.sentences:
        return "collect"
    tasks = [
        Task(kind="assign_nugget", case=state.case, item=n)
        for n in range(1, len(state.case.gold) + 1)
    ]
    runtime.stream_writer({"expected": len(tasks)})
    return [Send("assign_nugget", task) for task in tasks] or "collect"


def file_failed_assignment(task: Task, error: NodeError, runtime: Runtime[Toolbox]) -> Command[Any]:
    """The unscored assignment of a nugget.

    Raises:
        FatalModelError: The run cannot go on.
    """
    failure = failure_of(error)
    runtime.stream_writer({"done": 1, "failed": 1})
    return Command(update=unscored(task, failure), goto="collect")


async def collect(state: AssignState, runtime: Runtime[Toolbox]) -> dict[str, Any]:
    """Put the assignments in order; an empty answer states nothing."""
    fatal = toolbox(runtime).lm.fatal
    if fatal is not None:
        raise fatal
    if state.case is not None and not state.case.sentences:
        n_gold = len(state.case.gold)
        empty = [NuggetAssignment(gold=n, assignment="not_support") for n in range(n_gold)]
        return {"assigned": tuple(empty)}
    by_gold = {found.gold: found for found in state.assignments}
    return {"assigned": tuple(by_gold[gold] for gold in sorted(by_gold))}
