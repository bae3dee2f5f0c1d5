"""Graphs that write test bank items or a synthesis of papers with a single model call."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import choose_run
from ragassay.graphs.base import Update, add_call, make_drawn
from ragassay.records import Document, Failure, Usage
from ragassay.text.search import condense_documents


def _build(
    name: str, write: Any, on_failure: Any, kinds: tuple[type, type, type], max_attempts: int
) -> Any:
    state, job, output = kinds
    builder = StateGraph(state, context_schema=Run, input_schema=job, output_schema=output)
    add_call(
        builder, name, write, on_failure, input_type=state, goto=END, max_attempts=max_attempts
    )
    builder.add_edge(START, name)
    builder.add_edge(name, END)
    return make_drawn(builder.compile(name=name))


@dataclass(frozen=True)
class ExamJob:
    """Input of the exam graph: a query or one of its facets, for which items are written.

    Attributes:
        text: Query text, or the title of the topic that the facet belongs to.
        facet: Id of the facet (empty for the whole query).
        facet_text: Heading of the facet (empty for the whole query).
        sources: Documents to write the items from. If empty, the items are written from the query.
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
    """State of the exam graph: the job and its result.

    Attributes:
        query, text, kind, facet, facet_text, sources, wants_answers, number: See `ExamJob`.
        answers: Answer to each item, or "" if unknown.
        n_unfounded: Number of answers not stated in any source.
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
    """Output of the exam graph. See `ExamState`."""

    texts: tuple[str, ...]
    answers: tuple[str, ...]
    n_unfounded: int
    failures: list[Failure]
    usage: Usage


ExamGraph = CompiledStateGraph[ExamState, Run, ExamJob, ExamItems]


def build_exam_graph(max_attempts: int = 5) -> ExamGraph:
    """Compile the exam graph.

    Args:
        max_attempts: Maximum number of attempts for a model call that fails with transient errors.
    """
    kinds = ExamState, ExamJob, ExamItems
    return _build("write_exam", write_exam, leave_exam_unwritten, kinds, max_attempts)


async def write_exam(state: ExamState, runtime: Runtime[Run]) -> Update:
    """Write the items."""
    run = choose_run(runtime)
    # LangGraph's own tools pass plain JSON.
    sources = [Document.model_validate(source) for source in state.sources]
    facet = state.facet_text or state.facet
    written = await run.judge.ask(
        run.agents.exam_writer,
        query=state.text,
        kind=state.kind,
        facet=facet,
        sources=condense_documents(sources, f"{state.text} {facet}", run.settings.source_chars),
        wants_answers=state.wants_answers,
        number=state.number,
    )
    runtime.stream_writer({"done": 1, "usage": written.usage})
    return {
        "texts": written.texts,
        "answers": written.answers,
        "n_unfounded": written.n_unfounded,
        "usage": written.usage,
    }


def leave_exam_unwritten(state: ExamState, failure: Failure) -> Update:
    """Record that the call failed, so that the query has no items."""
    return {"texts": (), "answers": (), "n_unfounded": 0, "failures": [failure]}


WORDS = 200
"""Approximate number of words in a synthesis, as in YESciEval."""


@dataclass(frozen=True)
class SynthesisJob:
    """Input of the synthesis graph: a question that needs a synthesis.

    Attributes:
        sources: Papers to summarize, at least one.
        words: Approximate length of the synthesis in words.
    """

    topic: str
    question: str
    sources: tuple[Document, ...]
    words: int = WORDS


@dataclass
class SynthesisState:
    """State of the synthesis graph: the job and its result.

    Attributes:
        topic, question, sources, words: See `SynthesisJob`.
        text: Synthesis (empty until it is written, or if writing failed).
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
    """Output of the synthesis graph. See `SynthesisState`."""

    text: str
    failures: list[Failure]
    usage: Usage


SynthesisGraph = CompiledStateGraph[SynthesisState, Run, SynthesisJob, SynthesisText]


def build_synthesis_graph(max_attempts: int = 5) -> SynthesisGraph:
    """Compile the synthesis graph.

    Args:
        max_attempts: Maximum number of attempts for a model call that fails with transient errors.
    """
    kinds = SynthesisState, SynthesisJob, SynthesisText
    return _build(
        "write_synthesis", write_synthesis, leave_synthesis_unwritten, kinds, max_attempts
    )


async def write_synthesis(state: SynthesisState, runtime: Runtime[Run]) -> Update:
    """Write the synthesis from the parts of the papers that fit into a prompt."""
    run = choose_run(runtime)
    # LangGraph's own tools pass plain JSON.
    sources = [Document.model_validate(source) for source in state.sources]
    written = await run.judge.ask(
        run.agents.synthesizer,
        question=state.question,
        sources=condense_documents(sources, state.question, run.settings.source_chars),
        words=state.words,
    )
    runtime.stream_writer({"done": 1, "usage": written.usage})
    return {"text": written.text, "usage": written.usage}


def leave_synthesis_unwritten(state: SynthesisState, failure: Failure) -> Update:
    """Record that the call failed, so that the question has no synthesis."""
    return {"text": "", "failures": [failure]}
