"""Write nuggets: of a sentence, of a whole answer, of a question's sources, of a cited document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import fence_mark, fence_text, mark_of, sources_context
from ragassay.prompts import load_prompts
from ragassay.records import (
    Case,
    Document,
    EvidenceSpan,
    Nugget,
    NuggetOrigin,
    SentenceNuggets,
    Usage,
)
from ragassay.text.grounding import is_carried
from ragassay.text.search import WINDOW, tokenize
from ragassay.text.sentences import sentences_of, split_sentences

_WRITER_WORDS = load_prompts().agents["nugget_writer"]

MOST_NUGGETS = _WRITER_WORDS.max_nuggets
"""Most nuggets of one sentence."""

SentenceFact = Annotated[
    str, StringConstraints(pattern=rf"^[A-Z].{{8,{_WRITER_WORDS.nugget_chars}}}$")
]


class ListFacts(dspy.Signature):
    """List the facts of a sentence."""

    context: str = dspy.InputField()
    sentence: str = dspy.InputField()
    facts: Annotated[
        list[SentenceFact], Field(min_length=1, max_length=_WRITER_WORDS.max_nuggets)
    ] = dspy.OutputField()


class NuggetWriter(Agent):
    """Lists the nuggets of a sentence."""

    name = "nugget_writer"
    signature = ListFacts
    wants_logprobs = False

    def request(self, case: Case, origin: NuggetOrigin, index: int, sentence: str) -> AgentRequest:
        """Split one sentence into nuggets.

        A fact that the sentence does not state is left out; where none is left, the sentence itself
        becomes its only, extractive nugget.

        Args:
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

        marked = fence_text(sentence, mark_of(case))
        return self.asking(read, context=case.context, sentence=marked)


def _distinct(facts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(fact.split()) for fact in facts))


_NUGGETIZER_WORDS = load_prompts().agents["answer_nuggetizer"]

AnswerFact = Annotated[
    str, StringConstraints(pattern=rf"^[A-Z].{{8,{_NUGGETIZER_WORDS.nugget_chars}}}$")
]


class ListAnswerFacts(dspy.Signature):
    """List the facts of an answer."""

    context: str = dspy.InputField()
    text: str = dspy.InputField()
    facts: Annotated[list[AnswerFact], Field(min_length=1)] = dspy.OutputField()


class AnswerNuggetizer(Agent):
    """Lists the nuggets of an answer, or of a reference, that is read as a whole."""

    name = "answer_nuggetizer"
    signature = ListAnswerFacts
    wants_logprobs = False

    def request(self, case: Case, origin: NuggetOrigin, sentences: Sequence[str]) -> AgentRequest:
        """Split a text into nuggets.

        A fact that the text does not state is left out; where none is left, the sentences become
        extractive nuggets. The reply may be as long as one for each sentence.

        Args:
            origin: "answer" or "reference".
            sentences: Those of the text. A nugget belongs to the first sentence that states it, or
                else to the sentence with which it shares most words.
        """
        text = case.judged_answer if origin == "answer" else " ".join(sentences)

        def read(found: dspy.Prediction, usage: Usage) -> SentenceNuggets:
            nuggets = [
                Nugget(text=fact, origin=origin, method="model", sentence=_place(fact, sentences))
                for fact in _distinct(found.facts)
                if is_carried(fact, text, text)
            ] or [
                Nugget(text=sentence, origin=origin, method="extractive", sentence=i)
                for i, sentence in enumerate(sentences, 1)
            ]
            nuggets.sort(key=lambda nugget: nugget.sentence or 0)
            return SentenceNuggets(origin=origin, sentence=1, nuggets=tuple(nuggets), usage=usage)

        marked = fence_text(text, mark_of(case))
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


_CREATOR_WORDS = load_prompts().agents["nugget_creator"]

SourceFact = Annotated[
    str, StringConstraints(pattern=rf"^[A-Z].{{8,{_CREATOR_WORDS.nugget_chars}}}$")
]


class CreateNuggets(dspy.Signature):
    """Add the facts of documents to a list."""

    context: str = dspy.InputField()
    known: str = dspy.InputField()
    facts: Annotated[list[SourceFact], Field(max_length=_CREATOR_WORDS.max_nuggets)] = (
        dspy.OutputField()
    )


@dataclass(frozen=True)
class Created:
    """The facts of a window of documents.

    Attributes:
        facts: Those that a sentence of the window states, in the model's order.
        not_carried: Those that no sentence states.
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
    signature = CreateNuggets
    wants_logprobs = False

    def request(
        self, question: str, documents: Sequence[Document], known: Sequence[str]
    ) -> AgentRequest:
        """Read one window.

        Args:
            question: What the facts are to answer.
            documents: The window, cut to what fits into a prompt.
            known: Facts that are on the list already.
        """

        def read(found: dspy.Prediction, usage: Usage) -> Created:
            facts = [fact for fact in _distinct(found.facts) if fact]
            carried = [fact for fact in facts if is_carried_by(fact, documents)]
            return Created(tuple(carried), tuple(f for f in facts if f not in carried), usage)

        mark = fence_mark([question, *known, *(d.title + d.text for d in documents)])
        context = sources_context(question, documents, mark)
        listed = "\n".join(f"- {fact}" for fact in known)
        return self.asking(read, context=context, known=fence_text(listed, mark))


def is_carried_by(fact: str, documents: Sequence[Document]) -> bool:
    """Return whether one sentence of the documents states a fact."""
    return any(
        is_carried(fact, document.text[start:end], document.text)
        for document in documents
        for start, end in split_sentences(document.text)
    )


_LISTER_WORDS = load_prompts().agents["fact_lister"]

PassageFact = Annotated[
    str, StringConstraints(pattern=rf"^[A-Z].{{8,{_LISTER_WORDS.nugget_chars}}}$")
]


class ListPassageFacts(dspy.Signature):
    """List the facts of a passage."""

    context: str = dspy.InputField()
    passage: str = dspy.InputField()
    facts: Annotated[
        list[PassageFact], Field(min_length=1, max_length=_LISTER_WORDS.max_nuggets)
    ] = dspy.OutputField()


@dataclass(frozen=True)
class PassageFacts:
    """Facts with their cost."""

    facts: tuple[str, ...]
    usage: Usage


class FactLister(Agent):
    """Lists the facts of neighbouring sentences of a document."""

    name = "fact_lister"
    signature = ListPassageFacts
    wants_logprobs = False

    def request(self, case: Case, passage: str) -> AgentRequest:
        """List the facts of a passage.

        A fact that the passage does not carry is left out; where none is left, the passage's
        sentences stand for its facts.
        """

        def read(found: dspy.Prediction, usage: Usage) -> PassageFacts:
            facts = _distinct(found.facts)
            carried = [fact for fact in facts if is_carried(fact, passage, passage)]
            return PassageFacts(tuple(carried or sentences_of(passage)), usage)

        marked = fence_text(passage, mark_of(case))
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
