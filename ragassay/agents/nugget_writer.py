"""List the facts of a sentence, and drop those that the sentence does not state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fenced, mark_of
from ragassay.prompts import load_prompts
from ragassay.records import Case, Nugget, NuggetOrigin, SentenceNuggets, Usage
from ragassay.text.grounding import is_carried

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

    def request(self, case: Case, origin: NuggetOrigin, index: int, sentence: str) -> Request:
        """Split one sentence into nuggets.

        A fact that the sentence does not state is left out; where none is left, the sentence itself
        becomes its only, extractive nugget.

        Args:
            case: The case.
            origin: "answer" or "reference".
            index: 1-based number of the sentence in the text it is from.
            sentence: Its text.
        """
        text = case.judged_answer if origin == "answer" else " ".join(case.reference_sentences)

        def read(found: dspy.Prediction, usage: Usage) -> SentenceNuggets:
            carried = _distinct([fact for fact in found.facts if is_carried(fact, sentence, text)])
            nuggets = tuple(
                Nugget(text=fact, origin=origin, method="model", sentence=index) for fact in carried
            ) or (Nugget(text=sentence, origin=origin, method="extractive", sentence=index),)
            return SentenceNuggets(origin=origin, sentence=index, nuggets=nuggets, usage=usage)

        marked = fenced(sentence, mark_of(case))
        return self.asking(read, context=case.context, sentence=marked)


def _distinct(facts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(fact.split()) for fact in facts))
