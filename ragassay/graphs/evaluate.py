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
from ragassay.graphs.failures import file_failure, retry_policies
from ragassay.graphs.state import Input, Output, State, Task, cited_key
from ragassay.graphs.toolbox import Toolbox, toolbox

EvaluateGraph = CompiledStateGraph[State, Toolbox, Input, Output]

VERDICT_NODES = {
    "nuggetize": nodes.nuggetize,
    "judge_rubric": nodes.judge_rubric,
    "label_sentence": nodes.label_sentence,
    "verify_evidence": nodes.verify_evidence,
    "verify_citation": nodes.verify_citation,
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
    builder.add_node("find_evidence", nodes.find_evidence)
    builder.add_node("aggregate", nodes.aggregate, defer=True)
    for name, node in VERDICT_NODES.items():
        builder.add_node(
            name,
            node,
            input_schema=Task,
            retry_policy=retry_policies(max_attempts),
            cache_policy=CachePolicy(key_func=_cache_key),
            error_handler=file_failure,
        )
        builder.add_edge(name, "aggregate")
    builder.add_edge(START, "segment")
    builder.add_conditional_edges("segment", route_case, [*VERDICT_NODES, "find_evidence"])
    builder.add_conditional_edges("find_evidence", route_evidence, [*VERDICT_NODES, "aggregate"])
    builder.add_edge("aggregate", END)
    return builder.compile(cache=cache, checkpointer=checkpointer, name="evaluate")


def route_case(state: State, runtime: Runtime[Toolbox]) -> list[Send | str]:
    """Fan out what needs no evidence; look for evidence beside it."""
    tools, case = toolbox(runtime), state.case
    tasks: list[Task] = []
    if case is not None and case.sentences:
        tasks += [Task(kind="judge_rubric", case=case, rubric=name) for name in tools.rubrics]
        tasks += [Task(kind="label_sentence", case=case, item=s.index) for s in case.sentences]
        tasks += [Task(kind="nuggetize", case=case, item=s.index) for s in case.sentences]
        n_reference = 0 if case.gold else len(case.reference_sentences)
        tasks += [
            Task(kind="nuggetize", case=case, item=n, origin="reference")
            for n in range(1, n_reference + 1)
        ]
    return ["find_evidence", *_sends(tools, tasks)]


def route_evidence(state: State, runtime: Runtime[Toolbox]) -> list[Send] | str:
    """Fan out over sentences with a passage, and over citations whose document has one."""
    case, passages = state.case, state.passages
    if case is None or passages is None:
        return "aggregate"
    tasks = [
        Task(kind="verify_evidence", case=case, item=s.index, passage=passage)
        for s, passage in zip(case.sentences, passages.claims, strict=True)
        if passage
    ]
    tasks += [
        Task(kind="verify_citation", case=case, item=s.index, marker=c.marker, passage=passage)
        for s in case.sentences
        for c in s.citations
        if (passage := passages.cited.get(cited_key(s.index, c.marker)))
    ]
    return _sends(toolbox(runtime), tasks) or "aggregate"


def _sends(tools: Toolbox, tasks: list[Task]) -> list[Send]:
    return [Send(task.kind, replace(task, key=tools.task_key(task))) for task in tasks]


def _cache_key(task: Task) -> str:
    # LangGraph draws a graph by preparing its tasks with an empty input.
    return task.key if isinstance(task, Task) else ""
