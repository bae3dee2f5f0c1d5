"""List the facts of a sentence, and drop those that the sentence does not state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent
from ragassay.agents.context import fenced, mark_of
from ragassay.agents.grounding import is_carried
from ragassay.prompts import load_prompts
from ragassay.records import Case, Nugget, NuggetOrigin, SentenceNuggets

_BOUNDS = load_prompts().agents["nugget_writer"]

MOST_NUGGETS = _BOUNDS.max_nuggets
"""Most nuggets of one sentence."""

Fact = Annotated[str, StringConstraints(pattern=rf"^[A-Z].{{8,{_BOUNDS.nugget_chars}}}$")]


class ListFacts(dspy.Signature):
    """List the facts of a sentence."""

    context: str = dspy.InputField()
    sentence: str = dspy.InputField()
    facts: Annotated[list[Fact], Field(min_length=1, max_length=_BOUNDS.max_nuggets)] = (
        dspy.OutputField()
    )


class NuggetWriter(Agent):
    """Lists the nuggets of a sentence."""

    name = "nugget_writer"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(ListFacts)

    async def aforward(
        self, case: Case, origin: NuggetOrigin, index: int, sentence: str
    ) -> SentenceNuggets:
        """Split one sentence into nuggets.

        A fact that the sentence does not state is left out; where none is left, the sentence itself
        becomes its only, extractive nugget.

        Args:
            case: The case.
            origin: "answer" or "reference".
            index: 1-based number of the sentence in the text it is from.
            sentence: Its text.

        Raises:
            ModelError: The model gave no usable reply.
        """
        found, usage = await self.ask(
            context=case.context, sentence=fenced(sentence, mark_of(case))
        )
        text = case.answer if origin == "answer" else " ".join(case.reference_sentences)
        carried = _distinct([fact for fact in found.facts if is_carried(fact, sentence, text)])
        nuggets = tuple(
            Nugget(text=fact, origin=origin, method="model", sentence=index) for fact in carried
        ) or (Nugget(text=sentence, origin=origin, method="extractive", sentence=index),)
        return SentenceNuggets(origin=origin, sentence=index, nuggets=nuggets, usage=usage)


def _distinct(facts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(fact.split()) for fact in facts))
