"""The synthesis graph: from a question and its papers to an answer, in one call."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import run_of
from ragassay.graphs.base import Update, add_call, make_drawn
from ragassay.records import Document, Failure, Usage
from ragassay.text.search import condense

WORDS = 200
"""About how many words a synthesis has, as YESciEval's."""


@dataclass(frozen=True)
class SynthesisJob:
    """A question that a synthesis is to be written for: the input of the graph.

    Attributes:
        topic: The question's id.
        question: The question.
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
    builder = StateGraph(
        SynthesisState,
        context_schema=Run,
        input_schema=SynthesisJob,
        output_schema=SynthesisText,
    )
    add_call(
        builder,
        "write_synthesis",
        write_synthesis,
        leave_unwritten,
        given=SynthesisState,
        goto=END,
        max_attempts=max_attempts,
    )
    builder.add_edge(START, "write_synthesis")
    builder.add_edge("write_synthesis", END)
    return make_drawn(builder.compile(name="write_synthesis"))


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


def leave_unwritten(state: SynthesisState, failure: Failure) -> Update:
    """Record a failed call: the question has no synthesis by this model."""
    return {"text": "", "failures": [failure]}
