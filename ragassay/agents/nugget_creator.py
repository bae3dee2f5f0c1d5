"""Write the nuggets of a question, window by window (the nuggetizer, arXiv 2504.15068)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fence_mark, fenced, source_lines
from ragassay.prompts import load_prompts
from ragassay.records import Document, Usage
from ragassay.text.grounding import is_carried
from ragassay.text.sentences import split_sentences

_BOUNDS = load_prompts().agents["nugget_creator"]

Fact = Annotated[str, StringConstraints(pattern=rf"^[A-Z].{{8,{_BOUNDS.nugget_chars}}}$")]


class CreateNuggets(dspy.Signature):
    """Add the facts of documents to a list."""

    context: str = dspy.InputField()
    known: str = dspy.InputField()
    facts: Annotated[list[Fact], Field(max_length=_BOUNDS.max_nuggets)] = dspy.OutputField()


@dataclass(frozen=True)
class Created:
    """The facts of a window of documents.

    Attributes:
        facts: Those that a sentence of the window states, in the model's order.
        not_carried: Those that no sentence states.
        usage: The cost.
    """

    facts: tuple[str, ...]
    not_carried: tuple[str, ...]
    usage: Usage


class NuggetCreator(Agent):
    """Adds facts of a window of documents to a question's list.

    In the nuggetizer the model rewrites its whole list at every window. Here it only adds to it: no
    fact is lost silently, and the reply stays short.
    """

    name = "nugget_creator"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(CreateNuggets)

    def request(
        self, question: str, documents: Sequence[Document], known: Sequence[str]
    ) -> Request:
        """Read one window.

        Args:
            question: What the facts are to answer.
            documents: The window, cut to what fits into a prompt.
            known: Facts that are on the list already.
        """

        def read(found: dspy.Prediction, usage: Usage) -> Created:
            plain = (" ".join(fact.split()) for fact in found.facts)
            facts = [fact for fact in dict.fromkeys(plain) if fact]
            carried = [fact for fact in facts if is_carried_by(fact, documents)]
            return Created(tuple(carried), tuple(f for f in facts if f not in carried), usage)

        mark = fence_mark([question, *known, *(d.title + d.text for d in documents)])
        words = load_prompts().context
        parts = [words.question, fenced(question, mark)]
        parts += [words.sources, fenced(source_lines(documents), mark)]
        listed = "\n".join(f"- {fact}" for fact in known)
        return self.asking(read, context="\n".join(parts), known=fenced(listed, mark))


def is_carried_by(fact: str, documents: Sequence[Document]) -> bool:
    """Return whether one sentence of the documents states a fact."""
    return any(
        is_carried(fact, document.text[start:end], document.text)
        for document in documents
        for start, end in split_sentences(document.text)
    )
