"""The graph that writes question-answer pairs from a paper (Wan et al. 2024, section 3).

keywords, parts -> write each -> check by rule -> rate in five dimensions -> sort
-> repair the flawed, write the missing -> check ... until all are well, or a bound ends it.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from ragassay.graphs import qa_nodes as nodes
from ragassay.graphs.failures import failure_of, pause_before_retry, retry_policies
from ragassay.graphs.picture import make_drawn
from ragassay.graphs.qa_state import QAJob, QAPairs, QAState, QATools, RatingTask
from ragassay.records import RACAR, Failure

QAGraph = CompiledStateGraph[QAState, QATools, QAJob, QAPairs]


def build_qa_graph(max_attempts: int = 5) -> QAGraph:
    """Compile the graph.

    Args:
        max_attempts: Most attempts of a model call that fails for a temporary reason.
    """
    builder = StateGraph(QAState, context_schema=QATools, input_schema=QAJob, output_schema=QAPairs)
    add = functools.partial(_add_call, builder, max_attempts)
    builder.add_node("open_paper", nodes.open_paper, input_schema=QAState)
    add("write_pairs", nodes.write_pairs, nodes.skip_part, QAState)
    builder.add_node("check_pairs", nodes.check_pairs)
    add("rate_pairs", nodes.rate_pairs, nodes.leave_unrated, RatingTask)
    builder.add_node("sort_pairs", nodes.sort_pairs)
    add("mend_pairs", nodes.mend_pairs, nodes.leave_flawed, QAState)
    calls = ["mend_pairs", "write_pairs", "check_pairs"]
    builder.add_edge(START, "open_paper")
    builder.add_conditional_edges("open_paper", route_opened, ["write_pairs", END])
    builder.add_conditional_edges("write_pairs", route_call, calls)
    builder.add_conditional_edges("mend_pairs", route_call, calls)
    builder.add_conditional_edges("check_pairs", route_rating, ["rate_pairs", "sort_pairs"])
    builder.add_edge("rate_pairs", "sort_pairs")
    builder.add_conditional_edges("sort_pairs", route_round, [*calls, END])
    return make_drawn(builder.compile(name="write_qa_pairs"))


def _add_call(
    builder: StateGraph[QAState, QATools, QAJob, QAPairs],
    max_attempts: int,
    name: str,
    ask: Callable[[Any, Runtime[QATools]], Awaitable[nodes.Update]],
    on_failure: Callable[[Any, Failure], nodes.Update],
    given: type[QAState] | type[RatingTask],
) -> None:
    """Add a node that asks a model; its failure is settled in the node itself."""
    retried = retry_policies(max_attempts)

    async def asked(state: Any, runtime: Runtime[QATools]) -> nodes.Update:
        try:
            return await ask(state, runtime)
        except Exception as error:  # the boundary of a unit of work
            info = runtime.execution_info
            attempt = info.node_attempt if info else max_attempts
            if pause_before_retry(error, attempt, max_attempts) is not None:
                raise
            runtime.stream_writer({"done": 1, "failed": 1})
            return on_failure(state, failure_of(error))

    node: Any = asked  # LangGraph's types do not allow for a node of two kinds of input.
    builder.add_node(name, node, input_schema=given, retry_policy=retried)


def route_opened(state: QAState) -> str:
    """Write, where the paper can be read."""
    return END if state.end else "write_pairs"


def route_call(state: QAState) -> str:
    """Go on with the round."""
    return nodes.next_call(state)


def route_rating(state: QAState, runtime: Runtime[QATools]) -> list[Send] | str:
    """Have the pairs without a flaw rated, in each dimension at once."""
    clean = tuple(draft.pair for draft in state.open if not draft.flaws)
    if runtime.context.rate is None or state.way != "pairs" or not (clean and state.has_tokens):
        return "sort_pairs"
    runtime.stream_writer({"expected": len(RACAR)})
    return [Send("rate_pairs", RatingTask(state.paper, clean, one)) for one in RACAR]


def route_round(state: QAState) -> str:
    """Go on with the next round, or end."""
    return END if state.end else nodes.next_call(state)
