"""Graphs for LangGraph's server and Studio, which langgraph.json refers to.

LangGraph's server and Studio have their own checkpointer and pass plain JSON. The settings come
from environment variables.
"""

from __future__ import annotations

from typing import Any, TypeVar

from langgraph.graph.state import CompiledStateGraph

from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.graphs.nuggets import build_nugget_graph

G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])


def _remove_context_schema(graph: G) -> G:
    """Make a graph accept the server's empty context, which is not a valid `Run`."""
    graph.context_schema = None
    return graph


evaluate = _remove_context_schema(build_evaluate_graph())
write_nuggets = _remove_context_schema(build_nugget_graph())
