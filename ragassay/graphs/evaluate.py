"""Evaluation graph: turns a record into an evaluation.

segment -> dispatch <-> preparations and evaluator questions -> aggregate

`dispatch` sends all questions that can be asked, and repeats this until none are left.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send
from pydantic import TypeAdapter

from ragassay.errors import FatalModelError, ModelError
from ragassay.evaluators import OURS, Evaluator
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import choose_run, prepare_run
from ragassay.evaluators.cases import OpenCase, Task, VerdictKey
from ragassay.evaluators.outcome import build_evaluation, collect_outcome
from ragassay.graphs.base import Update, make_drawn
from ragassay.graphs.case import (
    CaseQuestion,
    Input,
    Output,
    State,
    find_open_case,
    hash_reading,
    start_case,
    update_open_case,
)
from ragassay.graphs.evidence import build_evidence_graph
from ragassay.judges import BaseJudge
from ragassay.process import run_in_thread
from ragassay.records import Reading, Record
from ragassay.retrievers.citation_warnings import check_cited_articles
from ragassay.retrievers.literature import can_look_up
from ragassay.tracing import open_step_span

EvaluateGraph = CompiledStateGraph[State, Run, Input, Output]


def build_evaluate_graph(
    max_attempts: int = 5, evaluators: Sequence[Evaluator[Any]] = OURS
) -> EvaluateGraph:
    """Compile the evaluation graph, once per process for the same arguments.

    Args:
        max_attempts: Maximum number of attempts for a model call that fails with transient errors.
        evaluators: Evaluators whose questions the graph can ask. Each evaluator has its own node.
    """
    return _compile_graph(max_attempts, tuple(evaluator.name for evaluator in evaluators))


@functools.lru_cache(maxsize=8)
def _compile_graph(max_attempts: int, names: tuple[str, ...]) -> EvaluateGraph:
    builder = StateGraph(State, context_schema=Run, input_schema=Input, output_schema=Output)
    # LangGraph's types require nodes to name their input `state`.
    ask_node: Any = ask
    builder.add_node("segment", segment, input_schema=Input)
    builder.add_node("find_evidence", build_evidence_graph(max_attempts))
    builder.add_node("check_citations", check_citations)
    builder.add_node("measure", measure)
    builder.add_node("aggregate", aggregate)
    asking = [format_node_name(Task(name, "")) for name in names]
    for name in asking:
        builder.add_node(name, ask_node, input_schema=Task)
    preparing = list(PREPARED_BY.values())
    builder.add_node("dispatch", dispatch, destinations=(*preparing, *asking, "aggregate"))
    builder.add_edge(START, "segment")
    for name in ("segment", *preparing, *asking):
        builder.add_edge(name, "dispatch")
    builder.add_edge("aggregate", END)
    return make_drawn(builder.compile(name="evaluate"))


READING = TypeAdapter(Reading)

PREPARED_BY = {
    "passages": "find_evidence",
    "signals": "measure",
    "citation_warnings": "check_citations",
}
"""Nodes that prepare a case, keyed by the name that evaluators list in `needs`."""


async def segment(state: Input, runtime: Runtime[Run]) -> Update:
    """Build a case from the record, unless the caller already opened a case."""
    if state.case:
        return {"case": state.case}
    # LangGraph's own tools pass plain JSON.
    open_case = await start_case(Record.model_validate(state.record), await prepare_run(runtime))
    return {"case": open_case.id}


async def dispatch(state: State, runtime: Runtime[Run]) -> Command[Any]:
    """Send all questions that can be asked now, or continue with `aggregate` if none are left.

    Raises:
        FatalModelError: A model of the run cannot be used.
    """
    run = choose_run(runtime)
    _raise_fatal(run, state.case)
    open_case = update_open_case(state, run)
    unprepared = [name for name in _list_preparations(run) if name not in state.prepared]
    tasks = open_tasks(open_case, run, unprepared)
    sends = [Send(format_node_name(task), task) for task in tasks]
    nodes = [PREPARED_BY[name] for name in unprepared]
    return Command(update={"prepared": unprepared}, goto=[*nodes, *sends] or "aggregate")


def open_tasks(open_case: OpenCase, run: Run, unprepared: list[str]) -> list[Task]:
    """Return the unanswered questions of all evaluators whose `needs` are met."""
    unfinished, tasks = set(unprepared), list[Task]()
    for evaluator in run.evaluators:
        if not unfinished.isdisjoint(evaluator.needs):
            unfinished.add(evaluator.name)
            continue
        new = [
            task
            for task in evaluator.build_tasks(open_case, run)
            if task.key not in open_case.verdicts
        ]
        if new:
            unfinished.add(evaluator.name)
        tasks += new
    return tasks


def _list_preparations(run: Run) -> list[str]:
    needed = {need for evaluator in run.evaluators for need in evaluator.needs}
    if not (run.computes_signals or run.readers):
        needed.discard("signals")
    return [name for name in PREPARED_BY if name in needed]


def format_node_name(task: Task) -> str:
    """Return the name of the node that asks this question."""
    return f"ask_{task.evaluator}"


async def ask(task: Task, runtime: Runtime[Run]) -> Update:
    """Ask one question of all judges that have to answer it, in up to two rounds.

    A fatal error is stored for `dispatch` to raise later, because LangGraph would cancel the
    parallel questions, which are already paid for.
    """
    run = choose_run(runtime)
    open_case, evaluator = find_open_case(task.case, run), run.get_evaluator(task.evaluator)
    item = evaluator.get_cached_items(open_case, run)[task.item]
    question = CaseQuestion(evaluator, task.item, item, open_case, run, runtime.stream_writer)
    rounds: Any = run.judges.run_rounds(question)
    replies: Any = None
    try:
        while True:
            calls = [asked.ask(judge) for asked, judge in rounds.send(replies)]
            replies = await asyncio.gather(*calls, return_exceptions=True)
            if errors := [reply for reply in replies if isinstance(reply, BaseException)]:
                raise errors[0]
    except StopIteration as end:
        return {"verdicts": {VerdictKey(v.evaluator, v.item): v for v in end.value}}
    except FatalModelError as error:
        run.open_cases.break_off(task.case, error)
        return {}


async def check_citations(state: State, runtime: Runtime[Run]) -> Update:
    """Look up retractions of cited articles, and other notices about these articles."""
    run = choose_run(runtime)
    corpus = run.retrieval.corpus
    if not can_look_up(corpus):
        return {"citation_warnings": ()}
    open_case = find_open_case(state.case, run)
    written = open_case.record.date or ""
    return {
        "citation_warnings": await run_in_thread(
            check_cited_articles, open_case.case, corpus, written
        )
    }


async def measure(state: State, runtime: Runtime[Run]) -> Update:
    """Compute the signals of the answer, and let fine-tuned judges mark its sentences."""
    run = choose_run(runtime)
    open_case = find_open_case(state.case, run)
    runtime.stream_writer({"phase": "measuring"})
    signal_extractor = run.models.signal_extractor if run.computes_signals else None
    with open_step_span("measure"):
        readings = {
            judge.name: reading
            for judge in run.readers
            if (reading := await _read_case(open_case, judge, run))
        }
        signals = (
            await run_in_thread(signal_extractor.extract_signals, open_case.case)
            if signal_extractor
            else None
        )
    return {"signals": signals, "readings": readings}


async def _read_case(open_case: OpenCase, judge: BaseJudge, run: Run) -> Reading | None:
    """Return a judge's sentence marks for an answer, or None if marking failed.

    If marking failed, each rating asks for the marks again, and reports its own failure.
    """
    key = hash_reading(run, judge.name, open_case)
    with suppress(ModelError):
        async with run.store.compute_once(key, READING) as work:
            if work.is_new:
                work.result = await judge.read(open_case.case, run.agents)
        return work.result
    return None


async def aggregate(state: State, runtime: Runtime[Run]) -> Update:
    """Sort the verdicts, match the nuggets and compute the evaluation.

    Raises:
        FatalModelError: A model of the run cannot be used.
        RagassayError: The evaluation was aborted.
    """
    run = choose_run(runtime)
    _raise_fatal(run, state.case)
    outcome = await run_in_thread(collect_outcome, update_open_case(state, run), run)
    run.open_cases.close(state.case)
    return {"evaluation": build_evaluation(outcome, state.searches, state.citation_warnings)}


def _raise_fatal(run: Run, case: str) -> None:
    """Raise a fatal error stored by a question or handler in the previous step."""
    fatal = run.open_cases.find_fatal_error(case) or run.fatal
    if fatal is not None:
        raise fatal
