"""The exam graph: from a query to the items of its test bank, in one call."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import run_of
from ragassay.graphs.base import Update, add_call, make_drawn
from ragassay.records import Document, Failure, Usage
from ragassay.text.search import condense


@dataclass(frozen=True)
class ExamJob:
    """A query, or a part of it, whose items are to be written: the input of the graph.

    Attributes:
        query: Its id.
        text: Its text, or the title that the facet belongs to.
        kind: What to write.
        facet: Id of the part; empty for the whole.
        facet_text: The part's heading; empty for the whole.
        sources: Texts to write from; empty to write from the query alone.
        wants_answers: Whether questions come with answers.
        number: Items to write.
    """

    query: str
    text: str
    kind: Literal["questions", "nuggets"]
    facet: str = ""
    facet_text: str = ""
    sources: tuple[Document, ...] = ()
    wants_answers: bool = False
    number: int = 10


@dataclass
class ExamState:
    """The state of one job: the job, and what came of it.

    Attributes:
        query, text, kind, facet, facet_text, sources, wants_answers, number: The job.
        texts: The items.
        answers: The answer to each; "" where none is known.
        n_unfounded: Answers that no source states.
        failures: Failed calls.
        usage: The cost of all calls.
    """

    query: str = ""
    text: str = ""
    kind: Literal["questions", "nuggets"] = "questions"
    facet: str = ""
    facet_text: str = ""
    sources: tuple[Document, ...] = ()
    wants_answers: bool = False
    number: int = 10
    texts: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    n_unfounded: int = 0
    failures: Annotated[list[Failure], operator.add] = field(default_factory=list)
    usage: Annotated[Usage, operator.add] = field(default_factory=Usage)


@dataclass(frozen=True)
class ExamItems:
    """The output of the graph; see `ExamState`."""

    texts: tuple[str, ...]
    answers: tuple[str, ...]
    n_unfounded: int
    failures: list[Failure]
    usage: Usage


ExamGraph = CompiledStateGraph[ExamState, Run, ExamJob, ExamItems]


def build_exam_graph(max_attempts: int = 5) -> ExamGraph:
    """Compile the graph.

    Args:
        max_attempts: Most attempts of a model call that fails for a temporary reason.
    """
    builder = StateGraph(
        ExamState, context_schema=Run, input_schema=ExamJob, output_schema=ExamItems
    )
    add_call(
        builder,
        "write_exam",
        write_exam,
        leave_unwritten,
        given=ExamState,
        goto=END,
        max_attempts=max_attempts,
    )
    builder.add_edge(START, "write_exam")
    builder.add_edge("write_exam", END)
    return make_drawn(builder.compile(name="write_exam"))


async def write_exam(state: ExamState, runtime: Runtime[Run]) -> Update:
    """Write the items."""
    run = run_of(runtime)
    # LangGraph's own tools pass plain JSON.
    sources = [Document.model_validate(source) for source in state.sources]
    facet = state.facet_text or state.facet
    found = await run.judge.ask(
        run.agents.exam_writer,
        query=state.text,
        kind=state.kind,
        facet=facet,
        sources=condense(sources, f"{state.text} {facet}", run.settings.source_chars),
        wants_answers=state.wants_answers,
        number=state.number,
    )
    runtime.stream_writer({"done": 1, "usage": found.usage})
    return {
        "texts": found.texts,
        "answers": found.answers,
        "n_unfounded": found.n_unfounded,
        "usage": found.usage,
    }


def leave_unwritten(state: ExamState, failure: Failure) -> Update:
    """Count a failed call: the query has no items."""
    return {"texts": (), "answers": (), "n_unfounded": 0, "failures": [failure]}
