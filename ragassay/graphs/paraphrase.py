"""The paraphrase graph: from sentences to a paraphrase of each."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated

import dspy
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from ragassay.agents.writers import Paraphraser
from ragassay.graphs.base import Update, add_call, make_drawn
from ragassay.models.gateway import JudgeLM
from ragassay.records import Failure, Paraphrase


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
    add_call(
        builder,
        "paraphrase",
        paraphrase,
        leave_unsaid,
        given=SentenceTask,
        goto=END,
        max_attempts=max_attempts,
        event=lambda update: {"paraphrase": update["paraphrases"][0]},
    )
    builder.add_conditional_edges(START, route_sentences, ["paraphrase", END])
    builder.add_edge("paraphrase", END)
    return make_drawn(builder.compile(name="paraphrase_sentences"))


def route_sentences(state: Sentences) -> list[Send] | str:
    """Fan out over the sentences."""
    return [Send("paraphrase", SentenceTask(text)) for text in state.sentences] or END


async def paraphrase(task: SentenceTask, runtime: Runtime[ParaphraseTools]) -> Update:
    """Paraphrase one sentence."""
    tools = runtime.context
    with dspy.context(lm=tools.lm):
        found = await tools.paraphraser.acall(task.sentence)
    runtime.stream_writer({"paraphrase": found})
    return {"paraphrases": [found]}


def leave_unsaid(task: SentenceTask, failure: Failure) -> Update:
    """Record a sentence that the model failed to paraphrase."""
    return {"paraphrases": [Paraphrase(sentence=task.sentence, failure=failure)]}
