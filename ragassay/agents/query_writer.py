"""Write search queries for a claim: for supporting and for contradicting evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fenced, mark_of
from ragassay.prompts import load_prompts
from ragassay.records import Case, Usage
from ragassay.text.words import tokenize

_BOUNDS = load_prompts().agents["query_writer"]

Line = Annotated[str, StringConstraints(pattern=rf"^[A-Za-z0-9].{{3,{_BOUNDS.query_chars}}}$")]


class WriteQueries(dspy.Signature):
    """Write search queries for a claim."""

    context: str = dspy.InputField()
    claim: str = dspy.InputField()
    tried: str = dspy.InputField()
    query: Line = dspy.OutputField()
    opposite: Line = dspy.OutputField()


@dataclass(frozen=True)
class Queries:
    """A search query, and the claim's opposite, which is used as a query unchanged."""

    query: str
    opposite: str
    usage: Usage


class QueryWriter(Agent):
    """Writes queries for a claim; sees the queries that failed."""

    name = "query_writer"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(WriteQueries)

    def request(
        self, case: Case, claim: str, tried: Sequence[str], found: Sequence[str]
    ) -> Request:
        """Write queries for a sentence of the case's answer; an off-topic one is empty.

        Args:
            case: The case.
            claim: The sentence.
            tried: Queries whose passages were not enough.
            found: Titles of what they found.
        """
        mark = mark_of(case)
        lines = [*(f"query: {query}" for query in tried), *(f"found: {title}" for title in found)]
        subject = f"{claim} {case.question}"

        def read(written: dspy.Prediction, usage: Usage) -> Queries:
            return Queries(_on(subject, written.query), _on(subject, written.opposite), usage)

        return self.asking(
            read,
            context=case.context,
            claim=fenced(claim, mark),
            tried=fenced("\n".join(lines), mark) if lines else "nothing yet",
        )


def _on(subject: str, text: str) -> str:
    """Return a query on one line; empty where it shares no word with its subject.

    A small model may repeat its instructions instead, which must not be searched for.
    """
    return "" if _words(subject).isdisjoint(_words(text)) else " ".join(text.split())


def _words(text: str) -> set[str]:
    """Return the content words of a text, as BM25 sees them."""
    return set(tokenize(text))
