"""Agents that find evidence for and against a claim."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import fence_text, find_fence_mark
from ragassay.errors import ModelError
from ragassay.models.gateway import Meter, meter_calls
from ragassay.prompts import load_prompts
from ragassay.records import Article, Case, Document, EvidenceSide, Usage
from ragassay.text.search import tokenize

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from ragassay.models.gateway import JudgeLM


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
    """A search query, and the negated claim, which is also used as a query."""

    query: str
    opposite: str
    usage: Usage


class QueryWriter(Agent):
    """Writes search queries for a claim, given earlier queries that failed."""

    name = "query_writer"
    signature = WriteQueries
    wants_logprobs = False

    def request(
        self, case: Case, claim: str, tried: Sequence[str], found: Sequence[str]
    ) -> AgentRequest:
        """Request queries for a sentence in the answer. Off-topic queries become empty strings."""
        mark = find_fence_mark(case)
        lines = [*(f"query: {query}" for query in tried), *(f"found: {title}" for title in found)]
        topic = f"{claim} {case.question}"

        def read(reply: dspy.Prediction, usage: Usage) -> Queries:
            query, opposite = (_clean_query(topic, q) for q in (reply.query, reply.opposite))
            return Queries(query, opposite, usage)

        return self.build_request(
            read,
            context=case.context,
            claim=fence_text(claim, mark),
            tried=fence_text("\n".join(lines), mark) if lines else "nothing yet",
        )


def _clean_query(topic: str, text: str) -> str:
    """Return a query on one line, or an empty string if it shares no words with the topic.

    Small models may repeat their instructions instead of writing a query.
    """
    return "" if set(tokenize(topic)).isdisjoint(tokenize(text)) else " ".join(text.split())


class JudgeSufficiency(dspy.Signature):
    """Judge whether passages are enough."""

    context: str = dspy.InputField()
    passages: str = dspy.InputField()
    claim: str = dspy.InputField()
    enough: Literal["yes", "no"] = dspy.OutputField()


@dataclass(frozen=True)
class Sufficiency:
    """Judgment on whether passages are sufficient to support or refute a claim."""

    is_enough: bool
    usage: Usage


class SufficiencyJudge(Agent):
    """Judges whether passages are sufficient to support or refute a claim."""

    name = "sufficiency_judge"
    signature = JudgeSufficiency
    wants_logprobs = False

    def request(self, case: Case, claim: str, passages: Sequence[str]) -> AgentRequest:
        """Request a judgment on whether passages are sufficient for a sentence of the answer.

        Args:
            passages: One or more untrusted passages with titles.
        """
        mark = find_fence_mark(case)
        return self.build_request(
            lambda reply, usage: Sufficiency(reply.enough == "yes", usage),
            context=case.context,
            passages="\n".join(fence_text(passage, mark) for passage in passages),
            claim=fence_text(claim, mark),
        )


Search = Callable[[str], Awaitable[Sequence[Document]]]
"""Function that returns documents for a query, best first."""

READ_CHARS = 6_000
"""Maximum number of characters that the `read` tool returns, over twice as many as most abstracts
have."""


@dataclass
class SearchNotes:
    """Results of a search.

    Attributes:
        cited: Ids of cited documents, keyed by side (for or against the claim).
    """

    documents: dict[str, Document] = field(default_factory=dict)
    cited: dict[EvidenceSide, tuple[str, ...]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


class EvidenceSearcher:
    """Lets a judge call search tools, and cite documents for or against a claim."""

    name = "evidence_searcher"

    async def asearch(
        self, lm: JudgeLM, case: Case, claim: str, search: Search, n_turns: int, n_tokens: int
    ) -> SearchNotes:
        """Let the judge search until it stops or reaches a limit.

        Args:
            lm: Judge that supports tool calling.
            n_tokens: Token count after which no new turn starts.

        Raises:
            ModelError: A call failed.
        """
        from langchain.agents import create_agent
        from langchain.agents.middleware import ModelCallLimitMiddleware

        from ragassay.models.chat_model import ToolCaller

        mark, notes = find_fence_mark(case), SearchNotes()
        notes.documents.update((source.id, source) for source in case.sources)
        with meter_calls() as meter:
            agent = create_agent(
                ToolCaller(lm=lm),
                _build_tools(notes, search, mark),
                system_prompt=load_prompts().agents[self.name].task,
                middleware=[
                    ModelCallLimitMiddleware(run_limit=n_turns),
                    _build_token_limit(meter, n_tokens),
                ],
            )
            prompt = f"{case.context}\n\nclaim: {fence_text(claim, mark)}"
            try:
                await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]})
            except ExceptionGroup as error:
                raise ModelError(str(error)[:300]) from error
        notes.usage = meter.usage
        return notes


def _build_token_limit(meter: Meter, n_tokens: int) -> Any:
    from langchain.agents.middleware import before_model

    @before_model(can_jump_to=["end"])
    def stop_at_limit(state: Any, runtime: Any) -> dict[str, Any] | None:
        spent = meter.usage.n_prompt_tokens + meter.usage.n_completion_tokens
        return {"jump_to": "end"} if spent >= n_tokens else None

    return stop_at_limit


def _build_tools(notes: SearchNotes, find: Search, mark: str) -> list[BaseTool]:
    from langchain_core.tools import tool

    @tool
    async def search(query: str) -> str:
        """Search the literature; gives the ids and titles of the best articles."""
        documents = await find(query)
        notes.documents.update((d.id, d) for d in documents if d.id not in notes.documents)
        listed = "\n".join(f"{d.id}: {_format_headline(d)}" for d in documents)
        return fence_text(listed, mark) if documents else "Nothing was found: try other words."

    @tool
    def read(id: str) -> str:
        """Read the text of an article that a search gave, or of a source that is cited by id."""
        document = notes.documents.get(id)
        if document is None:
            return "No search gave this id."
        return fence_text(f"{_format_headline(document)}\n{document.text[:READ_CHARS]}", mark)

    @tool
    def cite(id: str, side: Literal["for", "against"]) -> str:
        """Note that an article speaks for the claim, or against it."""
        if id not in notes.documents:
            return "No search gave this id."
        notes.cited[side] = tuple(dict.fromkeys((*notes.cited.get(side, ()), id)))
        return "Noted."

    return [search, read, cite]


def _format_headline(document: Document) -> str:
    year = document.published[:4] if isinstance(document, Article) else ""
    return f"{document.title or document.text[:80]}{f' ({year})' if year else ''}"
