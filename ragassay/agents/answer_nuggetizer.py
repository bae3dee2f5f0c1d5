"""List the facts of a whole answer in one call, as many as there are (BioACE, section 4.1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fenced, mark_of
from ragassay.prompts import load_prompts
from ragassay.records import Case, Nugget, NuggetOrigin, SentenceNuggets, Usage
from ragassay.text.grounding import is_carried
from ragassay.text.words import tokenize

_BOUNDS = load_prompts().agents["answer_nuggetizer"]

Fact = Annotated[str, StringConstraints(pattern=rf"^[A-Z].{{8,{_BOUNDS.nugget_chars}}}$")]


class ListAnswerFacts(dspy.Signature):
    """List the facts of an answer."""

    context: str = dspy.InputField()
    text: str = dspy.InputField()
    facts: Annotated[list[Fact], Field(min_length=1)] = dspy.OutputField()


class AnswerNuggetizer(Agent):
    """Lists the nuggets of an answer, or of a reference, that is read as a whole."""

    name = "answer_nuggetizer"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(ListAnswerFacts)

    def request(self, case: Case, origin: NuggetOrigin, sentences: Sequence[str]) -> Request:
        """Split a text into nuggets.

        A fact that the text does not state is left out; where none is left, the sentences become
        extractive nuggets. The reply may be as long as one for each sentence.

        Args:
            case: The case.
            origin: "answer" or "reference".
            sentences: Those of the text. A nugget is of the first that states it, else of the one
                that shares most words with it.
        """
        text = case.judged_answer if origin == "answer" else " ".join(sentences)

        def read(found: dspy.Prediction, usage: Usage) -> SentenceNuggets:
            facts = dict.fromkeys(" ".join(fact.split()) for fact in found.facts)
            nuggets = [
                Nugget(text=fact, origin=origin, method="model", sentence=_place(fact, sentences))
                for fact in facts
                if is_carried(fact, text, text)
            ] or [
                Nugget(text=sentence, origin=origin, method="extractive", sentence=i)
                for i, sentence in enumerate(sentences, 1)
            ]
            nuggets.sort(key=lambda nugget: nugget.sentence or 0)
            return SentenceNuggets(origin=origin, sentence=1, nuggets=tuple(nuggets), usage=usage)

        marked = fenced(text, mark_of(case))
        asked = self.asking(read, context=case.context, text=marked)
        return replace(asked, n_parts=len(sentences))


def _place(fact: str, sentences: Sequence[str]) -> int:
    """Return the number of the sentence that a fact is of, from 1."""
    text, own = " ".join(sentences), set(tokenize(fact))
    for i, sentence in enumerate(sentences, 1):
        if is_carried(fact, sentence, text):
            return i
    shared = [len(own.intersection(tokenize(sentence))) for sentence in sentences]
    return shared.index(max(shared)) + 1
