"""The picture of a graph: its nodes and subgraphs, without error handlers."""

from __future__ import annotations

import copy
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph
from langgraph.graph.state import CompiledStateGraph

G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])


class DrawnGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that leaves its error handlers out of its picture.

    LangGraph draws each handler as a node without an edge, and opens no subgraph that has one.
    """

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """Return the picture; `xray` opens subgraphs."""
        return CompiledStateGraph.get_graph(self._without_handlers(), config, xray=xray)

    async def aget_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Graph:
        """Return the picture; LangGraph's server asks for it here."""
        return await CompiledStateGraph.aget_graph(self._without_handlers(), config, xray=xray)

    def _without_handlers(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        handlers = set(self.node_error_handler_map.values())
        shown = copy.copy(self)
        shown.nodes = {name: node for name, node in self.nodes.items() if name not in handlers}
        return shown


def make_drawn(graph: G) -> G:
    """Make a compiled graph leave its error handlers out of its picture; return it."""
    # `StateGraph.compile` takes no class to compile to.
    cast(Any, graph).__class__ = DrawnGraph
    return graph
