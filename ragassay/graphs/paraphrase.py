"""The paraphrase graph: sentences go in, each said again in other words comes out."""

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

from ragassay.agents.paraphraser import Paraphraser
from ragassay.graphs.failures import failure_of, retry_policies
from ragassay.models.gateway import JudgeLM
from ragassay.records import Paraphrase


@dataclass(frozen=True)
class ParaphraseTools:
    """The graph's run-time context: the model, and the agent that asks it."""

    lm: JudgeLM
    paraphraser: Paraphraser = field(default_factory=Paraphraser)


@dataclass(frozen=True)
class Sentences:
    """What the graph is given; they differ."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class SentenceTask:
    """One sentence to say again."""

    sentence: str


@dataclass
class ParaphraseState:
    """The state of a graph run; each outcome is also streamed as it comes, under "paraphrase"."""

    sentences: tuple[str, ...]
    paraphrases: Annotated[list[Paraphrase], operator.add] = field(default_factory=list)


@dataclass(frozen=True)
class Paraphrased:
    """What the graph returns: an outcome for each sentence, in any order."""

    paraphrases: list[Paraphrase]


ParaphraseGraph = CompiledStateGraph[ParaphraseState, ParaphraseTools, Sentences, Paraphrased]


def build_paraphrase_graph(max_attempts: int = 5) -> ParaphraseGraph:
    """Compile the graph.

    Args:
        max_attempts: How often a model call is tried that fails for a passing reason.
    """
    builder = StateGraph(
        ParaphraseState,
        context_schema=ParaphraseTools,
        input_schema=Sentences,
        output_schema=Paraphrased,
    )
    # LangGraph's types know neither that a handler may take the error nor what a task is called.
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
    return builder.compile(name="paraphrase_sentences")


def route_sentences(state: Sentences) -> list[Send] | str:
    """Fan out over the sentences."""
    return [Send("paraphrase", SentenceTask(text)) for text in state.sentences] or END


async def paraphrase(task: SentenceTask, runtime: Runtime[ParaphraseTools]) -> dict[str, Any]:
    """Say one sentence again."""
    tools = runtime.context
    with dspy.context(lm=tools.lm):
        found = await tools.paraphraser.acall(task.sentence)
    runtime.stream_writer({"paraphrase": found})
    return {"paraphrases": [found]}


def file_failed_paraphrase(
    task: SentenceTask, error: NodeError, runtime: Runtime[ParaphraseTools]
) -> Command[Any]:
    """A sentence that the model did not say again.

    Raises:
        FatalModelError: The model cannot be asked at all.
    """
    found = Paraphrase(sentence=task.sentence, failure=failure_of(error))
    runtime.stream_writer({"paraphrase": found})
    return Command(update={"paraphrases": [found]}, goto=END)
