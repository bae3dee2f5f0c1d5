"""List the facts of a document, to check a citation fact by fact (BioACE, section 4.2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fenced, mark_of
from ragassay.prompts import load_prompts
from ragassay.records import Case, Document, EvidenceSpan, Usage
from ragassay.retrievers.passages import WINDOW
from ragassay.text.grounding import is_carried
from ragassay.text.sentences import sentences_of, split_sentences

_BOUNDS = load_prompts().agents["fact_lister"]

Fact = Annotated[str, StringConstraints(pattern=rf"^[A-Z].{{8,{_BOUNDS.nugget_chars}}}$")]


class ListPassageFacts(dspy.Signature):
    """List the facts of a passage."""

    context: str = dspy.InputField()
    passage: str = dspy.InputField()
    facts: Annotated[list[Fact], Field(min_length=1, max_length=_BOUNDS.max_nuggets)] = (
        dspy.OutputField()
    )


@dataclass(frozen=True)
class PassageFacts:
    """Facts with their cost."""

    facts: tuple[str, ...]
    usage: Usage


class FactLister(Agent):
    """Lists the facts of neighbouring sentences of a document."""

    name = "fact_lister"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(ListPassageFacts)

    def request(self, case: Case, passage: str) -> Request:
        """List the facts of a passage.

        A fact that the passage does not carry is left out; where none is left, the passage's
        sentences stand for its facts.
        """

        def read(found: dspy.Prediction, usage: Usage) -> PassageFacts:
            facts = dict.fromkeys(" ".join(fact.split()) for fact in found.facts)
            carried = [fact for fact in facts if is_carried(fact, passage, passage)]
            return PassageFacts(tuple(carried or sentences_of(passage)), usage)

        marked = fenced(passage, mark_of(case))
        return self.asking(read, context=case.context, passage=marked)


def fact_windows(document: Document) -> tuple[EvidenceSpan, ...]:
    """Return the passages that a document's facts are listed from, each sentence in one of them."""
    spans = split_sentences(document.text)
    runs = [spans[start : start + WINDOW] for start in range(0, len(spans), WINDOW)]
    places = [(run[0][0], run[-1][1]) for run in runs]
    return tuple(
        EvidenceSpan(
            document=document.id,
            start=start,
            end=end,
            text=document.text[start:end],
            title=document.title,
        )
        for start, end in places
    )
