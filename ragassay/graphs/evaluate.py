"""The evaluation graph: a record goes in, an evaluation comes out.

segment -> dispatch <-> the preparations and the evaluators' questions -> aggregate

`dispatch` sends out every question that can be asked, again and again, until none is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from ragassay.evaluators import OURS, Evaluator, Task
from ragassay.evaluators.base import Run
from ragassay.graphs import nodes
from ragassay.graphs.base import make_drawn
from ragassay.graphs.case import Input, Output, State
from ragassay.graphs.evidence import build_evidence_graph

EvaluateGraph = CompiledStateGraph[State, Run, Input, Output]


def build_evaluate_graph(
    max_attempts: int = 5, evaluators: Sequence[Evaluator[Any]] = OURS
) -> EvaluateGraph:
    """Compile the graph.

    Args:
        max_attempts: How often a model call is tried that fails for a passing reason.
        evaluators: What may be asked; each has a node of its own.
    """
    builder = StateGraph(State, context_schema=Run, input_schema=Input, output_schema=Output)
    # LangGraph's types do not know that a node's input may have another name than `state`.
    segment: Any = nodes.segment
    ask: Any = nodes.ask
    builder.add_node("segment", segment, input_schema=Input)
    builder.add_node("find_evidence", build_evidence_graph(max_attempts))
    builder.add_node("check_citations", nodes.check_citations)
    builder.add_node("measure", nodes.measure)
    builder.add_node("aggregate", nodes.aggregate)
    asking = [nodes.node_of(Task(evaluator.name, "")) for evaluator in evaluators]
    for name in asking:
        builder.add_node(name, ask, input_schema=Task)
    preparing = list(nodes.PREPARED_BY.values())
    builder.add_node("dispatch", nodes.dispatch, destinations=(*preparing, *asking, "aggregate"))
    builder.add_edge(START, "segment")
    for name in ("segment", *preparing, *asking):
        builder.add_edge(name, "dispatch")
    builder.add_edge("aggregate", END)
    return make_drawn(builder.compile(name="evaluate"))
