"""The evaluation graph: a record goes in, an evaluation comes out.

segment -> dispatch <-> the preparations and the evaluators' questions -> aggregate

`dispatch` sends out every question that can be asked, again and again, until none is left.
"""

from __future__ import annotations

import asyncio
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
from ragassay.evaluators.build_run import ready_run, run_of
from ragassay.evaluators.cases import OpenCase, Task, VerdictKey
from ragassay.evaluators.outcome import evaluation_of, outcome_of
from ragassay.graphs.base import Update, make_drawn
from ragassay.graphs.case import (
    CaseQuestion,
    Input,
    Output,
    State,
    find_open_case,
    open_case_of,
    reading_key,
    update_open_case,
)
from ragassay.graphs.evidence import build_evidence_graph
from ragassay.judges import BaseJudge
from ragassay.process import in_thread
from ragassay.records import Reading, Record
from ragassay.retrievers.citation_warnings import citation_findings
from ragassay.retrievers.literature import can_look_up
from ragassay.tracing import step_span

EvaluateGraph = CompiledStateGraph[State, Run, Input, Output]


def build_evaluate_graph(
    max_attempts: int = 5, evaluators: Sequence[Evaluator[Any]] = OURS
) -> EvaluateGraph:
    """Compile the graph.

    Args:
        max_attempts: How often a model call is tried that fails for a passing reason.
        evaluators: What may be asked; each has a node of its own.
    """
    builder = StateGraph(State, context_schema=Run, input_schema=Input, output_schema=Output)
    # LangGraph's types do not know that a node's input may have another name than `state`.
    cut: Any = segment
    question: Any = ask
    builder.add_node("segment", cut, input_schema=Input)
    builder.add_node("find_evidence", build_evidence_graph(max_attempts))
    builder.add_node("check_citations", check_citations)
    builder.add_node("measure", measure)
    builder.add_node("aggregate", aggregate)
    asking = [node_of(Task(evaluator.name, "")) for evaluator in evaluators]
    for name in asking:
        builder.add_node(name, question, input_schema=Task)
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
"""Nodes that prepare a case, by what evaluators need."""


async def segment(given: Input, runtime: Runtime[Run]) -> Update:
    """Cut the record into a case, unless the caller has."""
    if given.case:
        return {"case": given.case}
    # LangGraph's own tools hand in plain JSON.
    open_case = await open_case_of(Record.model_validate(given.record), await ready_run(runtime))
    return {"case": open_case.id}


async def dispatch(state: State, runtime: Runtime[Run]) -> Command[Any]:
    """Send out every question that can be asked now; when none is left, add up.

    Raises:
        FatalModelError: The run cannot go on.
    """
    run = run_of(runtime)
    _raise_fatal(run, state.case)
    open_case = update_open_case(state, run)
    unprepared = [name for name in _preparations(run) if name not in state.prepared]
    tasks = open_tasks(open_case, run, unprepared)
    sends = [Send(node_of(task), task) for task in tasks]
    nodes = [PREPARED_BY[name] for name in unprepared]
    return Command(update={"prepared": unprepared}, goto=[*nodes, *sends] or "aggregate")


def open_tasks(open_case: OpenCase, run: Run, unprepared: list[str]) -> list[Task]:
    """Return the questions that have no verdict yet and whose needs are met."""
    unfinished, tasks = set(unprepared), list[Task]()
    for evaluator in run.evaluators:
        if not unfinished.isdisjoint(evaluator.needs):
            unfinished.add(evaluator.name)
            continue
        own = [
            task for task in evaluator.tasks(open_case, run) if task.key not in open_case.verdicts
        ]
        if own:
            unfinished.add(evaluator.name)
        tasks += own
    return tasks


def _preparations(run: Run) -> list[str]:
    """Return the preparations that the run's evaluators need."""
    needed = {need for evaluator in run.evaluators for need in evaluator.needs}
    if not (run.computes_signals or run.readers):
        needed.discard("signals")
    return [name for name in PREPARED_BY if name in needed]


def node_of(task: Task) -> str:
    """Return the node that asks a task's question."""
    return f"ask_{task.evaluator}"


async def ask(task: Task, runtime: Runtime[Run]) -> Update:
    """Have the judges answer one question, in rounds: those that are asked together.

    An error that ends the run is left to `dispatch`, when all of a round have answered: LangGraph
    would break off the questions beside this one, which are paid for.
    """
    run = run_of(runtime)
    open_case, evaluator = find_open_case(task.case, run), run.evaluator(task.evaluator)
    item = evaluator.known_items(open_case, run)[task.item]
    question = CaseQuestion(evaluator, task.item, item, open_case, run, runtime.stream_writer)
    rounds: Any = run.judges.rounds(question)
    replies: Any = None
    try:
        while True:
            calls = [one.ask(judge) for one, judge in rounds.send(replies)]
            replies = await asyncio.gather(*calls, return_exceptions=True)
            if errors := [one for one in replies if isinstance(one, BaseException)]:
                raise errors[0]
    except StopIteration as end:
        return {"verdicts": {VerdictKey(one.evaluator, one.item): one for one in end.value}}
    except FatalModelError as error:
        run.open_cases.break_off(task.case, error)
        return {}


async def check_citations(state: State, runtime: Runtime[Run]) -> Update:
    """Look up what is known against the cited articles."""
    run = run_of(runtime)
    corpus = run.retrieval.corpus
    if not can_look_up(corpus):
        return {"citation_warnings": ()}
    open_case = find_open_case(state.case, run)
    written = open_case.record.date or ""
    return {
        "citation_warnings": await in_thread(citation_findings, open_case.case, corpus, written)
    }


async def measure(state: State, runtime: Runtime[Run]) -> Update:
    """Measure the answer, and have fine-tuned judges read it, before its rubrics are judged."""
    run = run_of(runtime)
    open_case = find_open_case(state.case, run)
    runtime.stream_writer({"phase": "measuring"})
    signal_extractor = run.models.signal_extractor if run.computes_signals else None
    with step_span("measure"):
        readings = {
            judge.name: reading
            for judge in run.readers
            if (reading := await _reading(open_case, judge, run))
        }
        signals = (
            await in_thread(signal_extractor.signals, open_case.case) if signal_extractor else None
        )
    return {"signals": signals, "readings": readings}


async def _reading(open_case: OpenCase, judge: BaseJudge, run: Run) -> Reading | None:
    """Return what a judge sees in an answer; None where it failed.

    The ratings ask for it again then, each with its own tries, and say what is wrong.
    """
    key = reading_key(run, judge.name, open_case)
    with suppress(ModelError):
        async with run.store.once(key, READING) as work:
            if work.is_new:
                work.result = await judge.read(open_case.case, run.agents)
        return work.result
    return None


async def aggregate(state: State, runtime: Runtime[Run]) -> Update:
    """Put the verdicts in order, match the nuggets and add everything up.

    Raises:
        FatalModelError: The run cannot go on.
        RagassayError: The evaluation was broken off.
    """
    run = run_of(runtime)
    _raise_fatal(run, state.case)
    outcome = await in_thread(outcome_of, update_open_case(state, run), run)
    run.open_cases.close(state.case)
    return {"evaluation": evaluation_of(outcome, state.searches, state.citation_warnings)}


def _raise_fatal(run: Run, case: str) -> None:
    """Raise what ended the run in the step before: a question or a handler has left it."""
    fatal = run.open_cases.fatal(case) or run.fatal
    if fatal is not None:
        raise fatal
