"""Agents that write nuggets from sentences, answers, sources and cited passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import dspy
from pydantic import Field, StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import build_sources_context, fence_mark, fence_text, find_fence_mark
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
from ragassay.text.sentences import extract_sentences, split_sentences

_WRITER_WORDS = load_prompts().agents["nugget_writer"]

MOST_NUGGETS = _WRITER_WORDS.max_nuggets
"""Maximum number of nuggets per sentence."""

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
        """Request the nuggets of one sentence.

        Facts that the sentence does not state are dropped. If no fact remains, the sentence itself
        becomes an extractive nugget.

        Args:
            origin: "answer" or "reference".
            index: Number of the sentence in its text, from 1.
        """
        text = case.judged_answer if origin == "answer" else " ".join(case.reference_sentences)

        def read(reply: dspy.Prediction, usage: Usage) -> SentenceNuggets:
            stated = _deduplicate([f for f in reply.facts if is_carried(f, sentence, text)])
            nuggets = tuple(
                Nugget(text=fact, origin=origin, method="model", sentence=index) for fact in stated
            ) or (Nugget(text=sentence, origin=origin, method="extractive", sentence=index),)
            return SentenceNuggets(origin=origin, sentence=index, nuggets=nuggets, usage=usage)

        fenced = fence_text(sentence, find_fence_mark(case))
        return self.build_request(read, context=case.context, sentence=fenced)


def _deduplicate(facts: Sequence[str]) -> list[str]:
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
    """Lists the nuggets of a whole answer or reference in one call."""

    name = "answer_nuggetizer"
    signature = ListAnswerFacts
    wants_logprobs = False

    def request(self, case: Case, origin: NuggetOrigin, sentences: Sequence[str]) -> AgentRequest:
        """Request the nuggets of a text.

        Facts that the text does not state are dropped. If no fact remains, the sentences become
        extractive nuggets. Each nugget is assigned to the first sentence that states it, or else to
        the sentence that shares the most words with the nugget. The token limit grows with the
        number of sentences.

        Args:
            origin: "answer" or "reference".
        """
        text = case.judged_answer if origin == "answer" else " ".join(sentences)

        def read(reply: dspy.Prediction, usage: Usage) -> SentenceNuggets:
            nuggets = [
                Nugget(
                    text=fact,
                    origin=origin,
                    method="model",
                    sentence=_find_sentence(fact, sentences),
                )
                for fact in _deduplicate(reply.facts)
                if is_carried(fact, text, text)
            ] or [
                Nugget(text=sentence, origin=origin, method="extractive", sentence=i)
                for i, sentence in enumerate(sentences, 1)
            ]
            nuggets.sort(key=lambda nugget: nugget.sentence or 0)
            return SentenceNuggets(origin=origin, sentence=1, nuggets=tuple(nuggets), usage=usage)

        fenced = fence_text(text, find_fence_mark(case))
        request = self.build_request(read, context=case.context, text=fenced)
        return replace(request, n_parts=len(sentences))


def _find_sentence(fact: str, sentences: Sequence[str]) -> int:
    text, words = " ".join(sentences), set(tokenize(fact))
    for i, sentence in enumerate(sentences, 1):
        if is_carried(fact, sentence, text):
            return i
    shared = [len(words.intersection(tokenize(sentence))) for sentence in sentences]
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
    """Facts from a window of documents.

    Attributes:
        facts: Facts that a sentence in the window states, in the order of the reply.
        not_carried: Facts that no sentence in the window states.
    """

    facts: tuple[str, ...]
    not_carried: tuple[str, ...]
    usage: Usage


class NuggetCreator(Agent):
    """Adds facts from a window of documents to a question's list of facts.

    AutoNuggetizer rewrites the whole list for each window. This agent only adds facts, so that no
    facts are lost and replies stay short.
    """

    name = "nugget_creator"
    signature = CreateNuggets
    wants_logprobs = False

    def request(
        self, question: str, documents: Sequence[Document], known: Sequence[str]
    ) -> AgentRequest:
        """Request the facts of one window that are not on the list yet.

        Args:
            documents: Documents of the window, shortened to fit into a prompt.
        """

        def read(reply: dspy.Prediction, usage: Usage) -> Created:
            facts = [fact for fact in _deduplicate(reply.facts) if fact]
            stated = [fact for fact in facts if is_stated_by(fact, documents)]
            return Created(tuple(stated), tuple(f for f in facts if f not in stated), usage)

        mark = fence_mark([question, *known, *(d.title + d.text for d in documents)])
        context = build_sources_context(question, documents, mark)
        listed = "\n".join(f"- {fact}" for fact in known)
        return self.build_request(read, context=context, known=fence_text(listed, mark))


def is_stated_by(fact: str, documents: Sequence[Document]) -> bool:
    """Return whether a sentence in the documents states a fact."""
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
    """Facts in a passage."""

    facts: tuple[str, ...]
    usage: Usage


class FactLister(Agent):
    """Lists the facts in a few consecutive sentences of a document."""

    name = "fact_lister"
    signature = ListPassageFacts
    wants_logprobs = False

    def request(self, case: Case, passage: str) -> AgentRequest:
        """Request the facts in a passage.

        Facts that the passage does not state are dropped. If no fact remains, the sentences of the
        passage serve as facts.
        """

        def read(reply: dspy.Prediction, usage: Usage) -> PassageFacts:
            facts = [f for f in _deduplicate(reply.facts) if is_carried(f, passage, passage)]
            return PassageFacts(tuple(facts or extract_sentences(passage)), usage)

        fenced = fence_text(passage, find_fence_mark(case))
        return self.build_request(read, context=case.context, passage=fenced)


def split_fact_windows(document: Document) -> tuple[EvidenceSpan, ...]:
    """Split a document into passages for `FactLister`."""
    spans = split_sentences(document.text)
    windows = [spans[start : start + WINDOW] for start in range(0, len(spans), WINDOW)]
    return tuple(
        EvidenceSpan(
            document=document.id,
            start=start,
            end=end,
            text=document.text[start:end],
            title=document.title,
        )
        for start, end in ((window[0][0], window[-1][1]) for window in windows)
    )
