"""Graphs for LangGraph's server and Studio, which langgraph.json refers to.

LangGraph's server and Studio have their own checkpointer and pass plain JSON. The settings come
from environment variables.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from langgraph.graph.state import CompiledStateGraph

from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.graphs.nuggets import build_nugget_graph

G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])


def _remove_context_schema(graph: G) -> G:
    """Return a graph that accepts the server's empty context, which is not a valid `Run`."""
    served = copy.copy(graph)
    served.context_schema = None
    return served


evaluate = _remove_context_schema(build_evaluate_graph())
write_nuggets = _remove_context_schema(build_nugget_graph())
