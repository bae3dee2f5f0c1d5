"""The nugget graph: from a question and its sources to gold nuggets.

open windows -> write -> merge -> next window? -> rate each -> rank -> review by a person.
"""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from ragassay.evaluators.base import Run
from ragassay.graphs import nugget_nodes as nodes
from ragassay.graphs.base import add_call, make_drawn
from ragassay.graphs.nugget_state import ImportanceTask, NuggetJob, NuggetList, NuggetState

NuggetGraph = CompiledStateGraph[NuggetState, Run, NuggetJob, NuggetList]


def build_nugget_graph(
    max_attempts: int = 5, checkpointer: BaseCheckpointSaver[Any] | None = None
) -> NuggetGraph:
    """Compile the graph.

    Args:
        max_attempts: Most attempts of a model call that fails for a temporary reason.
        checkpointer: Stores states; only a served graph, which waits for a person, needs one.
    """
    builder = StateGraph(
        NuggetState, context_schema=Run, input_schema=NuggetJob, output_schema=NuggetList
    )
    builder.add_node("open_windows", nodes.open_windows, input_schema=NuggetState)
    add_call(
        builder,
        "write_nuggets",
        nodes.write_nuggets,
        nodes.skip_window,
        given=NuggetState,
        goto="merge_nuggets",
        max_attempts=max_attempts,
    )
    builder.add_node("merge_nuggets", nodes.merge_nuggets)
    add_call(
        builder,
        "rate_importance",
        nodes.rate_importance,
        nodes.leave_unrated,
        given=ImportanceTask,
        goto="rank_nuggets",
        max_attempts=max_attempts,
    )
    builder.add_node("rank_nuggets", nodes.rank_nuggets)
    builder.add_node("review", nodes.review)
    builder.add_edge(START, "open_windows")
    builder.add_edge("open_windows", "write_nuggets")
    builder.add_edge("write_nuggets", "merge_nuggets")
    builder.add_conditional_edges(
        "merge_nuggets", route_on, ["write_nuggets", "rate_importance", "rank_nuggets"]
    )
    builder.add_edge("rate_importance", "rank_nuggets")
    builder.add_edge("rank_nuggets", "review")
    builder.add_edge("review", END)
    return make_drawn(builder.compile(checkpointer=checkpointer, name="write_nuggets"))


def route_on(state: NuggetState, runtime: Runtime[Run]) -> list[Send] | str:
    """Read the next window; after the last, fan out over the nuggets."""
    if state.n_read < len(state.windows):
        return "write_nuggets"
    facts = tuple(nugget.text for nugget in state.listed)
    runtime.stream_writer({"expected": len(facts)})
    tasks = [ImportanceTask(state.question, facts, position) for position in range(len(facts))]
    return [Send("rate_importance", task) for task in tasks] or "rank_nuggets"
