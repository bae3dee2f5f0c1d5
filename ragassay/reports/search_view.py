"""View of the search for evidence for a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.records import EvidenceSearch, SearchEnd, SearchQuery
from ragassay.reports.labels import reason_text

ENDS: dict[SearchEnd, str] = {
    "enough": "The judge said that the passages are enough.",
    "closest_passages": "The closest passages were taken; no judge said whether they are enough.",
    "out_of_rounds": "The judge did not say that the passages are enough, and no round was left.",
    "out_of_tokens": "The judge did not say that the passages are enough, and the answer's tokens "
    "were used up.",
    "agent_done": "The agent ended its search.",
    "sources_only": "Only the answer's own sources were looked at: there was no corpus.",
    "nowhere_to_search": "There was neither a corpus nor a source to look in.",
}


@dataclass(frozen=True, slots=True)
class QueryView:
    """A query and its result: "against · 10 found, 7 new"."""

    text: str
    outcome: str


@dataclass(frozen=True, slots=True)
class SearchView:
    """The queries for a sentence, and one line on how the search ended."""

    queries: tuple[QueryView, ...]
    summary: str


def view_search(search: EvidenceSearch) -> SearchView:
    """Return a search in words."""
    took_nothing = search.end == "closest_passages" and not search.n_documents
    parts = ["No document was found." if took_nothing else ENDS[search.end]]
    if search.n_documents:
        n = search.n_documents
        parts.append(f"{n} document{'' if n == 1 else 's'} looked at.")
    if search.n_withdrawn:
        n = search.n_withdrawn
        parts.append(f"{n} retracted {'one was' if n == 1 else 'ones were'} left out.")
    if search.failure:
        parts.append(f"The model failed ({reason_text(search.failure.reason)}).")
    if search.judgment_failure:
        reason = reason_text(search.judgment_failure.reason)
        parts.append(f"The judge failed on the passages ({reason}).")
    return SearchView(tuple(map(_query, search.queries)), " ".join(parts))


def _query(query: SearchQuery) -> QueryView:
    found = f"{query.n_found} found, {query.n_new} new"
    return QueryView(query.text, f"{query.side} · {found}" if query.side else found)
