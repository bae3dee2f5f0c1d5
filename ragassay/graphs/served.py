"""The graphs for LangGraph's own tools: see langgraph.json at the root.

Such a tool has its own checkpointer and passes plain JSON; settings come from the environment.
"""

from __future__ import annotations

from typing import Any, TypeVar

from langgraph.graph.state import CompiledStateGraph

from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.graphs.nuggets import build_nugget_graph

G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])


def _take_no_context(graph: G) -> G:
    """Let a graph run with a server's empty context, of which no run can be made."""
    graph.context_schema = None
    return graph


evaluate = _take_no_context(build_evaluate_graph())
write_nuggets = _take_no_context(build_nugget_graph())
