"""The graphs for LangGraph's own tools: see langgraph.json at the root.

Such a tool has its own checkpointer and passes plain JSON; settings come from the environment.
"""

from __future__ import annotations

from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.graphs.nuggets import build_nugget_graph

evaluate = build_evaluate_graph()
write_nuggets = build_nugget_graph()
