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

from ragassay.graphs import citation_nuggets, nodes
from ragassay.graphs.escalation import escalate, unsure_tasks, weigh
from ragassay.graphs.evidence import build_evidence_graph
from ragassay.graphs.failures import after, file_failure, retry_policies
from ragassay.graphs.keys import task_key
from ragassay.graphs.panel import confer_tasks
from ragassay.graphs.state import Input, Output, State, Task
from ragassay.graphs.tasks import case_tasks, claim_tasks, rubric_tasks, wanted_passages
from ragassay.graphs.toolbox import Toolbox, toolbox

EvaluateGraph = CompiledStateGraph[State, Toolbox, Input, Output]

VERDICT_NODES: dict[str, Any] = {
    "nuggetize": nodes.nuggetize,
    "judge_rubric": nodes.judge_rubric,
    "label_sentence": nodes.label_sentence,
    "assign_nugget": nodes.assign_nugget,
    "verify_claim": nodes.verify_claim,
    "list_facts": citation_nuggets.list_facts,
}
"""Nodes with a task each, and what others may be made of."""

FINAL_NODES: dict[str, Any] = {
    "verify_nugget": citation_nuggets.verify_nugget,
    "confer": nodes.judge_rubric,
}
"""Nodes whose tasks are made of the verdicts of the others."""

LAST_NODES: dict[str, Any] = {"escalate": escalate}
"""Nodes whose tasks are those of others that a judge was not sure of."""


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
    builder.add_node("measure", nodes.measure)
    builder.add_node("check_correctness", nodes.check_correctness)
    builder.add_node("hold", nodes.hold)
    builder.add_node("gather", nodes.gather, defer=True)
    builder.add_node("weigh", weigh, defer=True)
    builder.add_node("aggregate", nodes.aggregate, defer=True)
    # LangGraph's types do not know that a handler may take the error.
    on_failure: Any = file_failure
    for name, node in {**VERDICT_NODES, **FINAL_NODES, **LAST_NODES}.items():
        builder.add_node(
            name,
            node,
            input_schema=Task,
            retry_policy=retry_policies(max_attempts),
            cache_policy=CachePolicy(key_func=_cache_key),
            error_handler=on_failure,
        )
        builder.add_edge(name, after(name))
    builder.add_edge(START, "segment")
    builder.add_conditional_edges(
        "segment", route_case, [*VERDICT_NODES, "find_evidence", "check_citations", "measure"]
    )
    builder.add_conditional_edges("measure", route_rubrics, ["judge_rubric", "hold", "gather"])
    builder.add_edge("check_citations", "gather")
    builder.add_edge("hold", "gather")
    builder.add_conditional_edges(
        "find_evidence", route_evidence, [*VERDICT_NODES, "check_correctness", "hold", "gather"]
    )
    builder.add_edge("check_correctness", "gather")
    builder.add_conditional_edges("gather", route_final, [*FINAL_NODES, "weigh"])
    builder.add_conditional_edges("weigh", route_unsure, [*LAST_NODES, "aggregate"])
    builder.add_edge("aggregate", END)
    return builder.compile(cache=cache, checkpointer=checkpointer, name="evaluate")


def route_case(state: State, runtime: Runtime[Toolbox]) -> list[Send | str]:
    """Fan out what needs no evidence; look for evidence and cited articles beside it.

    Rubrics wait until the answer is measured or read, where it is to be.
    """
    if state.case is None:
        return ["find_evidence"]
    tools = toolbox(runtime)
    tasks = case_tasks(state.case, tools.settings)
    beside = ["check_citations"] if tools.settings.wants("citations") else []
    if tools.measures or tools.readers:
        beside.append("measure")
    else:
        tasks += rubric_tasks(state.case, tools.rubrics, tools.judges)
    return ["find_evidence", *beside, *_sends(runtime, tasks)]


def route_rubrics(state: State, runtime: Runtime[Toolbox]) -> list[Send | str]:
    """Fan out over the rubrics of an answer that was measured or read."""
    if state.case is None:
        return ["gather"]
    tools = toolbox(runtime)
    tasks = rubric_tasks(state.case, tools.rubrics, tools.judges, state.signals, state.readings)
    return _held(_sends(runtime, tasks)) or ["gather"]


def route_evidence(state: State, runtime: Runtime[Toolbox]) -> list[Send | str]:
    """Fan out over the pairs of a sentence and a passage, and over cited documents."""
    if state.case is None:
        return ["gather"]
    settings = toolbox(runtime).settings
    tasks = claim_tasks(state.case, *wanted_passages(state, settings))
    if settings.cites_by_nuggets:
        tasks += citation_nuggets.fact_tasks(state.case, state.cited)
    beside = ["check_correctness"] if state.found and settings.wants("correctness") else []
    return [*beside, *_held(_sends(runtime, tasks))] or ["gather"]


def route_final(state: State, runtime: Runtime[Toolbox]) -> list[Send] | str:
    """Fan out over the judges of disputed rubrics, and over nuggets and cited documents."""
    if state.case is None:
        return "weigh"
    tools = toolbox(runtime)
    tasks = confer_tasks(state.case, state.judgments, tools, state.signals)
    if tools.settings.cites_by_nuggets:
        tasks += citation_nuggets.nugget_tasks(state.case, state.cited, state.facts, state.nuggets)
    return _sends(runtime, tasks) or "weigh"


def route_unsure(state: State, runtime: Runtime[Toolbox]) -> list[Send] | str:
    """Fan out over what the judge was not sure of, where a second one is to be asked."""
    if state.case is None:
        return "aggregate"
    return _sends(runtime, unsure_tasks(state.case, state, toolbox(runtime))) or "aggregate"


def _held(sends: list[Send]) -> list[Send | str]:
    """Tasks, with a node beside them that keeps what is deferred waiting for them."""
    return [*sends, "hold"] if sends else []


def _sends(runtime: Runtime[Toolbox], tasks: list[Task]) -> list[Send]:
    tools = toolbox(runtime)
    runtime.stream_writer({"expected": len(tasks)})
    return [
        Send("escalate" if task.said else task.kind, replace(task, key=task_key(tools, task)))
        for task in tasks
    ]


def _cache_key(task: Task) -> str:
    # LangGraph draws a graph by preparing its tasks with an empty input.
    return task.key if isinstance(task, Task) else ""
