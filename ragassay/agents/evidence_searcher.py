"""Search for evidence on a claim autonomously: LangChain's agent with search, read and cite."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ragassay.agents.context import fenced, mark_of
from ragassay.errors import ModelError
from ragassay.models.gateway import Meter, metered
from ragassay.prompts import load_prompts
from ragassay.records import Article, Case, Document, EvidenceSide, Usage

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from ragassay.models.gateway import JudgeLM

Search = Callable[[str], Awaitable[Sequence[Document]]]
"""Returns documents for a query, best first."""

READ_CHARS = 6_000
"""Longest text that `read` returns; abstracts are rarely half as long."""


@dataclass
class Notes:
    """The results of an agent's search.

    Attributes:
        documents: All documents found, by id.
        cited: Ids of the documents that it cited, by side.
        usage: The cost of its turns.
    """

    documents: dict[str, Document] = field(default_factory=dict)
    cited: dict[EvidenceSide, tuple[str, ...]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


class EvidenceSearcher:
    """Searches for a claim; returns the documents found and those cited for or against it."""

    name = "evidence_searcher"

    async def asearch(
        self, lm: JudgeLM, case: Case, claim: str, search: Search, n_turns: int, n_tokens: int
    ) -> Notes:
        """Let the judge search until it ends the search, or reaches a limit.

        Args:
            lm: A judge that calls tools.
            case: The case.
            claim: A sentence of its answer.
            search: The search function.
            n_turns: Most turns of the model.
            n_tokens: Tokens after which no further turn starts.

        Raises:
            ModelError: The typed failure.
        """
        from langchain.agents import create_agent
        from langchain.agents.middleware import ModelCallLimitMiddleware

        from ragassay.models.chat_model import ToolCaller

        mark, notes = mark_of(case), Notes()
        notes.documents.update((source.id, source) for source in case.sources)
        with metered() as meter:
            agent = create_agent(
                ToolCaller(lm=lm),
                _tools(notes, search, mark),
                system_prompt=load_prompts().agents[self.name].task,
                middleware=[
                    ModelCallLimitMiddleware(run_limit=n_turns),
                    _token_limit(meter, n_tokens),
                ],
            )
            asked = f"{case.context}\n\nclaim: {fenced(claim, mark)}"
            try:
                await agent.ainvoke({"messages": [{"role": "user", "content": asked}]})
            except ExceptionGroup as error:
                raise ModelError(str(error)[:300]) from error
        notes.usage = meter.usage
        return notes


def _token_limit(meter: Meter, n_tokens: int) -> Any:
    from langchain.agents.middleware import before_model

    @before_model(can_jump_to=["end"])
    def stop_at_limit(state: Any, runtime: Any) -> dict[str, Any] | None:
        spent = meter.usage.n_prompt_tokens + meter.usage.n_completion_tokens
        return {"jump_to": "end"} if spent >= n_tokens else None

    return stop_at_limit


def _tools(notes: Notes, look: Search, mark: str) -> list[BaseTool]:
    from langchain_core.tools import tool

    @tool
    async def search(query: str) -> str:
        """Search the literature; gives the ids and titles of the best articles."""
        found = await look(query)
        notes.documents.update((d.id, d) for d in found if d.id not in notes.documents)
        listed = "\n".join(f"{d.id}: {_headline(d)}" for d in found)
        return fenced(listed, mark) if found else "Nothing was found: try other words."

    @tool
    def read(id: str) -> str:
        """Read the text of an article that a search gave, or of a source that is cited by id."""
        document = notes.documents.get(id)
        if document is None:
            return "No search gave this id."
        return fenced(f"{_headline(document)}\n{document.text[:READ_CHARS]}", mark)

    @tool
    def cite(id: str, side: Literal["for", "against"]) -> str:
        """Note that an article speaks for the claim, or against it."""
        if id not in notes.documents:
            return "No search gave this id."
        notes.cited[side] = tuple(dict.fromkeys((*notes.cited.get(side, ()), id)))
        return "Noted."

    return [search, read, cite]


def _headline(document: Document) -> str:
    year = document.published[:4] if isinstance(document, Article) else ""
    return f"{document.title or document.text[:80]}{f' ({year})' if year else ''}"
