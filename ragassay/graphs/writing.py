"""Graphs of one call that writes: items of a test bank, or a synthesis of papers."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import run_of
from ragassay.graphs.base import Update, add_call, make_drawn
from ragassay.records import Document, Failure, Usage
from ragassay.text.search import condense


def _build(
    name: str, write: Any, on_failure: Any, kinds: tuple[type, type, type], max_attempts: int
) -> Any:
    """Compile a graph of one node, by the types of its state, input and output."""
    state, job, output = kinds
    builder = StateGraph(state, context_schema=Run, input_schema=job, output_schema=output)
    add_call(builder, name, write, on_failure, given=state, goto=END, max_attempts=max_attempts)
    builder.add_edge(START, name)
    builder.add_edge(name, END)
    return make_drawn(builder.compile(name=name))


@dataclass(frozen=True)
class ExamJob:
    """A query, or a part of it, whose items are to be written: the input of the graph.

    Attributes:
        query: Its id.
        text: Its text, or the title that the facet belongs to.
        facet: Id of the part; empty for the whole.
        facet_text: The part's heading; empty for the whole.
        sources: Texts to write from; empty to write from the query alone.
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
    kinds = ExamState, ExamJob, ExamItems
    return _build("write_exam", write_exam, leave_exam_unwritten, kinds, max_attempts)


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


def leave_exam_unwritten(state: ExamState, failure: Failure) -> Update:
    """Count a failed call: the query has no items."""
    return {"texts": (), "answers": (), "n_unfounded": 0, "failures": [failure]}


WORDS = 200
"""About how many words a synthesis has, as YESciEval's."""


@dataclass(frozen=True)
class SynthesisJob:
    """A question that a synthesis is to be written for: the input of the graph.

    Attributes:
        topic: The question's id.
        sources: Its papers; at least one.
        words: About how many words the synthesis may have.
    """

    topic: str
    question: str
    sources: tuple[Document, ...]
    words: int = WORDS


@dataclass
class SynthesisState:
    """The state of one job: the job, and what came of it.

    Attributes:
        topic, question, sources, words: The job.
        text: The synthesis; empty until it is written, and where it could not be.
        failures: Failed calls.
        usage: The cost of all calls.
    """

    topic: str = ""
    question: str = ""
    sources: tuple[Document, ...] = ()
    words: int = WORDS
    text: str = ""
    failures: Annotated[list[Failure], operator.add] = field(default_factory=list)
    usage: Annotated[Usage, operator.add] = field(default_factory=Usage)


@dataclass(frozen=True)
class SynthesisText:
    """The output of the graph; see `SynthesisState`."""

    text: str
    failures: list[Failure]
    usage: Usage


SynthesisGraph = CompiledStateGraph[SynthesisState, Run, SynthesisJob, SynthesisText]


def build_synthesis_graph(max_attempts: int = 5) -> SynthesisGraph:
    """Compile the graph.

    Args:
        max_attempts: Most attempts of a model call that fails for a temporary reason.
    """
    kinds = SynthesisState, SynthesisJob, SynthesisText
    return _build(
        "write_synthesis", write_synthesis, leave_synthesis_unwritten, kinds, max_attempts
    )


async def write_synthesis(state: SynthesisState, runtime: Runtime[Run]) -> Update:
    """Write the synthesis from what fits into a prompt of the papers."""
    run = run_of(runtime)
    # LangGraph's own tools pass plain JSON.
    sources = [Document.model_validate(source) for source in state.sources]
    found = await run.judge.ask(
        run.agents.synthesizer,
        question=state.question,
        sources=condense(sources, state.question, run.settings.source_chars),
        words=state.words,
    )
    runtime.stream_writer({"done": 1, "usage": found.usage})
    return {"text": found.text, "usage": found.usage}


def leave_synthesis_unwritten(state: SynthesisState, failure: Failure) -> Update:
    """Record a failed call: the question has no synthesis by this model."""
    return {"text": "", "failures": [failure]}
