"""Evidence graph: finds passages for and against the sentences of an answer.

write queries -> retrieve -> choose passages -> sufficient? -> write more queries

The settings limit the number of rounds and tokens. A judge decides whether the passages are
sufficient. Without a judge, the most similar passages are used. A document that is found for one
sentence can also be used for others. If the model supports tool calls, an agent can search for each
sentence instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import choose_run
from ragassay.evaluators.cases import OpenCase
from ragassay.graphs import evidence_nodes as nodes
from ragassay.graphs.base import add_call, make_drawn
from ragassay.graphs.case import find_open_case, hash_query_task, hash_sufficiency_task
from ragassay.graphs.evidence_state import (
    EvidenceInput,
    EvidenceOutput,
    EvidenceState,
    QueryTask,
    SufficiencyTask,
)
from ragassay.records import EvidenceSearch

EvidenceGraph = CompiledStateGraph[EvidenceState, Run, EvidenceInput, EvidenceOutput]

N_TITLES = 5
"""Number of titles of insufficient hits to show to the model."""


def build_evidence_graph(max_attempts: int = 5) -> EvidenceGraph:
    """Compile the evidence graph, which is a node of the evaluation graph.

    Args:
        max_attempts: Maximum number of attempts for a model call that fails with transient errors.
    """
    builder = StateGraph(
        EvidenceState,
        context_schema=Run,
        input_schema=EvidenceInput,
        output_schema=EvidenceOutput,
    )
    builder.add_node("read_citations", nodes.read_citations)
    builder.add_node("retrieve", nodes.retrieve)
    builder.add_node("choose_passages", nodes.choose_passages)
    builder.add_node("end_searches", nodes.end_searches)
    calls: list[tuple[str, Any, Any, type, str]] = [
        ("write_query", nodes.write_query, nodes.leave_unasked, QueryTask, "retrieve"),
        ("run_agent", nodes.run_agent, nodes.leave_unsearched, QueryTask, "choose_passages"),
        (
            "judge_sufficiency",
            nodes.judge_sufficiency,
            nodes.leave_unjudged,
            SufficiencyTask,
            "end_searches",
        ),
    ]
    for name, node, on_failure, task, goto in calls:
        add_call(
            builder, name, node, on_failure, input_type=task, goto=goto, max_attempts=max_attempts
        )
    builder.add_conditional_edges(
        START,
        route_start,
        ["read_citations", "write_query", "run_agent", "retrieve", "choose_passages", END],
    )
    builder.add_edge("write_query", "retrieve")
    builder.add_edge("retrieve", "choose_passages")
    builder.add_edge("run_agent", "choose_passages")
    builder.add_conditional_edges(
        "choose_passages", route_chosen, ["judge_sufficiency", "write_query", END]
    )
    builder.add_edge("judge_sufficiency", "end_searches")
    builder.add_conditional_edges("end_searches", route_on, ["write_query", END])
    return make_drawn(builder.compile(name="find_evidence"))


def route_start(state: EvidenceState, runtime: Runtime[Run]) -> list[Send | str]:
    """Look up cited passages and search for evidence, depending on the settings."""
    run = choose_run(runtime)
    open_case = find_open_case(state.case, run)
    if not open_case.case.sentences:
        return [END]
    cited = ["read_citations"] if run.settings.evaluation.wants("citations") else []
    search = _route_search(open_case, runtime) if run.settings.evaluation.looks_for_evidence else []
    return [*cited, *search] or [END]


def _route_search(open_case: OpenCase, runtime: Runtime[Run]) -> list[Send | str]:
    run = choose_run(runtime)
    if not run.retrieval.has_corpus:
        return ["choose_passages"]
    tasks = [QueryTask(open_case.id, sentence.index) for sentence in open_case.case.sentences]
    if run.settings.retrieval.evidence == "agent":
        return _build_sends("run_agent", tasks, open_case, runtime)
    if not run.settings.query_rounds:
        return ["retrieve"]
    return _build_sends("write_query", tasks, open_case, runtime)


def route_chosen(state: EvidenceState, runtime: Runtime[Run]) -> list[Send | str] | str:
    """Judge new passages for sentences without sufficient passages, or start another round."""
    run = choose_run(runtime)
    context = find_open_case(state.case, run).case.context
    known = {judgment.key for judgment in state.judgments if not judgment.failure}
    tasks: list[SufficiencyTask] = []
    for search in _open_searches(state):
        found = (f.passage for f in state.found if f.sentence == search.sentence)
        passages = tuple("\n".join(filter(None, (span.title, span.text))) for span in found)
        task = SufficiencyTask(state.case, search.sentence, passages)
        task = replace(task, key=hash_sufficiency_task(run, task, context))
        if passages and task.key not in known:
            tasks.append(task)
    if not tasks:
        return route_on(state, runtime)
    runtime.stream_writer({"expected": len(tasks)})
    return [Send("judge_sufficiency", task) for task in tasks]


def _open_searches(state: EvidenceState) -> list[EvidenceSearch]:
    return [search for search in state.searches if search.end == "out_of_rounds"]


def route_on(state: EvidenceState, runtime: Runtime[Run]) -> list[Send | str] | str:
    """Start another round of searches for sentences without sufficient passages."""
    run = choose_run(runtime)
    if state.round >= run.settings.query_rounds:
        return END
    tasks = [
        _build_next_task(state, QueryTask(state.case, search.sentence, state.round + 1))
        for search in _open_searches(state)
    ]
    return _build_sends("write_query", tasks, find_open_case(state.case, run), runtime) or END


def _build_next_task(state: EvidenceState, task: QueryTask) -> QueryTask:
    answered = [a for a in state.answered if a.sentence == task.item]
    ids = dict.fromkeys(i for a in answered for i in a.ids)
    titles = [state.pool[i].title for i in ids if i in state.pool and state.pool[i].title]
    tried = tuple(a.query.text for a in answered)
    return replace(task, tried=tried, found=tuple(titles[:N_TITLES]))


def _build_sends(
    node: str, tasks: list[QueryTask], open_case: OpenCase, runtime: Runtime[Run]
) -> list[Send | str]:
    run, context = choose_run(runtime), open_case.case.context
    runtime.stream_writer({"expected": len(tasks)})
    return [
        Send(node, replace(task, key=hash_query_task(run, node, task, context))) for task in tasks
    ]


def count_max_search_calls(open_case: OpenCase, run: Run) -> int:
    """Return the maximum number of model calls for the evidence search."""
    if not (run.settings.evaluation.looks_for_evidence and run.retrieval.has_corpus):
        return 0
    n_calls_a_round = 2 if run.settings.judges_sufficiency else 1
    n_calls = {
        "search": run.settings.query_rounds * n_calls_a_round,
        "agent": run.settings.retrieval.evidence_turns,
    }
    return n_calls[run.settings.retrieval.evidence] * len(open_case.case.sentences)
