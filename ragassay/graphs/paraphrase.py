"""The paraphrase graph: from sentences to a paraphrase of each."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any

import dspy
from langgraph.errors import NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from ragassay.agents.writers import Paraphraser
from ragassay.graphs.base import failure_of, make_drawn, retry_policies
from ragassay.models.gateway import JudgeLM
from ragassay.records import Paraphrase


@dataclass(frozen=True)
class ParaphraseTools:
    """The graph's run-time context: the model, and its agent."""

    lm: JudgeLM
    paraphraser: Paraphraser = field(default_factory=Paraphraser)


@dataclass(frozen=True)
class Sentences:
    """The graph's input: distinct sentences."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class SentenceTask:
    """One sentence to paraphrase."""

    sentence: str


@dataclass
class ParaphraseState:
    """The state of a graph run; each result is also streamed at once, under "paraphrase"."""

    sentences: tuple[str, ...]
    paraphrases: Annotated[list[Paraphrase], operator.add] = field(default_factory=list)


@dataclass(frozen=True)
class Paraphrased:
    """The graph's output: a result for each sentence, in any order."""

    paraphrases: list[Paraphrase]


ParaphraseGraph = CompiledStateGraph[ParaphraseState, ParaphraseTools, Sentences, Paraphrased]


def build_paraphrase_graph(max_attempts: int = 5) -> ParaphraseGraph:
    """Compile the graph.

    Args:
        max_attempts: Most attempts of a model call that fails for a temporary reason.
    """
    builder = StateGraph(
        ParaphraseState,
        context_schema=ParaphraseTools,
        input_schema=Sentences,
        output_schema=Paraphrased,
    )
    # LangGraph's types allow neither for handlers that take the error nor for this task.
    on_failure: Any = file_failed_paraphrase
    say_again: Any = paraphrase
    builder.add_node(
        "paraphrase",
        say_again,
        input_schema=SentenceTask,
        retry_policy=retry_policies(max_attempts),
        error_handler=on_failure,
    )
    builder.add_conditional_edges(START, route_sentences, ["paraphrase", END])
    builder.add_edge("paraphrase", END)
    return make_drawn(builder.compile(name="paraphrase_sentences"))


def route_sentences(state: Sentences) -> list[Send] | str:
    """Fan out over the sentences."""
    return [Send("paraphrase", SentenceTask(text)) for text in state.sentences] or END


async def paraphrase(task: SentenceTask, runtime: Runtime[ParaphraseTools]) -> dict[str, Any]:
    """Paraphrase one sentence."""
    tools = runtime.context
    with dspy.context(lm=tools.lm):
        found = await tools.paraphraser.acall(task.sentence)
    runtime.stream_writer({"paraphrase": found})
    return {"paraphrases": [found]}


def file_failed_paraphrase(
    task: SentenceTask, error: NodeError, runtime: Runtime[ParaphraseTools]
) -> Command[Any]:
    """Record a sentence that the model failed to paraphrase.

    Raises:
        FatalModelError: The model is unavailable.
    """
    found = Paraphrase(sentence=task.sentence, failure=failure_of(error.error))
    runtime.stream_writer({"paraphrase": found})
    return Command(update={"paraphrases": [found]}, goto=END)
