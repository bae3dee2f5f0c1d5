"""The evaluation graph: a record goes in, an evaluation comes out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langgraph.cache.base import BaseCache
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import CachePolicy, Send

from ragassay.graphs import nodes
from ragassay.graphs.evidence import build_evidence_graph
from ragassay.graphs.failures import file_failure, retry_policies
from ragassay.graphs.state import Input, Output, State, Task
from ragassay.graphs.tasks import case_tasks, claim_tasks
from ragassay.graphs.toolbox import Toolbox, toolbox

EvaluateGraph = CompiledStateGraph[State, Toolbox, Input, Output]

VERDICT_NODES: dict[str, Any] = {
    "nuggetize": nodes.nuggetize,
    "judge_rubric": nodes.judge_rubric,
    "label_sentence": nodes.label_sentence,
    "assign_nugget": nodes.assign_nugget,
    "verify_claim": nodes.verify_claim,
}


def build_evaluate_graph(
    max_attempts: int = 5,
    cache: BaseCache[Any] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> EvaluateGraph:
    """Compile the graph.

    Args:
        max_attempts: How often a model call is tried that fails for a passing reason.
        cache: Keeps verdicts by the hash of what they depend on; None for no cache.
        checkpointer: Keeps states, so that a killed run goes on; None for none.
    """
    builder = StateGraph(State, context_schema=Toolbox, input_schema=Input, output_schema=Output)
    builder.add_node("segment", nodes.segment)
    builder.add_node("find_evidence", build_evidence_graph(max_attempts, cache))
    builder.add_node("check_citations", nodes.check_citations)
    builder.add_node("aggregate", nodes.aggregate, defer=True)
    # LangGraph's types do not know that a handler may take the error.
    on_failure: Any = file_failure
    for name, node in VERDICT_NODES.items():
        builder.add_node(
            name,
            node,
            input_schema=Task,
            retry_policy=retry_policies(max_attempts),
            cache_policy=CachePolicy(key_func=_cache_key),
            error_handler=on_failure,
        )
        builder.add_edge(name, "aggregate")
    builder.add_edge(START, "segment")
    builder.add_conditional_edges(
        "segment", route_case, [*VERDICT_NODES, "find_evidence", "check_citations"]
    )
    builder.add_edge("check_citations", "aggregate")
    builder.add_conditional_edges("find_evidence", route_evidence, [*VERDICT_NODES, "aggregate"])
    builder.add_edge("aggregate", END)
    return builder.compile(cache=cache, checkpointer=checkpointer, name="evaluate")


def route_case(state: State, runtime: Runtime[Toolbox]) -> list[Send | str]:
    """Fan out what needs no evidence; look for evidence and cited articles beside it."""
    if state.case is None:
        return ["find_evidence"]
    tasks = case_tasks(state.case, toolbox(runtime).rubrics)
    return ["find_evidence", "check_citations", *_sends(runtime, tasks)]


def route_evidence(state: State, runtime: Runtime[Toolbox]) -> list[Send] | str:
    """Fan out over the pairs of a sentence and a passage."""
    if state.case is None:
        return "aggregate"
    return _sends(runtime, claim_tasks(state.case, state.found, state.cited)) or "aggregate"


def _sends(runtime: Runtime[Toolbox], tasks: list[Task]) -> list[Send]:
    tools = toolbox(runtime)
    runtime.stream_writer({"expected": len(tasks)})
    return [Send(task.kind, replace(task, key=tools.task_key(task))) for task in tasks]


def _cache_key(task: Task) -> str:
    # LangGraph draws a graph by preparing its tasks with an empty input.
    return task.key if isinstance(task, Task) else ""
