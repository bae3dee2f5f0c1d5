"""Writes what a corpus is asked for a claim: for what bears it out, and for what speaks against."""

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
from ragassay.retrievers.bm25 import tokenize

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
    """A search query, and the claim's opposite, which is searched for as it stands."""

    query: str
    opposite: str
    usage: Usage


class QueryWriter(Agent):
    """A claim in, queries out; what was tried in vain is shown to it."""

    name = "query_writer"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(WriteQueries)

    def request(
        self, case: Case, claim: str, tried: Sequence[str], found: Sequence[str]
    ) -> Request:
        """Write queries for a sentence of the case's answer; one that is beside it is empty.

        Args:
            case: The case.
            claim: The sentence.
            tried: Queries that brought up nothing close enough.
            found: Titles of what they brought up.
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
    """A query on one line; empty where it shares no word with what it is about.

    A small model repeats its instructions instead, and would be searched for those.
    """
    return "" if _words(subject).isdisjoint(_words(text)) else " ".join(text.split())


def _words(text: str) -> set[str]:
    """The content words of a text, as BM25 sees them."""
    return set(tokenize(text))
